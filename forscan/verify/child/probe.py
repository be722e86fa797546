"""Notes the types of values while a call is traced.

The module is loaded from a tree with probes in it: around what its loops run over, index,
append and put into lists, and at the head of each iteration. Nothing else about it changes.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .call import Call
from .errors import needs_values
from .load import load_tree
from .program import Program

_SEE, _ENTER, _HEAD, _BEHIND = (
    f"__forscan_{name}__" for name in ("see", "enter", "head", "behind")
)
_COUNTERS = ("range", "zip", "enumerate", "reversed")
_MOST_ITEMS = 10_000
_MOST_LEAVES = 1_000

Noted = dict[str, Any]


class _Enough(BaseException):
    """Many iterations were seen: the others would take longer than there is patience for."""


def observe(
    version: Path, path: Path, calls: Iterable[str], patience: float = float("inf")
) -> dict[str, Any]:
    """The types that each call has shown, by function and text, and why one could not be run.

    Args:
      version: the file to run.
      path: where it stands, for its imports.
      calls: expressions, evaluated in the module's namespace.
      patience: seconds after which a call that goes through a loop is left; what it has
        shown counts, as whatever is made of it is verified.
    """
    notes = _Notes()
    tree = _Probes().visit(ast.parse(version.read_bytes()))
    module = load_tree(ast.fix_missing_locations(tree), path, notes.names())
    seen, failed = [], []
    for call in calls:
        notes.clear()
        notes.until = time.monotonic() + patience
        try:
            _run(Call.parse(call, module))
        except _Enough:
            pass
        except Exception as e:
            failed.append(f"{call}: {type(e).__name__}: {e}")
        seen.append(notes.as_json())
    return {"calls": seen, "failed": failed}


def _run(call: Call) -> None:
    """Traces a call; one that looks at values is run as it is."""
    try:
        Program(call).trace()
    except Exception as e:
        if not needs_values(e):
            raise
        call.function(*call.args, **call.kwargs)


class _Notes:
    """What the probes have seen."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[tuple[str, str], list[Noted]]] = {}
        self.trips: dict[int, int] = {}
        self.until = float("inf")
        self.clear()

    def clear(self) -> None:
        self.seen = {"expressions": {}, "first": {}, "later": {}}

    def names(self) -> dict[str, Any]:
        """What the probes in the module call."""
        return {
            _SEE: self.see,
            _ENTER: self.enter,
            _HEAD: self.head,
            _BEHIND: self.behind,
        }

    def note(self, kind: str, function: str, text: str, value: Any) -> None:
        known = self.seen[kind].setdefault((function, text), [])
        described = describe(value)
        if described not in known:
            known.append(described)

    def see(self, function: str, text: str, value: Any) -> Any:
        self.note("expressions", function, text, value)
        return value

    def enter(self, loop: int) -> None:
        self.trips[loop] = 0

    def head(self, loop: int, function: str, names: tuple[str, ...], space: Noted) -> None:
        self._state("later" if self.trips[loop] else "first", function, names, space)
        self.trips[loop] += 1
        if time.monotonic() > self.until:
            raise _Enough

    def behind(self, loop: int, function: str, names: tuple[str, ...], space: Noted) -> None:
        if self.trips[loop]:
            self._state("later", function, names, space)

    def _state(self, kind: str, function: str, names: tuple[str, ...], space: Noted) -> None:
        for name in names:
            if name in space:
                self.note(kind, function, name, space[name])

    def as_json(self) -> dict[str, Any]:
        return {
            kind: [[*key, values] for key, values in noted.items()]
            for kind, noted in self.seen.items()
        }


def describe(value: Any) -> Noted:
    """The type of a value, as plain data."""
    if value is None:
        return {"kind": "None", "type": "None"}
    if isinstance(value, bool | int | float | complex):
        name = type(value).__name__
        weak = not isinstance(value, bool)
        return {"kind": "number", "type": name, "dtype": name, "shape": "[]", "weak": weak}
    if isinstance(value, np.ndarray | np.generic):
        return {"kind": "numpy", "type": _array_type(value), **_extent(value)}
    if isinstance(value, jax.Array):
        return {
            "kind": "array",
            "type": _array_type(value),
            **_extent(value),
            "weak": bool(getattr(value, "weak_type", False)),
        }
    if type(value) in (list, tuple):
        return _sequence(value)
    return _tree(value)


def _array_type(value: Any) -> str:
    weak = ", weak" if getattr(value, "weak_type", False) else ""
    return f"{value.dtype}{list(value.shape)}{weak}"


def _extent(value: Any) -> Noted:
    length = value.shape[0] if value.ndim else None
    return {"dtype": str(value.dtype), "shape": str(list(value.shape)), "length": length}


