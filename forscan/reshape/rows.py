"""The rows of a buffer that is full of one value."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.analyse.buffers import is_weakly_filled
from forscan.analyse.trip_count import is_number
from forscan.reshape.site import LoopText
from forscan.syntax.code import one_line
from forscan.syntax.walk import walk

_FULL = {"zeros": 1, "ones": 1, "empty": 1, "full": 2}  # where each takes its dtype
_LIKE = {"zeros_like": "zeros", "ones_like": "ones"}


@dataclass(frozen=True)
class Row:
    """Any row of such a buffer, as Python.

    Attributes:
      text: the row.
      shape: its shape.
      dtype: its dtype.
    """

    text: str
    shape: str
    dtype: str

    def holding(self, value: str, jnp: str) -> str:
        """What a write of a value leaves in the row: it casts and broadcasts."""
        if self.shape == "()":
            return f"{jnp}.asarray({value}, {self.dtype})"
        return f"{jnp}.broadcast_to({value}, {self.shape}).astype({self.dtype})"


def row_of(loop: LoopText, made: ast.expr) -> Row | None:
    """Any row of the buffer that an expression makes, None where rows may differ."""
    if not isinstance(made, ast.Call) or not made.args or is_weakly_filled(made, loop.context):
        return None
    path = loop.context.resolve(made.func) or ""
    maker = path.removeprefix("jax.numpy.")
    if path == maker:
        return None
    if maker in _LIKE and len(made.args) == 1 and not made.keywords:
        return _like(loop, made, _LIKE[maker])
    shape = _shape(loop, made.args[0]) if maker in _FULL else None
    if shape is None:
        return None
    source = loop.context.source
    others = [one_line(source, a) for a in made.args[1:]]
    others += [f"{k.arg}={one_line(source, k.value)}" for k in made.keywords if k.arg]
    text = f"{one_line(source, made.func)}({', '.join([shape, *others])})"
    return Row(text, shape, _dtype(loop, made, maker))


def _dtype(loop: LoopText, made: ast.Call, maker: str) -> str:
    named = next((k.value for k in made.keywords if k.arg == "dtype"), None)
    if named is None and len(made.args) > _FULL[maker]:
        named = made.args[_FULL[maker]]
    if named is not None:
        return one_line(loop.context.source, named)
    return "float"


def _like(loop: LoopText, value: ast.Call, maker: str) -> Row | None:
    """`zeros_like(x)` has the rows of the array x."""
    array = value.args[0]
    if not isinstance(array, ast.Name | ast.Attribute):
        return None
    shown = one_line(loop.context.source, array)
    jnp = loop.context.module.spelling(loop.node).jnp
    shape, dtype = f"{shown}.shape[1:]", f"{shown}.dtype"
    return Row(f"{jnp}.{maker}({shape}, {dtype})", shape, dtype)


def _shape(loop: LoopText, shape: ast.expr) -> str | None:
    """The shape without its leading axis; what is surely a number has no other."""
    match shape:
        case ast.Tuple(elts=[first, *rest]) if not isinstance(first, ast.Starred):
            texts = [one_line(loop.context.source, r) for r in rest]
            return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        case _ if is_number(shape):
            return "()"
        case ast.Name():
            bounds = (n for n in walk(loop.node.iter) if isinstance(n, ast.Name))
            return "()" if any(n.id == shape.id for n in bounds) else None
    return None
