"""What a function of `jax.value_and_grad` gives back: the value is one number, always."""

from __future__ import annotations

import ast

from forscan.find.context import FunctionContext

_MAKERS = {"jax.value_and_grad", "equinox.filter_value_and_grad"}
_WRAPPERS = {"jax.jit", "jax.checkpoint", "jax.remat", "equinox.filter_jit"}


def is_loss(base: ast.expr, index: ast.expr, context: FunctionContext) -> bool:
    """Whether `base[index]` is the value: the first item, or the first item of that."""
    if not _is_first(index):
        return False
    match base:
        case ast.Call(func=made):
            return _has_aux(made, context) is False
        case ast.Subscript(value=ast.Call(func=made), slice=first) if _is_first(first):
            return _has_aux(made, context) is True
    return False


def _is_first(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value == 0


def _has_aux(made: ast.expr, context: FunctionContext, depth: int = 3) -> bool | None:
    """Whether a function gives back a value with more beside it; None where it is another one."""
    if depth == 0:
        return None
    match made:
        case ast.Name(id=name):
            around = context.around(name) or context
            values = around.values.get(name, [])
            known = len(values) == 1 and name not in around.parameters
            return _has_aux(values[0], around, depth - 1) if known else None
        case ast.Call(func=maker, args=[first, *_]):
            path = context.resolve(maker)
            if path in _WRAPPERS:
                return _has_aux(first, context, depth - 1)
            given = [k.value for k in made.keywords if k.arg == "has_aux"]
            if path not in _MAKERS or any(k.arg is None for k in made.keywords):
                return None
            if not given:
                return False
            return given[0].value is True if isinstance(given[0], ast.Constant) else None
    return None
