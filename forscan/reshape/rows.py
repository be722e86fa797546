"""The rows of a buffer that is full of one value."""

from __future__ import annotations

import ast

from forscan.reshape.site import LoopText
from forscan.syntax.code import one_line
from forscan.syntax.walk import walk

_FULL = {"zeros", "ones", "full", "empty"}
_LIKE = {"zeros_like": "zeros", "ones_like": "ones"}


def constant_row(loop: LoopText, name: str) -> str | None:
    """Python for any row of a buffer as it is before the loop, None where rows may differ."""
    starts = loop.types.starts(name)
    value = starts[0] if len(starts) == 1 else None
    if not isinstance(value, ast.Call) or name in loop.context.parameters:
        return None
    path = loop.context.resolve(value.func) or ""
    maker = path.removeprefix("jax.numpy.")
    if path == maker or not value.args:
        return None
    if maker in _LIKE and len(value.args) == 1 and not value.keywords:
        return _like(loop, value, _LIKE[maker])
    shape = _shape(loop, value.args[0]) if maker in _FULL else None
    if shape is None:
        return None
    source = loop.context.source
    others = [one_line(source, a) for a in value.args[1:]]
    others += [f"{k.arg}={one_line(source, k.value)}" for k in value.keywords if k.arg]
    return f"{one_line(source, value.func)}({', '.join([shape, *others])})"


def _like(loop: LoopText, value: ast.Call, maker: str) -> str | None:
    """`zeros_like(x)` has the rows of the array x."""
    array = value.args[0]
    if not isinstance(array, ast.Name | ast.Attribute):
        return None
    shown = one_line(loop.context.source, array)
    jnp = loop.context.module.spelling(loop.node).jnp
    return f"{jnp}.{maker}({shown}.shape[1:], {shown}.dtype)"


def _shape(loop: LoopText, shape: ast.expr) -> str | None:
    """The shape without its leading axis; what is surely a number has no other."""
    match shape:
        case ast.Tuple(elts=[first, *rest]) if not isinstance(first, ast.Starred):
            texts = [one_line(loop.context.source, r) for r in rest]
            return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        case ast.Constant(value=int()) | ast.BinOp(right=ast.Constant()):
            return "()"
        case ast.Name():
            bounds = (n for n in walk(loop.node.iter) if isinstance(n, ast.Name))
            return "()" if any(n.id == shape.id for n in bounds) else None
    return None
