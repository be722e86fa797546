"""A fresh buffer that the loop fills row by row becomes an output.

The gradient of `buffer.at[i].set` in a carry costs a pass over the whole buffer per
iteration; that of an output costs one over the row.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.buffers import is_weakly_filled, written
from forscan.analyse.lists import block_of
from forscan.analyse.trip_count import Extent, dimension, extent, leading
from forscan.model import Output
from forscan.passes.draft import Draft
from forscan.syntax.code import expression, one_line
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk

_SHAPED = {"zeros", "ones", "empty", "full"}
_LIKE = {"zeros_like", "ones_like", "empty_like", "full_like"}


@dataclass(frozen=True)
class Fill:
    """`buffer = buffer.at[i].set(value)` over every row of a fresh buffer.

    Attributes:
      flat: whether the buffer surely has one axis only.
    """

    name: str
    flat: bool


def at_set_to_ys(draft: Draft) -> Draft:
    """Takes buffers out of the carry where every row is surely written once."""
    counter = draft.loop.counter
    if draft.target != "scan" or counter is None or not isinstance(draft.site.node, ast.For):
        return draft
    if counter.start != "0" or counter.step != "1":
        return draft
    for carry in draft.loop.carries:
        fill = _fill(draft, carry.target)
        if fill is not None:
            draft = _to_output(draft, fill)
    return draft


def _fill(draft: Draft, name: str) -> Fill | None:
    loop = draft.statement
    mentions = [n for n in walk(loop) if isinstance(n, ast.Name) and n.id == name]
    writes = [s for s in loop.body if _value(s, name, draft) is not None]
    if len(writes) != 1 or len(mentions) != 2:
        return None
    made = _definition(draft, name)
    if made is None:
        return None
    size, flat = made
    assert draft.loop.counter is not None
    stop = extent(expression(draft.loop.counter.stop), draft.context)
    return Fill(name, flat) if stop == size else None


def _value(statement: ast.stmt, name: str, draft: Draft) -> ast.expr | None:
    """The value of `name = name.at[i].set(value)` with the plain index."""
    counter = draft.loop.counter
    found = written(statement, name)
    if found is None or counter is None:
        return None
    place, value = found
    items = place.elts if isinstance(place, ast.Tuple) else [place]
    plain = bool(items) and isinstance(items[0], ast.Name) and items[0].id == counter.name
    return value if plain and all(_is_whole(i) for i in items[1:]) else None


def _is_whole(item: ast.expr) -> bool:
    if isinstance(item, ast.Constant):
        return item.value is ...
    return isinstance(item, ast.Slice) and not (item.lower or item.upper or item.step)


def _definition(draft: Draft, name: str) -> tuple[Extent, bool] | None:
    """Rows of a buffer made right before the loop and not read since, and if it is flat."""
    block = block_of(draft.statement, draft.context)
    for statement in reversed(block[: block.index(draft.statement)]):
        mentioned = any(isinstance(n, ast.Name) and n.id == name for n in walk(statement))
        if not mentioned:
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        target, call = statement.targets[0], statement.value
        if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not call.args:
            return None
        if is_weakly_filled(call, draft.context):
            return None
        tail = (draft.context.resolve(call.func) or "").removeprefix("jax.numpy.")
        if tail in _LIKE:
            return leading(call.args[0], draft.context), False
        if tail in _SHAPED:
            shape = call.args[0]
            one = isinstance(shape, ast.Tuple) and len(shape.elts) == 1
            number = not isinstance(shape, ast.Tuple | ast.List | ast.Attribute | ast.BinOp)
            counted = number and extent(shape, draft.context).base.endswith("]")
            flat = one or isinstance(shape, ast.Constant) or counted
            return dimension(shape, draft.context), flat
        return None
    return None


def _to_output(draft: Draft, fill: Fill) -> Draft:
    body = draft.loop.body
    jnp = draft.spelling.jnp
    buffer = fill.name
    name = draft.fresh.name(f"{buffer}_row", f"{buffer}_item")
    edits: list[Edit] = []
    for statement in body.statements:
        value = _value(statement, buffer, draft)
        if value is not None:
            text = one_line(body, value)
            # A write into a buffer casts and broadcasts to its row: so must the row.
            if fill.flat:
                new = f"{jnp}.asarray({text}, {buffer}.dtype)"
            else:
                new = f"{jnp}.broadcast_to({text}, {buffer}.shape[1:]).astype({buffer}.dtype)"
            edits.append(body.replace(statement, f"{name} = {new}"))
    assert len(edits) == 1, "the write was found in the file"
    carries = tuple(c for c in draft.loop.carries if c.target != buffer)
    output = Output(name, buffer)
    draft = replace(draft, invented=draft.invented | {name})
    loop = replace(
        draft.loop,
        body=body.edited(edits),
        carries=carries,
        outputs=(*draft.loop.outputs, output),
    )
    return replace(draft, loop=loop)
