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
from forscan.syntax.names import binds, in_body, names_in, target_names


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
    match node:
        case ast.Constant(value=int() | float()):
            return
        case ast.Name(id=found) if found in (name, loop.index):
            return
        case ast.Name(id=found) if found in target_names(loop.node.target):
            source = _iterated(loop, found, loop.node.target, loop.node.iter)
            if source is None:
                raise _Unknown
            yield f"{one_line(loop.context.source, source)}.shape[1:]"
        case ast.Subscript(value=ast.Name(id=found), slice=index) if (
            found not in in_body(loop.node).binds
        ):
            if isinstance(index, ast.Tuple | ast.Slice) or names_in(index) != {loop.index}:
                raise _Unknown
            yield f"{jnp}.shape({found})[1:]"
        case ast.Name(id=found) if found in in_body(loop.node).binds:
            yield from _shapes(loop, _made_of(loop, found), name)
        case ast.Name(id=found):
            yield f"{jnp}.shape({found})"
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            yield from _shapes(loop, left, name)
            yield from _shapes(loop, right, name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _shapes(loop, operand, name)
        case ast.Call(func=function, args=[_, *_] as arguments, keywords=[]):
            path = loop.context.resolve(function) or ""
            if path.removeprefix("jax.numpy.") not in ELEMENTWISE or path in ELEMENTWISE:
                raise _Unknown
            for argument in arguments:
                yield from _shapes(loop, argument, name)
        case _:
            raise _Unknown


def _made_of(loop: LoopText, name: str) -> ast.expr:
    """The value of a name that an iteration makes once, for itself.

    Raises:
      _Unknown: it does not.
    """
    made = [s for s in loop.node.body if name in binds(s)]
    match made:
        case [ast.Assign(targets=[ast.Name()], value=value)] if name not in loop.state.carried:
            return value
    raise _Unknown


def _iterated(
    loop: LoopText, name: str, target: ast.expr, iterable: ast.expr
) -> ast.Name | ast.Attribute | None:
    """The array of which a target of the loop is a row, where it has a name."""
    match iterable:
        case ast.Name() | ast.Attribute() if isinstance(target, ast.Name) and target.id == name:
            return iterable
        case ast.Subscript(value=whole, slice=ast.Slice()):  # whose rows these are
            return _iterated(loop, name, target, whole)
        case ast.Call(func=function, args=[_, *_] as parts, keywords=[]):
            path = loop.context.resolve(function)
            if path == "reversed":
                return _iterated(loop, name, target, parts[0])
            if not isinstance(target, ast.Tuple) or path not in ("enumerate", "zip"):
                return None
            targets = target.elts[1:] if path == "enumerate" else target.elts
            for item, part in zip(targets, parts, strict=False):
                if name in target_names(item):
                    return _iterated(loop, name, item, part)
    return None
