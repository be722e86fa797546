"""The first iteration that differs: both versions run again, their loop cut short.

Only loops in functions that differ are cut, and only where both versions go through one
such loop, for the same number of iterations: else iterations do not answer to each other.
"""

from __future__ import annotations

import ast
import time
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax

from .call import Call
from .compare import compare
from .load import load_tree, source_of
from .program import Result

_CUT, _CUT_LAX = "__forscan_cut__", "__forscan_cut_lax__"
_LAX = {"scan", "fori_loop"}
_BUDGET = 20.0  # seconds
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def first_iteration(
    old: types.ModuleType, new: types.ModuleType, text: str, data: list[Any], until: float
) -> str:
    """Such as `iteration 3 of 50`, the first one counted as 1; empty where it is not known.

    Args:
      old, new: the versions.
      text: the call.
      data: in place of the data in the call.
      until: no later than this, by `time.monotonic`.
    """
    sources = source_of(old), source_of(new)
    if None in sources:
        return ""
    until = min(until, time.monotonic() + _BUDGET)
    trees = [ast.parse(source) for source in sources if source is not None]
    same = {ast.dump(n) for n in functions(trees[0])} & {ast.dump(n) for n in functions(trees[1])}
    versions = [_Version(tree, same, Path(str(old.__file__)), text, data) for tree in trees]
    lengths = [version.lengths() for version in versions]
    if lengths[0] != lengths[1] or len(lengths[0]) != 1:
        return ""
    count = lengths[0][0]

    def differs(trips: int) -> bool:
        want, have = (version.run(trips) for version in versions)
        return bool(compare(want, have, lambda: None).reason)

    if count < 1 or not differs(count):
        return ""
    fine, wrong = 0, count
    while wrong - fine > 1:
        if time.monotonic() > until:
            return ""
        # Near the beginning first: such runs are short, and it is often the first one.
        middle = min((fine + wrong) // 2, max(1, 2 * fine))
        fine, wrong = (fine, middle) if differs(middle) else (middle, wrong)
    return f"iteration {wrong} of {count}"


class _Version:
    """One version whose loop can be cut."""

    def __init__(
        self, tree: ast.Module, same: set[str], path: Path, text: str, data: list[Any]
    ) -> None:
        self.trips: int | None = None
        self.seen: list[int] = []
        for function in functions(tree):
            if ast.dump(function) not in same:
                _Cuts().visit_all(function)
        names = {_CUT: self.cut, _CUT_LAX: self.cut_lax}
        module = load_tree(ast.fix_missing_locations(tree), path, names)
        self.data = data
        self.call = Call.parse(text, module).split()[1]

    def run(self, trips: int | None) -> Result:
        self.trips, self.seen = trips, []
        with jax.disable_jit():
            return Result.of(self.call(self.data))

    def lengths(self) -> list[int]:
        """How often each of the loops runs, in their order."""
        self.run(None)
        return self.seen

    def cut(self, items: Iterable[Any]) -> list[Any]:
        found = list(items)
        self.seen.append(len(found))
        return found[: self.trips]

    def cut_lax(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if function is jax.lax.scan:
            return self.scan
        return self.fori_loop if function is jax.lax.fori_loop else function

    def scan(
        self,
        f: Any,
        init: Any,
        xs: Any = None,
        length: int | None = None,
        reverse: bool = False,
        **rest: Any,
    ) -> Any:
        count = length if length is not None else len(jax.tree.leaves(xs)[0])
        self.seen.append(count)
        trips = count if self.trips is None else min(count, self.trips)
        part = slice(count - trips, count) if reverse else slice(trips)
        xs = jax.tree.map(lambda x: x[part], xs)
        return jax.lax.scan(f, init, xs, length=trips, reverse=reverse, **rest)

    def fori_loop(self, lower: int, upper: int, body: Any, init: Any, **rest: Any) -> Any:
        count = max(0, upper - lower)
        self.seen.append(count)
        trips = count if self.trips is None else min(count, self.trips)
        return jax.lax.fori_loop(lower, lower + trips, body, init, **rest)


class _Cuts(ast.NodeTransformer):
    """Has the loops of a function cut that stand in no other loop."""

    def visit_all(self, function: _Function) -> None:
        function.body = [self.visit(statement) for statement in function.body]

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = ast.Call(ast.Name(_CUT, ast.Load()), [node.iter], [])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node  # it may be the body of a loop

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in _LAX:
            node.func = ast.Call(ast.Name(_CUT_LAX, ast.Load()), [node.func], [])
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
