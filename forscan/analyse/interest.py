"""Loops that are Python's own work: they fill dicts, make modules, check arguments.

They have no state that one iteration hands to the next, and collect no values, so there
is nothing that a scan could carry or give out.
"""

from __future__ import annotations

import ast

from forscan.analyse.lists import appended
from forscan.analyse.state import state_of
from forscan.find.context import FunctionContext
from forscan.syntax.names import walk_all


def is_python_work(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a loop has neither state nor outputs, and calls nothing of jax itself."""
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
