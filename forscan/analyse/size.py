"""What a `for` comes to when it is unrolled: its trip count, and the size of its body."""

from __future__ import annotations

import ast
import builtins

from forscan.analyse.array_words import ARRAY_METHODS
from forscan.analyse.lists import appended
from forscan.analyse.trip_count import Extent, extent, leading
from forscan.find.context import FunctionContext
from forscan.find.functions import Function
from forscan.types import Size

_OPERATIONS = ast.BinOp | ast.UnaryOp | ast.Compare | ast.AugAssign
_ARRAYS = ("jax.", "numpy.", "math.")
_UPDATES = {"set", "add", "multiply", "divide", "power", "min", "max", "get", "apply"}
Known = dict[ast.AST, int | None]  # functions that were looked into; None while that goes on


class _Unknown(Exception):
    """Something is called whose size the module does not show."""


def size_of(loop: ast.For, context: FunctionContext) -> Size:
    """The size of a loop, as far as the source shows it."""
    try:
        known: Known = {}
        operations = sum(_operations(s, context, known) for s in loop.body)
    except _Unknown:
        return Size(_trips(loop.iter, context), None)
    return Size(_trips(loop.iter, context), operations)


def _operations(node: ast.AST, context: FunctionContext, known: Known) -> int:
    """Operations in a piece of code.

    Raises:
      _Unknown: it calls something that is not in the module, or has a loop without a number.
    """
    if isinstance(node, ast.For):
        trips = _trips(node.iter, context)
        if trips is None:
            raise _Unknown
        return trips * sum(_operations(s, context, known) for s in node.body)
    if isinstance(node, ast.stmt):
        grown = appended(node)
        if grown is not None:  # growing a list costs nothing, what goes into it does
            return _operations(grown[1], context, known)
    own = _called(node, context, known) if isinstance(node, ast.Call) else _is_operation(node)
    return own + sum(_operations(child, context, known) for child in ast.iter_child_nodes(node))


def _is_operation(node: ast.AST) -> bool:
    is_read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    return is_read or (isinstance(node, _OPERATIONS) and not _is_constant(node))


def _called(node: ast.Call, context: FunctionContext, known: Known) -> int:
    """What a call comes to besides its arguments."""
    function = node.func
    if isinstance(function, ast.Name):
        found = context.module.functions.lookup(function.id, node)
        if found:
            return _inside(found[0], context, known)
        if function.id not in context.locals and hasattr(builtins, function.id):
            return 1
    elif isinstance(function, ast.Attribute) and function.attr in ARRAY_METHODS | _UPDATES:
        return 1
    if not (context.resolve(function) or "").startswith(_ARRAYS):
        raise _Unknown
    return 1


def _inside(function: Function | ast.Lambda, context: FunctionContext, known: Known) -> int:
    """Operations in the body of a function of the module."""
    if function not in known:
        known[function] = None
        if not isinstance(function, ast.Lambda):
            context = FunctionContext(context.module, function)
        body = function.body if isinstance(function.body, list) else [function.body]
        known[function] = sum(_operations(part, context, known) for part in body)
    found = known[function]
    if found is None:  # it calls itself
        raise _Unknown
    return found


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
