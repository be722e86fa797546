"""A buffer that the loop fills and looks back into: only the last rows are state.

`h = h.at[t + 1].set(f(h[t]))` carries the whole buffer, and its gradient costs a pass over
the buffer per iteration. The rows that the next iteration reads are carried instead, and
what is written becomes a list, which the buffer gets behind the loop.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

from forscan.analyse.buffers import is_weakly_filled, written
from forscan.analyse.linear import difference, linear
from forscan.analyse.trip_count import add, extent, leading, literal_int
from forscan.reshape.front_rows import FrontRows, front_rows
from forscan.reshape.rows import Row, row_of
from forscan.reshape.shift import edited_part, shifted
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import Code, expression, indent, one_line
from forscan.syntax.fresh import singular
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk_all

_MOST = 3  # rows that are looked back at


@dataclass(frozen=True)
class _Range:
    """The iteration space: `range(start, stop)`, perhaps backwards."""

    start: str
    stop: str
    backwards: bool

    @property
    def first(self) -> str:
        return add(self.stop, -1) if self.backwards else self.start


@dataclass(frozen=True)
class _Buffer:
    """One buffer of the loop.

    Attributes:
      write: the statement `b = b.at[t + offset].set(value)`.
      reads: the rows that are read, and how many iterations ago they were written.
    """

    name: str
    write: ast.Assign
    value: ast.expr
    offset: int
    reads: tuple[tuple[ast.Subscript, int], ...]


def live_rows(loop: LoopText) -> Reshaped | None:
    """The loop with the live rows of its buffers as state, None where there are none."""
    space = _range(loop)
    if space is None or loop.node.orelse:
        return None
    if any(isinstance(n, ast.Continue) for n in walk_all(loop.node.body)):
        return None  # which may pass over a write
    body, before, after = loop.body, [], []
    elsewhere: list[Edit] = []
    for name in loop.state.carried:
        buffer = _buffer(loop, body, name, space)
        if buffer is None:
            continue
        rows = _row_names(loop, buffer)
        front = _front(loop, buffer, space, rows)
        items = name
        if front is not None:
            before.append(f"{name} = [{'' if front.unread else ', '.join(rows[::-1])}]")
            elsewhere += front.edits
            after.append(f"{name} = {_jnp(loop)}.stack({name})")
        else:
            if not _is_whole(loop, buffer, space):
                items = loop.context.fresh.name(f"{name}_rows", "rows")
            before += [*_starts(loop, buffer, space, rows), f"{items} = []"]
            after.append(_filled(loop, buffer, space, items))
        body = _rewritten(loop, body, buffer, rows, items)
    if not before:
        return None
    head = "\n".join(before)
    text = f"{head}\n{loop.header}\n{indent(body.text, loop.context.unit)}\n" + "\n".join(after)
    return loop.replaced(text, len(head) + 1, elsewhere)


def _front(loop: LoopText, buffer: _Buffer, space: _Range, rows: list[str]) -> FrontRows | None:
    """The rows in front of those that are written, where they are all that is read of before."""
    low, _ = _written_rows(buffer, space)
    if space.backwards or low != str(len(rows)) or _room(loop, buffer, space) != 0:
        return None
    return front_rows(loop, buffer.name, rows[::-1])


def _starts(loop: LoopText, buffer: _Buffer, space: _Range, rows: list[str]) -> list[str]:
    """The rows as the first iteration reads them."""
    starts = loop.carries.starts(buffer.name)
    known = len(starts) == 1 and buffer.name not in loop.context.parameters
    row = row_of(loop, starts[0]) if known else None
    places = (
        add(space.first, _sign(space) * -back + buffer.offset) for back in range(1, len(rows) + 1)
    )
    return [
        f"{name} = " + (row.text if row else f"{buffer.name}[{place}]")
        for name, place in zip(rows, places, strict=True)
    ]


def _jnp(loop: LoopText) -> str:
    return loop.context.module.spelling(loop.node.body[0]).jnp


def _sign(space: _Range) -> int:
    return -1 if space.backwards else 1


def _range(loop: LoopText) -> _Range | None:
    call = loop.node.iter
    if loop.index is None or not isinstance(call, ast.Call):
        return None
    backwards = loop.context.resolve(call.func) == "reversed"
    if backwards and isinstance(call.args[0], ast.Call):
        call = call.args[0]
    if loop.context.resolve(call.func) != "range" or call.keywords:
        return None
    texts = [one_line(loop.context.source, a) for a in call.args]
    if len(texts) == 3:
        if texts[2] != "-1" or backwards:
            return None
        return _Range(add(texts[1], 1), add(texts[0], 1), True)
    return _Range(texts[0] if len(texts) == 2 else "0", texts[-1], backwards)


def _buffer(loop: LoopText, body: Code, name: str, space: _Range) -> _Buffer | None:
    """A name that is written at one row per iteration and read at others only."""
    write = next((s for s in body.statements if written(s, name) is not None), None)
    if any(is_weakly_filled(made, loop.context) for made in loop.carries.starts(name)):
        return None
    if write is None or literal_int(expression(space.start)) is None:
        return None
    found = written(write, name)
    assert found is not None and isinstance(write, ast.Assign)
    place, value = found
    offset = _offset(loop, place)
    reads: list[tuple[ast.Subscript, int]] = []
    for node in walk_all(body.statements):
        if isinstance(node, ast.Subscript) and _is_name(node.value, name):
            at = _offset(loop, node.slice)
            if offset is None or at is None:
                return None
            reads.append((node, (offset - at) * _sign(space)))
    mentions = [n for n in walk_all(body.statements) if _is_name(n, name)]
    if offset is None or not reads or len(mentions) != len(reads) + 2:
        return None
    if not all(1 <= back <= _MOST for _, back in reads):
        return None
    return _Buffer(name, write, value, offset, tuple(reads))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _offset(loop: LoopText, place: ast.expr) -> int | None:
    """What is added to the index along the leading axis; other axes are taken whole."""
    if isinstance(place, ast.Tuple):
        whole = (
            isinstance(p, ast.Slice) and not (p.lower or p.upper or p.step) for p in place.elts[1:]
        )
        if not all(whole):
            return None
        place = place.elts[0]
    if isinstance(place, ast.Slice):
        return None
    found = extent(place, None)
    return found.constant if found.base == loop.index else None


def _row_names(loop: LoopText, buffer: _Buffer) -> list[str]:
    depth = max(back for _, back in buffer.reads)
    fresh = loop.context.fresh
    names = [fresh.name(*filter(None, [singular(buffer.name)]), f"{buffer.name}_row")]
    return names + [fresh.name(f"{names[0]}_{back}_back") for back in range(2, depth + 1)]


def _rewritten(loop: LoopText, body: Code, buffer: _Buffer, rows: list[str], items: str) -> Code:
    """The body with names for the rows, and an append in place of the write."""
    edits = [body.replace(node, rows[back - 1]) for node, back in buffer.reads]
    value, edits = edited_part(body, buffer.value, edits)
    value = value or body.segment(buffer.value)
    jnp = _jnp(loop)
    row = row_of(loop, _start(loop, buffer.name))
    scalar = row is not None and row.shape == "()"
    new = Row(rows[0], "()" if scalar else f"{rows[0]}.shape", f"{rows[0]}.dtype").holding(
        value, jnp
    )
    write = Edit(
        body.start(buffer.write),
        body.end(buffer.write),
        f"{shifted(rows, new)}\n{items}.append({rows[0]})",
    )
    return body.edited([*edits, write])


def _filled(loop: LoopText, buffer: _Buffer, space: _Range, items: str) -> str:
    """The buffer behind the loop: the rows written, and what was there before and after."""
    jnp = _jnp(loop)
    name = buffer.name
    stack = f"{jnp}.stack({items}[::-1])" if space.backwards else f"{jnp}.stack({items})"
    low, high = _written_rows(buffer, space)
    if items == name:
        return f"{name} = {stack}"
    if _room(loop, buffer, space) == 0:
        return f"{name} = {jnp}.concatenate([{name}[:{low}], {stack}])"
    colon = ":" if low.isalnum() and high.isalnum() else " : "
    return f"{name} = {name}.at[{low}{colon}{high}].set({stack})"


def _written_rows(buffer: _Buffer, space: _Range) -> tuple[str, str]:
    return add(space.start, buffer.offset), add(space.stop, buffer.offset)


def _room(loop: LoopText, buffer: _Buffer, space: _Range) -> int | None:
    """How many rows the buffer has behind the last that is written, where that is known."""
    size = leading(_start(loop, buffer.name), loop.context)
    stop = expression(_written_rows(buffer, space)[1])
    return difference(Counter({size.base: 1, "": size.constant}), linear(stop, loop.context))


def _is_whole(loop: LoopText, buffer: _Buffer, space: _Range) -> bool:
    """Whether every row is written."""
    low, _ = _written_rows(buffer, space)
    return low == "0" and _room(loop, buffer, space) == 0


def _start(loop: LoopText, name: str) -> ast.expr:
    """The expression that the buffer was made by, through writes before the loop."""
    values = [v for v in loop.carries.starts(name) if not _is_write(v)]
    return values[-1] if values else ast.Name(name, ast.Load())


def _is_write(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and (isinstance(value.func.value, ast.Subscript))
    )
