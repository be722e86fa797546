"""A number that becomes an array in the first iteration starts in the shape of that array.

A scan promotes the dtype of such a start, never its shape. Where an iteration combines it
element by element with arrays that are there before the loop, the shape is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.carry_shapes import ELEMENTWISE
from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import indent, one_line
from forscan.syntax.names import binds, in_body, names_in


def seeds_to_shape(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """`x = jnp.broadcast_to(x, shape)` before the loop, for each number that grows a shape."""
    if {r.code for r in reasons} != {"FSC412"}:
        return None
    jnp = loop.context.module.spelling(loop.node).jnp
    places = {(r.line, r.column) for r in reasons}
    before = []
    for name in loop.state.carried:
        updates = loop.carries.updates(name)
        if not any((u.lineno, u.col_offset + 1) in places for u in updates):
            continue
        if len(updates) != 1 or not _comes_first(loop, name):
            return None
        try:
            shapes = list(dict.fromkeys(_shapes(loop, updates[0], name)))
        except _Unknown:
            return None
        whole = shapes[0] if len(shapes) == 1 else f"{jnp}.broadcast_shapes({', '.join(shapes)})"
        before.append(f"{name} = {jnp}.broadcast_to({name}, {whole})")
    head = "\n".join(before)
    if not before:
        return None
    text = f"{head}\n{loop.header}\n{indent(loop.body.text, loop.context.unit)}"
    return loop.replaced(text, len(head) + 1)


class _Unknown(Exception):
    """The shape of an update cannot be told before the loop."""


def _comes_first(loop: LoopText, name: str) -> bool:
    """Whether every iteration gives the name its value before anything else reads it."""
    first = next(s for s in loop.node.body if name in names_in(s))
    return isinstance(first, ast.Assign | ast.AugAssign) and name in binds(first)


def _shapes(loop: LoopText, node: ast.expr, name: str) -> Iterator[str]:  # noqa: C901
    """The shapes that broadcast to that of an expression.

    Raises:
      _Unknown: it is no plain combination of arrays from before the loop.
    """
    jnp = loop.context.module.spelling(loop.node).jnp
    iterable, target = loop.node.iter, loop.node.target
    match node:
        case ast.Constant(value=int() | float()):
            return
        case ast.Name(id=found) if found in (name, loop.index):
            return
        case ast.Name(id=found) if isinstance(target, ast.Name) and found == target.id:
            if isinstance(iterable, ast.Subscript) and isinstance(iterable.slice, ast.Slice):
                iterable = iterable.value  # whose rows these are
            if not isinstance(iterable, ast.Name | ast.Attribute):
                raise _Unknown
            yield f"{one_line(loop.context.source, iterable)}.shape[1:]"
        case ast.Subscript(value=ast.Name(id=found), slice=index) if (
            found in loop.context.parameters and found not in in_body(loop.node).binds
        ):
            if isinstance(index, ast.Tuple | ast.Slice) or names_in(index) != {loop.index}:
                raise _Unknown
            yield f"{jnp}.shape({found})[1:]"
        case ast.Name(id=found) if found in loop.context.parameters:
            if found in in_body(loop.node).binds:
                raise _Unknown
            yield f"{jnp}.shape({found})"
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            yield from _shapes(loop, left, name)
            yield from _shapes(loop, right, name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _shapes(loop, operand, name)
        case ast.Call(func=function, args=[argument], keywords=[]):
            path = loop.context.resolve(function) or ""
            if path.removeprefix("jax.numpy.") not in ELEMENTWISE or path in ELEMENTWISE:
                raise _Unknown
            yield from _shapes(loop, argument, name)
        case _:
            raise _Unknown
