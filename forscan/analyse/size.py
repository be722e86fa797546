"""What a `for` comes to when it is unrolled: its trip count, and the size of its body."""

from __future__ import annotations

import ast

from forscan.analyse.lists import appended
from forscan.analyse.trip_count import Extent, extent, leading
from forscan.find.context import FunctionContext
from forscan.types import Size

_OPERATIONS = ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.AugAssign


def size_of(loop: ast.For, context: FunctionContext) -> Size:
    """The size of a loop, as far as the source shows it."""
    return Size(_trips(loop.iter, context), sum(_operations(s, context) for s in loop.body))


def _operations(node: ast.AST, context: FunctionContext) -> int:
    """Operations in a piece of code; an inner loop of unknown length counts once."""
    if isinstance(node, ast.For):
        inner = size_of(node, context)
        return inner.operations * (1 if inner.trips is None else inner.trips)
    if isinstance(node, ast.stmt):
        grown = appended(node)
        if grown is not None:  # growing a list costs nothing, what goes into it does
            return _operations(grown[1], context)
    is_read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    own = is_read or (isinstance(node, _OPERATIONS) and not _is_constant(node))
    return own + sum(_operations(child, context) for child in ast.iter_child_nodes(node))


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _trips(node: ast.expr, context: FunctionContext) -> int | None:
    """How often a `for` over an expression runs, where that is a number."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        if node.func.id == "range":
            return _steps([_known(extent(a, context)) for a in node.args])
        if node.func.id in ("enumerate", "reversed"):
            return _trips(node.args[0], context)
        if node.func.id == "zip":
            counts = [_trips(a, context) for a in node.args]
            return min((c for c in counts if c is not None), default=None)
    if isinstance(node, ast.List | ast.Tuple):
        return None if any(isinstance(e, ast.Starred) for e in node.elts) else len(node.elts)
    return _known(leading(node, context))


def _known(found: Extent) -> int | None:
    return None if found.base else found.constant


def _steps(arguments: list[int | None]) -> int | None:
    numbers = [a for a in arguments if a is not None]
    if len(numbers) != len(arguments) or len(numbers) > 3 or numbers[2:] == [0]:
        return None
    return len(range(*numbers))
