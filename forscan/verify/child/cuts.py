"""Loops that can be cut short: in functions that differ every loop is handed through here.

Both versions are loaded so. As long as nothing is asked for, a loop runs as it is written. Cut, it
runs its first iterations only, in both versions alike; and whoever waits for a trace can say how
long, and is told what it would take.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import jax

from .counted import counted

_ITEMS, _CALLED, _LAX = (f"__forscan_cut_{name}__" for name in ("items", "called", "lax"))
_LAX_LOOPS = ("scan", "fori_loop", "map")
_LAZY = {"zip": zip, "enumerate": enumerate, "reversed": reversed}
_WHOLE = 8  # loops of so few iterations are not cut, but where a single loop is meant
_COUNTED = 1_000_000  # items that are gone through to know how many there are
_GRACE = 2.0  # seconds before it is said how long something would take
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Shape = tuple[Any, ...]


class TooLong(BaseException):
    """What runs would take longer than there is patience for.

    Not an Exception: nothing that is verified may take it for one of its own.
    """


@dataclass
class Loop:
    """A loop that was run.

    Attributes:
      count: its iterations, None where they are not known before it runs.
      rounds: the loops in each iteration that was run; those of a `lax` loop once or more.
      written_out: whether each iteration is run, as those of a `for` are.
    """

    count: int | None
    written_out: bool
    rounds: list[list[Loop]] = field(default_factory=list)

    @property
    def shape(self) -> Shape:
        """Its iterations and the loops in them, the same for each form of the same loop."""
        inner = {tuple(loop.shape for loop in each) for each in self.rounds}
        if len(inner) > 1:  # what is jitted is traced in one iteration only
            inner.discard(())
        return (self.count, *sorted(inner, key=repr))


class Cuts:
    """The loops of one version."""

    def __init__(self) -> None:
        self.loops: list[Loop] = []
        self._trips: int | None = None
        self._outermost: int | None = None
        self._noting = False
        self._open: list[tuple[Loop, list[Loop]]] = []
        self._started = self._until = float("inf")

    def names(self) -> dict[str, Any]:
        """What the module finds in place."""
        return {_ITEMS: self._items, _CALLED: self._called, _LAX: self._lax}

    @contextlib.contextmanager
    def to(self, trips: int | None, outermost: int | None = None) -> Iterator[None]:
        """Loops run so many iterations at most, and are noted.

        Args:
          trips: of each loop, but of short ones; as before where it is None.
          outermost: of the loops that stand in no other, should it be less.
        """
        kept = self._trips, self._outermost, self._noting
        self._trips = self._trips if trips is None else trips
        self._outermost, self._noting = outermost, True
        self.clear()
        try:
            yield
        finally:
            self._trips, self._outermost, self._noting = kept
            jax.clear_caches()  # of functions that were traced with their loops cut

    @contextlib.contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Raises TooLong from a loop that shows that running it would take longer."""
        self.clear()
        self._started = time.monotonic()
        self._until = self._started + seconds
        try:
            yield
        finally:
            self._started = self._until = float("inf")

    def clear(self) -> None:
        """Forgets what has been run."""
        self.loops, self._open = [], []

    @property
    def shape(self) -> Shape:
        """How all loops that were run stand in each other."""
        return tuple(loop.shape for loop in self.loops)

    def _enter(self, count: int | None, *, written_out: bool) -> Loop:
        loop = Loop(count, written_out)
        (self._open[-1][1] if self._open else self.loops).append(loop)
        return loop

    def _most(self, count: int | None) -> int | None:
        """How many iterations a loop runs that is entered now; None for all."""
        limits = []
        if self._trips is not None and (count is None or count > _WHOLE):
            limits.append(self._trips)
        if self._outermost is not None and not self._open:
            limits.append(self._outermost)
        return min(limits, default=None)

    @contextlib.contextmanager
    def _round(self, loop: Loop) -> Iterator[None]:
        """One iteration of a loop."""
        loop.rounds.append([])
        mine = (loop, loop.rounds[-1])
        self._open.append(mine)
        try:
            yield
        finally:
            # A loop that was left by an exception may be closed late.
            for index, each in enumerate(self._open):
                if each is mine:
                    del self._open[index:]

    def _check(self) -> None:
        now = time.monotonic()
        if now - self._started > _GRACE and now > self._until:
            raise TooLong
        if now - self._started > min(_GRACE, self._until - self._started):
            done, part = 0.0, 1.0
            for loop, _ in self._open:
                if loop.count is None or not loop.written_out:
                    return
                part /= max(1, loop.count)
                done += part * (len(loop.rounds) - 1)
            if self._started + (now - self._started) / max(done, 1e-9) > self._until:
                raise TooLong

    def _items(self, items: Iterable[Any]) -> Iterable[Any]:
        return self._run(items, _length(items))

    def _called(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterable[Any]:
        """What `zip` and its like give, which do not say how much that is."""
        lengths = [_length(a) for a in args]
        items = function(*args, **kwargs)
        if function is zip and args and None not in lengths:
            return self._run(items, min(n for n in lengths if n is not None))
        if function in (enumerate, reversed):
            return self._run(items, lengths[0])
        return self._run(items, _length(items))

    def _run(self, items: Iterable[Any], count: int | None) -> Iterable[Any]:
        rest = iter(items)
        loop = self._enter(count, written_out=True)
        most = self._most(count)
        for item in rest if most is None else islice(rest, most):
            with self._round(loop):
                self._check()
                yield item
        if count is None and self._noting:
            loop.count = len(loop.rounds) + sum(1 for _ in islice(rest, _COUNTED))

    def _lax(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self._noting:
            if function is jax.lax.scan:
                return self._scan
            if function is jax.lax.fori_loop:
                return self._fori_loop
            if function is jax.lax.map:
                return self._map
        return function

    def _body(self, loop: Loop, f: Callable[..., Any]) -> Callable[..., Any]:
        def body(*args: Any) -> Any:
            with self._round(loop):
                return f(*args)

        return body

    def _scan(
        self,
        f: Callable[..., Any],
        init: Any,
        xs: Any = None,
        length: int | None = None,
        reverse: bool = False,
        **rest: Any,
    ) -> Any:
        count = int(length) if length is not None else len(jax.tree.leaves(xs)[0])
        trips = _least(count, self._most(count))
        loop = self._enter(count, written_out=False)
        if trips < count:
            part = slice(count - trips, count) if reverse else slice(trips)
            xs = jax.tree.map(lambda x: x[part], xs)
        body = self._body(loop, f)
        return jax.lax.scan(body, init, xs, length=trips, reverse=reverse, **rest)

    def _fori_loop(self, lower: Any, upper: Any, body_fun: Any, init_val: Any, **rest: Any) -> Any:
        try:
            lower, upper = operator.index(lower), operator.index(upper)
            count: int | None = max(0, upper - lower)
        except Exception:  # a tracer, of whose kinds each raises what it likes
            count = None
        most = self._most(count)
        loop = self._enter(count, written_out=False)
        if count is not None:
            upper = lower + _least(count, most)
        return jax.lax.fori_loop(lower, upper, self._body(loop, body_fun), init_val, **rest)

    def _map(self, f: Callable[..., Any], xs: Any, **rest: Any) -> Any:
        count = len(jax.tree.leaves(xs)[0])
        trips = _least(count, self._most(count))
        loop = self._enter(count, written_out=False)
        if trips < count:
            xs = jax.tree.map(lambda x: x[:trips], xs)
        return jax.lax.map(self._body(loop, f), xs, **rest)


@dataclass
class Versions:
    """Both versions with loops that can be cut.

    Attributes:
      counted: what behind a loop may know how often it ran, empty where nothing does.
    """

    old: Cuts = field(default_factory=Cuts)
    new: Cuts = field(default_factory=Cuts)
    counted: str = ""

    def hand_through(self, old: ast.Module, new: ast.Module) -> None:
        """Changes two trees: the loops of functions that differ are handed through here."""
        changed = differing(old, new)
        self.counted = counted(*changed)
        for tree, found in zip((old, new), changed, strict=True):
            handing = _Handing(_lax_names(tree))
            for function in found:
                function.body = [handing.visit(statement) for statement in function.body]
            ast.fix_missing_locations(tree)

    @contextlib.contextmanager
    def to(self, trips: int | None, outermost: int | None = None) -> Iterator[None]:
        """Loops of both versions run so many iterations at most."""
        with self.old.to(trips, outermost), self.new.to(trips, outermost):
            yield

    @contextlib.contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Raises TooLong from a loop of either that shows that running it would take longer."""
        with self.old.patience(seconds), self.new.patience(seconds):
            yield


class _Handing(ast.NodeTransformer):
    """Hands what loops run over, and the `lax` functions that are called, to their `Cuts`."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        of = node.iter
        if isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id in _LAZY:
            of.args.insert(0, of.func)
            of.func = ast.Name(_CALLED, ast.Load())
        else:
            node.iter = ast.Call(ast.Name(_ITEMS, ast.Load()), [of], [])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in self.names:
            node.func = ast.Call(ast.Name(_LAX, ast.Load()), [node.func], [])
        return node


def functions(tree: ast.Module) -> list[_Function]:
    """The functions and methods that stand in no other function."""
    work: list[ast.stmt] = list(tree.body)
    found: list[_Function] = []
    while work:
        node = work.pop(0)
        if isinstance(node, _Function):
            found.append(node)
        else:
            work[:0] = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)]
    return found


def differing(old: ast.Module, new: ast.Module) -> tuple[list[_Function], list[_Function]]:
    """The functions of each version that the other one does not have like that."""
    first, second = functions(old), functions(new)
    same = {ast.dump(f) for f in first} & {ast.dump(f) for f in second}
    return (
        [f for f in first if ast.dump(f) not in same],
        [f for f in second if ast.dump(f) not in same],
    )


def _lax_names(tree: ast.Module) -> frozenset[str]:
    """What the file calls the loops of lax."""
    aliases = (a for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names)
    return frozenset(
        {*_LAX_LOOPS, *(a.asname for a in aliases if a.asname and a.name in _LAX_LOOPS)}
    )


def _length(items: Any) -> int | None:
    try:
        return len(items)
    except Exception:  # an iterator, or a tracer without an axis
        return None


def _least(count: int, most: int | None) -> int:
    return count if most is None else min(count, most)
