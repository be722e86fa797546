"""Loops that are Python's own work: they fill dicts, make modules, check arguments.

They have no state that one iteration hands to the next, and collect no values, so there
is nothing that a scan could carry or give out; or they ask objects for their types, names
and attributes, and compute nothing.
"""

from __future__ import annotations

import ast

from forscan.analyse.lists import appended
from forscan.analyse.state import state_of
from forscan.find.context import FunctionContext
from forscan.syntax.names import dotted, target_names
from forscan.syntax.walk import walk_all


def is_python_work(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a loop has neither state nor outputs, and calls nothing of jax itself."""
    if _handles_objects(loop, context):
        return True
    state = state_of(loop, context)
    if state.carried or state.last or state.unbound or state.targets_after:
        return False
    for node in walk_all(loop.body):
        if isinstance(node, ast.stmt) and appended(node) is not None:
            return False
        if isinstance(node, ast.Return | ast.Yield | ast.Break | ast.Global | ast.Nonlocal):
            return False
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            if _is_read(node, loop):
                return False  # state kept in an object
        if isinstance(node, ast.Call) and (context.resolve(node.func) or "").startswith("jax."):
            return False
    return True


_OBJECTS = {"isinstance", "issubclass", "getattr", "setattr", "hasattr", "delattr", "type", "str"}
_OF_TEXT = {"startswith", "endswith", "split", "join", "format", "strip", "items", "setdefault"}
_NUMERIC = ast.Sub | ast.Mult | ast.Div | ast.MatMult | ast.Pow | ast.FloorDiv


def _handles_objects(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a body asks what its objects are, and has no arithmetic and no call of jax.

    `for layer in layers: x = layer(x)` does neither; its items may be equal.
    """
    items = set(target_names(loop.target))
    asks = False
    for node in walk_all(loop.body):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, _NUMERIC):
            return False
        if isinstance(node, ast.JoinedStr):
            asks = True
        if isinstance(node, ast.Call):
            path = context.resolve(node.func) or ""
            applied = node.args and (dotted(node.func) or "").split(".")[0] in items
            if applied or path.startswith("jax."):
                return False
            asks = asks or path in _OBJECTS
            asks = asks or (isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TEXT)
    return asks


def _is_read(stored: ast.Subscript | ast.Attribute, loop: ast.For) -> bool:
    """Whether the body also reads what it stores in the same object."""
    wanted = ast.dump(stored.value)
    for node in walk_all(loop.body):
        if isinstance(node, ast.AugAssign) and node.target is stored:
            return True
        if isinstance(node, type(stored)) and isinstance(node.ctx, ast.Load):
            if ast.dump(node.value) == wanted:
                return True
    return False
