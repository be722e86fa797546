"""A count that the body keeps by hand is made the index of the loop.

`t = 0` before the loop and `t += 1` in each iteration: carried by a scan `t` would be an int32
array, and `1 - 0.999**t` would be computed in single precision, where Python has double.
As the index it is a Python integer like any other.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.analyse.lists import block_of, given_value
from forscan.analyse.trip_count import add, literal_int
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import Code, indent, one_line, without_names
from forscan.syntax.names import names_in
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk_all

_EXITS = ast.Continue | ast.Break | ast.Return


@dataclass(frozen=True)
class _Count:
    """State that starts as an integer and grows by one.

    Attributes:
      name: of the state.
      made: the statement that gives it its first value.
      start: that value.
      step: the statement of the body that adds one.
      seen: what the first iteration reads: `start`, or one more behind the step.
    """

    name: str
    made: ast.Assign
    start: int
    step: ast.stmt
    seen: int


def count_to_index(loop: LoopText) -> Reshaped | None:
    """The loop with its first such count as index; None where it has none."""
    if loop.node.orelse or loop.changes_its_range or "#" in loop.header:
        return None
    if any(isinstance(n, _EXITS) for n in walk_all(loop.node.body)):
        return None
    counts = (_count(name, loop) for name in loop.state.carried)
    count = next((c for c in counts if c is not None), None)
    return None if count is None else _as_index(count, loop)


def _count(name: str, loop: LoopText) -> _Count | None:
    body = loop.node.body
    steps = [s for s in body if _is_step(s, name)]
    found = _start(name, loop)
    if len(body) == 1 or len(steps) != 1 or found is None or len(loop.carries.updates(name)) != 1:
        return None
    if name in loop.context.captured or name in loop.context.outside:
        return None
    (step,), (made, start) = steps, found
    behind = {
        body.index(s) > body.index(step) for s in body if s is not step and name in names_in(s)
    }
    if len(behind) > 1:
        return None  # read before it grows and after
    return _Count(name, made, start, step, start + (True in behind))


def _is_step(statement: ast.stmt, name: str) -> bool:
    shown = ast.unparse(statement)
    return shown in (f"{name} += 1", f"{name} = {name} + 1", f"{name} = 1 + {name}")


def _start(name: str, loop: LoopText) -> tuple[ast.Assign, int] | None:
    """The assignment of an integer that nobody asks for before the loop."""
    block = block_of(loop.node, loop.context)
    mentions = [s for s in block[: block.index(loop.node)] if name in names_in(s)]
    match mentions[-1:]:
        case [ast.Assign(targets=[_]) as made]:
            value = given_value(made, name)
            number = None if value is None else literal_int(value)
            return None if number is None else (made, number)
    return None


def _as_index(count: _Count, loop: LoopText) -> Reshaped | None:
    body = loop.body
    step = body.statements[loop.node.body.index(count.step)]
    reads = _reads(count.name, body, step)
    counted = _header(count, loop) if reads else (loop.header, count.name)
    if counted is None:
        return None
    header, spelled = counted
    edits = [body.remove(step)]
    if spelled != count.name:
        edits += [_renamed(n, body, spelled) for n in reads]
    rest = body.edited(edits).text.strip("\n")
    text = f"{header}\n{indent(rest, loop.context.unit)}"
    if count.name in loop.state.live_after:
        trips = _trips(loop)
        if trips is None:
            return None
        text += f"\n{count.name} = {add(trips, count.start)}"
    gone = without_names(loop.context.source, count.made, {count.name})
    return loop.replaced(text, 0, [gone])


def _header(count: _Count, loop: LoopText) -> tuple[str, str] | None:
    """A header that counts, and the text of the count in an iteration."""
    source, target, iterable = loop.context.source, loop.node.target, loop.node.iter
    path = loop.context.resolve(iterable.func) if isinstance(iterable, ast.Call) else None
    if path in ("range", "enumerate"):
        assert isinstance(iterable, ast.Call)
        first = _first_index(path, iterable)
        if first is None or loop.index is None:
            return None
        used = any(loop.index in names_in(s) for s in loop.node.body)
        used = used or loop.index in loop.state.live_after
        if path == "range" and not used:
            stop = add(one_line(source, iterable.args[-1]), count.seen - first)
            start = f"{count.seen}, " if count.seen else ""
            return f"for {count.name} in range({start}{stop}):", count.name
        return loop.header, add(loop.index, count.seen - first)
    if path in ("reversed", "zip") and loop.index is not None:
        return None
    item = one_line(source, target)
    item = f"({item})" if isinstance(target, ast.Tuple) and not item.startswith("(") else item
    start = f", {count.seen}" if count.seen else ""
    return (
        f"for {count.name}, {item} in enumerate({one_line(source, iterable)}{start}):",
        count.name,
    )


def _first_index(path: str, call: ast.Call) -> int | None:
    """The index of the first iteration, where it is written out and the others follow it."""
    if call.keywords or len(call.args) > 2:
        return None
    if len(call.args) == 1:
        return 0
    return literal_int(call.args[0] if path == "range" else call.args[1])


def _trips(loop: LoopText) -> str | None:
    """Python for the number of iterations."""
    source, iterable = loop.context.source, loop.node.iter
    if isinstance(iterable, ast.Name | ast.Attribute):
        return f"len({one_line(source, iterable)})"
    if not isinstance(iterable, ast.Call):
        return None
    path = loop.context.resolve(iterable.func)
    if path == "enumerate" and isinstance(iterable.args[0], ast.Name | ast.Attribute):
        return f"len({one_line(source, iterable.args[0])})"
    if path == "range" and len(iterable.args) == 1:
        number = literal_int(iterable.args[0])
        shown = one_line(source, iterable.args[0])
        is_length = shown.endswith(".shape[0]") or shown.startswith("len(")
        return shown if is_length or (number or -1) >= 0 else f"max({shown}, 0)"
    return None


def _reads(name: str, body: Code, step: ast.stmt) -> list[ast.Name]:
    others = (s for s in body.statements if s is not step)
    return [n for n in walk_all(others) if isinstance(n, ast.Name) and n.id == name]


def _renamed(node: ast.Name, body: Code, spelled: str) -> Edit:
    """A read of the count as a read of the index; a sum in parentheses."""
    return body.replace(node, spelled if spelled.isidentifier() else f"({spelled})")
