"""Lists that a loop fills and reads: what the next iteration needs gets a name.

`hs.append(f(hs[-1], x))` becomes `h = f(h, x)` with `hs.append(h)` behind it; so the last
items are state, and the list is only filled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from forscan.analyse.lists import FilledList, appended, appends_to, find_lists, given_value
from forscan.analyse.trip_count import extent, literal_int
from forscan.model import Refusal
from forscan.reshape.shift import edited_part, shifted
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import Code, indent, one_line
from forscan.syntax.fresh import singular
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk_all

_MOST = 3  # items that are looked back at


def list_reads_to_state(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with names for the last items of its lists, None where that is not enough."""
    if {r.code for r in reasons} != {"FSC407"} or loop.node.orelse:
        return None
    lists, _ = find_lists(loop.node, loop.context)
    body, before = loop.body, []
    for filled in lists:
        depth = _depth(loop, filled, body)
        if depth is None:
            return None
        if depth:
            names = _names(loop, filled.name, depth)
            before += [f"{n} = {filled.name}[-{k}]" for k, n in enumerate(names, 1)]
            body = _named(loop, filled, body, names)
    if not before:
        return None
    head = "\n".join(before)
    return loop.replaced(
        f"{head}\n{loop.header}\n{indent(body.text, loop.context.unit)}", len(head) + 1
    )


def _reads(body: Code, name: str) -> list[ast.Subscript]:
    """The subscripts of a list in the body; empty if it is used in another way as well."""
    found = [
        n
        for n in walk_all(body.statements)
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id == name
    ]
    appends = [s for s in body.statements if appends_to(s, name)]
    others = _mentions(body.statements, name) - sum(_own_mentions(s, name) for s in appends)
    return found if others == len(found) else []


def _mentions(nodes: Iterable[ast.AST], name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for n in walk_all(nodes))


def _own_mentions(append: ast.stmt, name: str) -> int:
    """How often a statement that appends names the list, besides in the item: `hs = hs + [h]`."""
    step = appended(append)
    assert step is not None
    return _mentions([append], name) - _mentions([step[1]], name)


def _depth(loop: LoopText, filled: FilledList, body: Code) -> int | None:
    """How many of the last items are read; None where more than that is needed."""
    appends = [s for s in body.statements if appends_to(s, filled.name)]
    own = sum(_own_mentions(s, filled.name) for s in appends)
    if _mentions(body.statements, filled.name) == own:
        return 0
    reads = _reads(body, filled.name)
    if not reads or len(appends) != 1 or len(filled.definition.targets) != 1:
        return None
    if any(_is_held(body, read) for read in reads):
        return None  # an item inside of the next: each holds more than the one before
    seeds = given_value(filled.definition, filled.name)
    count = len(seeds.elts) if isinstance(seeds, ast.List) else 0
    back = [_back(loop, r, count) for r in reads]
    known = [b for b in back if b is not None]
    if len(known) != len(back):
        return None
    depth = max(known)
    # Behind the append, an index counts from another end.
    end = body.end(appends[0])
    by_index = [r for r in reads if literal_int(r.slice) is None]
    if any(body.start(r) > end for r in by_index):
        return None
    return depth if depth <= min(count, _MOST) else None


def _is_held(body: Code, read: ast.expr) -> bool:
    """Whether a read is put into a tuple, list or dict that stays one: `t, h = i, hs[-1]` does not."""
    around = _around(body, read)
    if not isinstance(around, ast.Tuple):
        return isinstance(around, ast.List | ast.Dict)
    match _around(body, around):
        case ast.Assign(targets=[ast.Tuple(elts=names)]):
            return len(names) != len(around.elts)
    return True


def _around(body: Code, node: ast.expr) -> ast.AST | None:
    """What an expression is a part of."""
    return next((n for n in walk_all(body.statements) if node in ast.iter_child_nodes(n)), None)


def _back(loop: LoopText, read: ast.Subscript, count: int) -> int | None:
    """Which item from the end a read takes, 1 for the last."""
    number = literal_int(read.slice)
    if number is not None:
        return -number if number < 0 else None
    call = loop.node.iter
    if loop.index is None or not isinstance(call, ast.Call):
        return None
    if loop.context.resolve(call.func) != "range" or len(call.args) > 2:
        return None
    start = literal_int(call.args[0]) if len(call.args) == 2 else 0
    position = extent(read.slice, None)
    if start is None or position.base != loop.index:
        return None
    back = count - start - position.constant
    return back if back >= 1 else None


def _names(loop: LoopText, name: str, depth: int) -> list[str]:
    single = name[:-1] if len(name) == 2 and name.endswith("s") else singular(name)
    single = single or f"{name}_last"
    fresh = loop.context.fresh
    names = [fresh.name(single, f"{single}_last")]
    return names + [fresh.name(f"{single}_back_{k}") for k in range(2, depth + 1)]


def _named(loop: LoopText, filled: FilledList, body: Code, names: list[str]) -> Code:
    seeds = given_value(filled.definition, filled.name)
    count = len(seeds.elts) if isinstance(seeds, ast.List) else 0
    edits: list[Edit] = []
    for read in _reads(body, filled.name):
        back = _back(loop, read, count)
        assert back is not None
        edits.append(body.replace(read, names[back - 1]))
    statement = next(s for s in body.statements if appends_to(s, filled.name))
    found = appended(statement)
    assert found is not None
    edited, edits = edited_part(body, found[1], edits)
    if edited is None:
        new = one_line(body, found[1])
    else:
        new = f"({edited})" if "\n" in edited and not edited.startswith("(") else edited
    lines = f"{shifted(names, new)}\n{filled.name}.append({names[0]})"
    edits.append(Edit(body.start(statement), body.end(statement), lines))
    return body.edited(edits)
