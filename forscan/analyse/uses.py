"""How the body uses a value that a scan turns into a tracer.

In a `for` the index is a Python int and the state may be Python numbers; inside a scan all
of them are tracers. Each use of such a name, and of what Python computes from it, has a kind.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from functools import cached_property

from forscan.analyse.arguments import Argument
from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.climb import Climb, Place
from forscan.analyse.floating import Floating
from forscan.analyse.handed import given
from forscan.analyse.numbers import LARGEST_INDEX
from forscan.analyse.settled import Settled
from forscan.analyse.use import Kind, Use
from forscan.find.context import FunctionContext
from forscan.find.functions import Function
from forscan.syntax.names import defaults, parameters, target_names
from forscan.syntax.walk import walk, walk_all

_DEPTH = 3  # functions that an index is followed into


class Uses:
    """Classifies uses of names in a suite of one function.

    Args:
      depth: how many functions an index is followed into yet.
      largest: what the numbers whose uses are asked for do not exceed.
      settled: what the scan settles about types, in the loop itself.
      floats: state that is made of floats.
    """

    def __init__(
        self,
        context: FunctionContext,
        body: Iterable[ast.AST],
        depth: int = _DEPTH,
        largest: float = LARGEST_INDEX,
        settled: Settled | None = None,
        floats: frozenset[str] = frozenset(),
    ) -> None:
        self.context = context
        self.body = list(body)
        self.depth = depth
        self.parents = context.module.functions.parents
        self.largest = largest
        self.settled = settled
        self.floats = floats
        self.floating = Floating(context)

    def of(self, name: str, *, integer: bool) -> list[Use]:
        """All uses of a name, and of the names computed from it in Python only.

        Args:
          name: the name.
          integer: whether it is a Python number for sure, as an index is.
        """
        found = [
            use
            for node in self._reads(name)
            for use in self._use(node, integer, {name}, self.largest)
        ]
        return sorted(found, key=lambda u: (u.node.lineno, u.node.col_offset))

    def of_item(self, name: str, place: int) -> list[Use]:
        """All uses of one item of a tuple, which is a Python number."""
        found: list[Use] = []
        for node in self._reads(name):
            match self.parents.get(node):
                case ast.Subscript(slice=ast.Constant(value=key)) as item if key == place:
                    found.append(Climb(self._place(self.largest), node, True, item).use())
                case ast.Assign(targets=[ast.Tuple(elts=names)]) if place < len(names):
                    for unpacked in target_names(names[place]):
                        found += self.of(unpacked, integer=True)
        return found

    def _reads(self, name: str) -> list[ast.Name]:
        return [node for node in self._loads.get(name, ()) if not self._shadowed(node)]

    @cached_property
    def _loads(self) -> dict[str, list[ast.Name]]:
        """The places of the suite where each name is read."""
        found: dict[str, list[ast.Name]] = {}
        for node in walk_all(self.body):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    def _place(self, largest: float) -> Place:
        """Where the reads of a number up to a size stand; not kept, as it leads back here."""
        top = self.depth == _DEPTH
        return Place(
            self.context,
            self.floating,
            self._follow,
            largest,
            self.settled,
            top,
            self.floats,
        )

    def _use(self, node: ast.Name, integer: bool, done: set[str], largest: float) -> Iterator[Use]:
        """The use of one read, and those of what Python computes from it."""
        climb = Climb(self._place(largest), node, integer)
        use = climb.use()
        yield use
        if use.unknown is not None:
            yield from self._of_unknown(use.unknown, done)
            return
        for derived in self._derived(use.value, done):
            done.add(derived)
            size = math.inf if self._is_bound_again(derived) else climb.numbers.size(use.value)
            for read in self._reads(derived):
                yield from self._use(read, integer, done, size)

    def _is_bound_again(self, name: str) -> bool:
        """Whether a name of the suite may stand for several values."""
        stores = (n for n in walk_all(self.body) if isinstance(n, ast.Name) and n.id == name)
        return sum(not isinstance(n.ctx, ast.Load) for n in stores) > 1

    def _of_unknown(self, made: ast.expr | None, done: set[str]) -> Iterator[Use]:
        """What would go wrong if names that nothing shows to be arrays are Python numbers."""
        for derived in self._derived(made, done):
            done.add(derived)
            for read in self._reads(derived):
                use = Climb(self._place(self.largest), read, False, unknown=True).use()
                if use.kind is Kind.HAZARD:
                    yield use
                yield from self._of_unknown(use.unknown, done)

    def _shadowed(self, node: ast.Name) -> bool:
        """Whether a comprehension or lambda around the read has its own such name."""
        child: ast.AST = node
        scope = self.parents.get(node)
        while scope is not None and child not in self.body:
            if isinstance(scope, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                own = {n for g in scope.generators for n in target_names(g.target)}
                if node.id in own and child is not scope.generators[0]:
                    return True
            elif isinstance(scope, ast.Lambda | ast.FunctionDef):
                inside = child is scope.body or child in _as_list(scope.body)
                if inside and node.id in parameters(scope):
                    return True
            child, scope = scope, self.parents.get(scope)
        return False

    def _derived(self, value: ast.expr | None, done: set[str]) -> list[str]:
        """Names that get a value computed of a name."""
        if value is None:
            return []
        parent = self.parents.get(value)
        names: list[str] = []
        if isinstance(parent, ast.Assign) and parent.value is value:
            for target in parent.targets:
                names += target_names(target)
        elif isinstance(parent, ast.Tuple):  # a, b = i + 1, i + 2
            names = self._unpacked(parent, value)
        elif isinstance(parent, ast.NamedExpr):
            names = [parent.target.id]
        elif isinstance(parent, ast.arguments):  # lambda v, k=i: …
            names = [name for name, given in defaults(parent).items() if given is value]
        return [n for n in names if n and n not in done]

    def _unpacked(self, values: ast.Tuple, value: ast.expr) -> list[str]:
        match self.parents.get(values):
            case ast.Assign(targets=[ast.Tuple(elts=targets)]) if len(targets) == len(values.elts):
                return target_names(targets[values.elts.index(value)])
        return []

    def _follow(self, argument: Argument) -> Use:
        """The use of an index in the function of the project that it is handed to."""
        shown = ast.unparse(argument.call.func)
        passed = argument.use(Kind.PASSED, f"an argument of {shown}")
        callee = self._callee(argument.call.func)
        if callee is None or self.depth == 0:
            return passed
        name = _parameter(callee, argument)
        return passed if name is None else self._inside(argument, callee, name, shown)

    def _callee(self, called: ast.expr) -> Function | ast.Lambda | None:
        """The function that is surely called; of methods those that no other class has."""
        match called:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=method):
                found = self.context.module.functions.methods.get(method, [])
                own = self.context.module.functions.class_of(called)
                if len(found) != 1 or self.parents.get(found[0]) is not own:
                    return None
            case ast.Attribute():
                return None
        callee = self.context.module.traced.only(called)
        return None if callee is None or _is_left_open(callee) else callee

    def _inside(
        self, argument: Argument, callee: Function | ast.Lambda, name: str, shown: str
    ) -> Use:
        node = argument.node
        body = [callee.body] if isinstance(callee, ast.Lambda) else callee.body
        context = self.context
        if not isinstance(callee, ast.Lambda):
            context = FunctionContext(self.context.module, callee)
        largest = argument.numbers.size(argument.value)
        inner = Uses(context, body, self.depth - 1, largest)
        if isinstance(argument.place, ast.Tuple):
            items = [node in walk(e) for e in argument.place.elts]
            uses = inner.of_item(name, items.index(True))
        else:
            uses = inner.of(name, integer=True)
        for use in uses:
            if use.read is not None and self._is_no_array(
                use.read.value, callee, context, argument
            ):
                what = f"an index of {ast.unparse(use.read.value)} (no JAX array) in {shown}"
                return Use(node, Kind.CONCRETE, what)
        worst = max(uses, key=lambda u: u.kind, default=None)
        if worst is None:
            return Use(node, Kind.PURE, "nothing")
        if worst.kind is Kind.HAZARD:
            return Use(node, Kind.CONCRETE, f"{worst.what} in {shown}")
        if worst.kind > Kind.ARITHMETIC:
            return Use(node, worst.kind, f"{worst.what} in {shown}")
        if any(u.kind is Kind.ARITHMETIC for u in uses):
            return Use(node, Kind.ARITHMETIC, f"a number in {shown}")
        return Use(node, Kind.PURE, f"an index in {shown}")

    def _is_no_array(
        self,
        read: ast.expr,
        callee: Function | ast.Lambda,
        inside: FunctionContext,
        argument: Argument,
    ) -> bool:
        """Whether a called function reads at an index what no tracer can index."""
        found = evidence(read, inside)
        handed = given(read, callee, inside, argument.call)
        if found is not Evidence.NUMPY and handed is not None:
            found = evidence(handed, self.context)
        return found not in (Evidence.ARRAY, Evidence.UNKNOWN)


class StateUses:
    """The uses of state that a loop carries: in its body, and behind it.

    Args:
      live: the names that are read behind the loop.
      floats: the state that is made of floats.
    """

    def __init__(
        self,
        loop: ast.For,
        context: FunctionContext,
        live: frozenset[str],
        floats: frozenset[str] = frozenset(),
    ) -> None:
        self.loop = loop
        self.context = context
        self.live = live
        self.floats = floats
        self.body = Uses(context, loop.body, floats=floats)

    def of(self, name: str) -> Iterator[Use]:
        """All uses of a name that is a Python number for sure."""
        yield from self.body.of(name, integer=True)
        if name in self.live:
            behind = self._behind.of(name, integer=True)
            yield from (use for use in behind if self._is_behind(use.node))

    @cached_property
    def _behind(self) -> Uses:
        return Uses(self.context, self.context.node.body, floats=self.floats)

    @cached_property
    def _inside(self) -> set[ast.AST]:
        return set(walk(self.loop))

    @cached_property
    def _again(self) -> set[ast.AST]:
        """What a loop around this one comes to once more."""
        around: ast.AST = self.loop
        outermost: ast.AST = self.loop
        while around is not self.context.node:
            if isinstance(around, ast.For | ast.While):
                outermost = around
            around = self.context.parent(around)
        return set(walk(outermost))

    def _is_behind(self, node: ast.AST) -> bool:
        if node in self._inside:
            return False
        return node in self._again or getattr(node, "lineno", 0) > self.loop.lineno


def _is_left_open(callee: Function | ast.Lambda) -> bool:
    """Whether a function only says what others that take its place are to do."""
    if isinstance(callee, ast.Lambda):
        return False
    *_, last = callee.body
    doc = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return doc or isinstance(last, ast.Raise | ast.Pass)


def _parameter(callee: Function | ast.Lambda, argument: Argument) -> str | None:
    """The name that the callee has for an argument."""
    a = callee.args
    plain = [p.arg for p in (*a.posonlyargs, *a.args)]
    if argument.position is None:
        known = [*plain, *(p.arg for p in a.kwonlyargs)]
        return argument.keyword if argument.keyword in known else None
    method = isinstance(argument.call.func, ast.Attribute) and plain[:1] in (["self"], ["cls"])
    position = argument.position + method
    return plain[position] if position < len(plain) else None


def _as_list(body: object) -> list[object]:
    return body if isinstance(body, list) else [body]
