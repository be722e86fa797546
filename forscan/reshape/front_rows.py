"""A buffer that is made before a loop for nothing but its first rows.

    wealth = jnp.empty(n)
    wealth = wealth.at[0].set(start)

The loop writes all the other rows, so the rows in front are all that the buffer is made
for: they get names of their own, and no buffer is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from forscan.analyse.buffers import written
from forscan.analyse.lists import block_of
from forscan.analyse.trip_count import literal_int
from forscan.reshape.rows import row_of
from forscan.reshape.site import LoopText
from forscan.syntax.code import one_line, removal
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk, walk_all


@dataclass(frozen=True)
class FrontRows:
    """The rows in front of those that a loop writes, without the buffer around them.

    Attributes:
      edits: changes of the file before the loop, and behind it where no row in front is read.
      unread: whether that is so.
    """

    edits: tuple[Edit, ...]
    unread: bool


def front_rows(loop: LoopText, name: str, rows: Sequence[str]) -> FrontRows | None:
    """The rows that a buffer is made for, None where it is used for anything else.

    Args:
      loop: the loop that writes all rows behind them.
      name: the buffer.
      rows: the names for its first rows, in order.
    """
    if name in loop.context.captured or name in loop.context.parameters:
        return None
    found = _statements(loop, name)
    if found is None:
        return None
    made, writes = found
    inside = {n for s in (made, *writes.values(), loop.node) for n in walk(s)}
    body = loop.context.node.body
    names = (n for n in walk_all(body) if isinstance(n, ast.Name) and n.id == name)
    others = [n for n in names if n not in inside]
    if any(n.lineno < loop.node.lineno or isinstance(n.ctx, ast.Store) for n in others):
        return None
    starts = _starts(loop, name, made, writes, rows)
    if starts is None:
        return None
    behind = [_behind(loop, n, len(rows)) for n in others]
    edits = [e for e in behind if e is not None]
    unread = len(edits) == len(others) > 0
    return FrontRows((*starts, *(edits if unread else ())), unread)


def _statements(loop: LoopText, name: str) -> tuple[ast.Assign, dict[int, ast.Assign]] | None:
    """What makes the buffer and what writes its rows, with nothing else about it between."""
    block = block_of(loop.node, loop.context)
    writes: dict[int, ast.Assign] = {}
    for statement in reversed(block[: block.index(loop.node)]):
        mentions = [n for n in walk(statement) if isinstance(n, ast.Name) and n.id == name]
        if not mentions:
            continue
        if not isinstance(statement, ast.Assign):
            return None
        found = written(statement, name)
        if found is None:
            return (statement, writes) if len(mentions) == 1 else None
        place = literal_int(found[0])
        if place is None or place in writes or len(mentions) != 2:
            return None
        writes[place] = statement
    return None


def _starts(
    loop: LoopText,
    name: str,
    made: ast.Assign,
    writes: dict[int, ast.Assign],
    rows: Sequence[str],
) -> list[Edit] | None:
    """The statements before the loop, of the rows alone."""
    row = row_of(loop, made.value)
    if row is None or not set(writes) <= set(range(len(rows))):
        return None
    source = loop.context.source
    start = source.start(made)
    newline = source.newline_near(start) + source.indentation(start)
    constant = [f"{n} = {row.text}" for place, n in enumerate(rows) if place not in writes]
    edits = [removal(source, made)]
    if constant:
        edits = [Edit(start, source.end(made), newline.join(constant))]
    jnp = loop.context.module.spelling(loop.node).jnp
    for place, statement in writes.items():
        _, value = written(statement, name) or (None, statement.value)
        new = row.holding(one_line(source, value), jnp)
        edits.append(Edit(source.start(statement), source.end(statement), f"{rows[place]} = {new}"))
    return edits


def _behind(loop: LoopText, node: ast.Name, low: int) -> Edit | None:
    """`h[1:]` behind the loop, where the rows in front are not read, becomes all of `h`."""
    source, parent = loop.context.source, loop.context.parent(node)
    if not isinstance(parent, ast.Subscript) or not isinstance(parent.ctx, ast.Load):
        return None
    index, *others = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
    if not isinstance(index, ast.Slice) or index.upper or index.step or index.lower is None:
        return None
    if literal_int(index.lower) != low:
        return None
    if others:
        return Edit(source.start(index), source.end(index), ":")
    return Edit(source.end(node), source.end(parent), "")
