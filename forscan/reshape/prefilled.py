"""A list of full length whose items the loop sets, one in each iteration: it is appended to."""

from __future__ import annotations

import ast

from forscan.analyse.lists import block_of
from forscan.analyse.trip_count import Extent, extent, literal_int
from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import indent
from forscan.syntax.names import names_in
from forscan.syntax.walk import walk_all


def set_to_append(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """`out = [None] * n` and `out[i] = v` for all i: an empty list and appends."""
    count = _count(loop)
    if count is None or loop.node.orelse:
        return None
    trips, backwards = count
    body, edits, names = loop.body, [], []
    for statement in body.statements:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=index))],
                value=value,
            ) if index == loop.index and _is_ours(loop, name, trips):
                names.append(name)
                edits.append(body.replace(statement, f"{name}.append({body.segment(value)})"))
    if not names:
        return None
    before = "\n".join(f"{name} = []" for name in names)
    text = f"{before}\n{loop.header}\n{indent(body.edited(edits).text, loop.context.unit)}"
    after = "".join(f"\n{name}.reverse()" for name in names) if backwards else ""
    return loop.replaced(text + after, len(before) + 1)


def _count(loop: LoopText) -> tuple[Extent, bool] | None:
    """How many indices the loop visits, all from 0 on, and whether from the last one down."""
    match loop.node.iter:
        case ast.Call(func=function, args=[ast.Call() as inner], keywords=[]):
            found = _range(loop, inner) if loop.context.resolve(function) == "reversed" else None
            return None if found is None or found[1] else (found[0], True)
        case ast.Call() as call:
            return _range(loop, call)
    return None


def _range(loop: LoopText, call: ast.Call) -> tuple[Extent, bool] | None:
    """The same for `range(n)` and `range(n - 1, -1, -1)`."""
    if loop.context.resolve(call.func) != "range" or call.keywords:
        return None
    match call.args:
        case [stop]:
            return extent(stop, loop.context), False
        case [start, stop, step] if literal_int(stop) == literal_int(step) == -1:
            return extent(start, loop.context) + 1, True
    return None


def _is_ours(loop: LoopText, name: str, trips: Extent) -> bool:
    """Whether a name is a list of as many items, made before the loop and used for nothing."""
    block = block_of(loop.node, loop.context)
    mentions = [s for s in block[: block.index(loop.node)] if name in names_in(s)]
    match mentions[-1:]:
        case [ast.Assign(targets=[ast.Name(id=target)], value=value)] if target == name:
            pass
        case _:
            return False
    inside = [n for n in walk_all(loop.node.body) if isinstance(n, ast.Name) and n.id == name]
    return len(inside) == 1 and _length(loop, value) == trips


def _length(loop: LoopText, value: ast.expr) -> Extent | None:
    match value:
        case ast.BinOp(left=ast.List(elts=[item]), op=ast.Mult(), right=count):
            plain = isinstance(item, ast.Constant | ast.Name)
            return extent(count, loop.context) if plain else None
        case ast.List(elts=items) if all(isinstance(i, ast.Constant | ast.Name) for i in items):
            return Extent("", len(items))
    return None