def _sequence(value: list[Any] | tuple[Any, ...]) -> Noted:
    items = [describe(item) for item in value[:_MOST_ITEMS]]
    kinds = {item["type"] for item in items}
    equal = len(kinds) == 1 and len(items) == len(value) and _stackable(value[0])
    shown = ", ".join(item["type"] for item in items[:20])
    kind = type(value).__name__
    described = {"kind": kind, "type": f"{kind} of {len(value)}: {shown}", "length": len(value)}
    described["columns"] = len(items) == len(value) and _are_columns(items)
    return {**described, "item": items[0]} if equal else described


def _are_columns(items: list[Noted]) -> bool:
    """Whether all items are arrays with axes, of which the first is of one length."""
    lengths = {item["length"] if item["kind"] == "array" else None for item in items}
    return len(lengths) == 1 and None not in lengths


def _stackable(item: Any) -> bool:
    """Whether an item holds arrays, and nothing else but numbers."""
    leaves = jax.tree.leaves(item)
    return bool(leaves) and all(
        isinstance(leaf, jax.Array | np.ndarray | np.generic | int | float | complex)
        for leaf in leaves
    )


def _tree(value: Any) -> Noted:
    leaves, structure = jax.tree.flatten(value)
    if (len(leaves) == 1 and leaves[0] is value) or len(leaves) > _MOST_LEAVES:
        return {"kind": "other", "type": type(value).__name__}
    shown = ", ".join(describe(leaf)["type"] for leaf in leaves)
    return {"kind": "tree", "type": f"{structure}: {shown}"}


class _Probes(ast.NodeTransformer):
    """Puts the probes into a module."""

    def __init__(self) -> None:
        self.scope: list[str] = []
        self.loops = 0
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self.scoped(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.scoped(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self.scoped(node)

    def scoped(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()
        return node

    @property
    def function(self) -> str:
        return ".".join(self.scope) or "<module>"

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.loops += 1
        loop, names = self.loops, tuple(_bound(node))
        node.iter = self.operands(node.iter)
        self.depth += 1
        node.body = self.suite(node.body)
        self.depth -= 1
        node.orelse = self.suite(node.orelse)
        node.body.insert(0, self.state(_HEAD, loop, names))
        enter = ast.Expr(_call(_ENTER, loop))
        return [enter, node, self.state(_BEHIND, loop, names)]

    def suite(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            found += new if isinstance(new, list) else [new]
        return found

    def state(self, probe: str, loop: int, names: tuple[str, ...]) -> ast.stmt:
        space = ast.Call(ast.Name("locals", ast.Load()), [], [])
        call = _call(probe, loop, self.function, names)
        call.args.append(space)
        return ast.Expr(call)

    def operands(self, node: ast.expr) -> ast.expr:
        """What a loop runs over, with a probe around each part that is no counter."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _COUNTERS:
            node.args = [self.operands(a) for a in node.args]
            return node
        if isinstance(node, ast.Starred):
            node.value = self.operands(node.value)
            return node
        text = ast.unparse(node)
        if isinstance(node, ast.Subscript):
            node.value = self.operands(node.value)
        return self.seen(text, node)

    def seen(self, text: str, node: ast.expr) -> ast.expr:
        call = _call(_SEE, self.function, text)
        call.args.append(node)
        return call

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        text = ast.unparse(node.value)
        plain = all(
            isinstance(n, ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Load)
            for n in ast.walk(node.value)
        )
        self.generic_visit(node)
        if self.depth and plain and isinstance(node.ctx, ast.Load):
            node.value = self.seen(text, node.value)
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        return self.display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self.display(node)

    def display(self, node: ast.List | ast.Tuple) -> ast.AST:
        """What may be added to a list: `ys += [y]`, `ys.append((x, y))`."""
        texts = [ast.unparse(e) for e in node.elts]
        self.generic_visit(node)
        if self.depth and isinstance(node.ctx, ast.Load):
            node.elts = [
                e if isinstance(e, ast.Starred | ast.Slice) else self.seen(text, e)
                for text, e in zip(texts, node.elts, strict=True)
            ]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        appends = isinstance(node.func, ast.Attribute) and node.func.attr == "append"
        text = ast.unparse(node.args[0]) if appends and node.args else ""
        self.generic_visit(node)
        if self.depth and text and not isinstance(node.args[0], ast.Starred):
            node.args[0] = self.seen(text, node.args[0])
        return node


def _bound(node: ast.For) -> Iterator[str]:
    """The names that a loop binds, each once."""
    names = dict.fromkeys(
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    return iter(names)


def _call(name: str, *arguments: Any) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [_literal(a) for a in arguments], [])


def _literal(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([_literal(v) for v in value], ast.Load())
    return ast.Constant(value)
