"""The first iteration taken out of a loop, because it is unlike the others.

It may take another branch, bind a name that the others read, or settle the type of the
state. Behind it the loop runs from the second iteration on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from forscan.analyse.kinds import NOTHING, UNKNOWN, kind_of
from forscan.analyse.trip_count import add, extent, leading, literal_int
from forscan.model import Refusal
from forscan.reshape.constancy import Knowledge
from forscan.reshape.first_and_rest import Apart, first_and_rest
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.specialise import Specialised
from forscan.syntax.code import Code, ends_with_statement, expression, indent, one_line
from forscan.syntax.names import binds, in_body, reads
from forscan.syntax.rename import renamed
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk_all

_CURED = {"FSC402", "FSC404", "FSC406", "FSC408", "FSC412"}


def peel_first(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with its first iteration in front, where that may remove the reasons."""
    if not {r.code for r in reasons} <= _CURED or loop.node.orelse or loop.changes_its_range:
        return None
    if any(isinstance(n, ast.Continue) for n in walk_all(loop.node.body)):
        return None  # outside of the loop it means nothing
    space = first_and_rest(loop)
    if space is None or (space.index and space.index[0] in in_body(loop.node).binds):
        return None
    halves = _halves(loop, space, reasons)
    last = _last_index(loop, space)
    if halves is None or last is None:
        return None
    head, body = halves
    lines = [*space.first, head.text]
    before = "\n".join(line for line in lines if line)
    source = loop.context.source
    above = source.text[: source.start(loop.node)]
    if before.startswith("def ") and ends_with_statement(above[: above.rfind("\n") + 1]):
        before = f"\n{before}"
    header = f"for {one_line(source, loop.node.target)} in {space.rest}:"
    rest = indent(body.text.rstrip() if body.statements else "pass", loop.context.unit)
    text = f"{before}\n{header}\n{rest}{last}"
    start = len(before) + 1
    if _needs_guard(loop, space, head):
        unit = loop.context.unit
        head_line = f"if {space.count} > 0:\n"
        shifted = before.count("\n") + 2 - sum(not s.strip() for s in before.split("\n"))
        text = head_line + indent(text, unit)
        start += len(head_line) + len(unit) * shifted
    return replace(loop.replaced(text, start), peeled=True)


def _halves(loop: LoopText, space: Apart, reasons: list[Refusal]) -> tuple[Code, Code] | None:
    """The first iteration and the body of the others, each with what is known there.

    None where that does not help, or where something would be lost.
    """
    trips = space.trips.number if space.trips is not None else None
    if trips is not None and trips < 2:
        return None  # nothing would be left for a loop
    first = Specialised(loop.body, _in_first(loop, space))
    later = _in_others(loop, space)
    if not all(_surely_binds(first.code.statements, name) for name in later.not_none):
        return None
    rest = Specialised(loop.body, later)
    if all(r.code == "FSC402" for r in reasons) and not rest.decided:
        return None
    head = first.code
    if space.index is not None:
        head = _with_value(head, *space.index)
    body = _without_flags(loop, rest.code, set(later.constants))
    if not set(loop.body.comments()) <= {*head.comments(), *body.comments()}:
        return None  # in a branch that no iteration takes
    return head, body


def _last_index(loop: LoopText, space: Apart) -> str | None:
    """Binds the index behind the loop, where the rest may make no iteration that does.

    None where nothing says what it is then.
    """
    known = space.trips is not None and space.trips.number is not None
    if space.index is None or known or space.index[0] not in loop.state.live_after:
        return ""
    indices = loop.node.iter
    if isinstance(indices, ast.Call) and loop.context.resolve(indices.func) == "range":
        return f"\n{space.index[0]} = {one_line(loop.context.source, indices)}[-1]"
    return None


def _in_first(loop: LoopText, space: Apart) -> Knowledge:
    """What is known in the first iteration: the values that state starts from."""
    starts: dict[str, object] = {n: s.value for n, s in _constant_starts(loop).items()}
    bounds = space.lowest, space.lowest
    return Knowledge(loop.context, _index(space), bounds, starts)


def _in_others(loop: LoopText, space: Apart) -> Knowledge:
    """What is known behind it: flags that every iteration sets, and what is None no longer."""
    flags: dict[str, object] = {}
    not_none: set[str] = set()
    for name, start in _constant_starts(loop).items():
        updates = loop.carries.updates(name)
        if all(isinstance(u, ast.Constant) for u in updates) and _every_time(loop, name):
            values = {u.value for u in updates if isinstance(u, ast.Constant)}
            if len(values) == 1:
                flags[name] = values.pop()
        elif start.value is None and all(_is_something(loop, u) for u in updates):
            not_none.add(name)
    return Knowledge(loop.context, _index(space), space.others, flags, frozenset(not_none))


def _index(space: Apart) -> str | None:
    return space.index[0] if space.index else None


def _constant_starts(loop: LoopText) -> dict[str, ast.Constant]:
    """State that Python knows at first: flags, and None."""
    starts = {name: loop.carries.start(name) for name in loop.state.carried}
    return {
        name: start
        for name, start in starts.items()
        if isinstance(start, ast.Constant)
        and (isinstance(start.value, bool) or not isinstance(start.value, int | float))
    }


def _every_time(loop: LoopText, name: str) -> bool:
    return any(isinstance(s, ast.Assign) and name in binds(s) for s in loop.node.body)


def _is_something(loop: LoopText, value: ast.expr) -> bool:
    """Whether a value is surely not None."""
    if isinstance(value, ast.Name) and value.id in loop.state.targets:
        return True
    if isinstance(value, ast.Tuple | ast.List | ast.Dict | ast.BinOp | ast.Compare):
        return True
    return kind_of(value, loop.context) not in (NOTHING, UNKNOWN)


def _surely_binds(statements: list[ast.stmt], name: str) -> bool:
    """Whether statements give a name a value, whichever branches they take."""
    for statement in statements:
        match statement:
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.With():
                if name in binds(statement):
                    return True
            case ast.If(body=body, orelse=orelse):
                if _surely_binds(body, name) and _surely_binds(orelse, name):
                    return True
    return False


def _without_flags(loop: LoopText, code: Code, flags: set[str]) -> Code:
    """Drops assignments of constants to flags that nobody reads any more."""
    read = set(reads(code.statements)) | loop.state.live_after
    edits = [
        code.remove(s)
        for s in code.statements
        if isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Constant)
        and set(binds(s)) <= flags - read
    ]
    return code.edited(edits)


def _with_value(code: Code, name: str, value: str) -> Code:
    """The code for one index; sums with literals are computed."""
    plain = ast.unparse(expression(value))
    edits: list[Edit] = []
    for node in walk_all(code.statements):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            found = extent(node, None)
            if found.base == name:
                edits.append(code.replace(node, add(plain, found.constant)))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
            if node.slice.id == name:
                edits.append(code.replace(node.slice, plain))
    outer = [
        e for e in edits if not any(o != e and o.start <= e.start and e.end <= o.end for o in edits)
    ]
    return Code(renamed(code.edited(outer).text, {name: value}))


def _needs_guard(loop: LoopText, space: Apart, head: Code) -> bool:
    """Whether there may be no first iteration, and nothing would raise then."""
    trips = space.trips
    if trips is None or space.count is None:
        return False  # taking the first item of nothing raises
    if not trips.base:
        return trips.constant < 1
    index = space.index[1].strip("()") if space.index else None
    for node in _sure_parts(head.statements):
        if isinstance(node, ast.Subscript) and (
            literal_int(node.slice) is not None or ast.unparse(node.slice) == index
        ):
            rows = leading(node.value, loop.context)
            if rows.base == trips.base and rows.constant <= trips.constant:
                return False  # taking an item of nothing raises
    return True


def _sure_parts(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What running some code evaluates for sure, whatever it finds."""
    for node in statements:
        yield node
        match node:
            case ast.If(test=part) | ast.IfExp(test=part) | ast.For(iter=part):
                yield from _sure_parts([part])
            case ast.BoolOp(values=[part, *_]):
                yield from _sure_parts([part])
            case ast.Lambda() | ast.FunctionDef() | ast.ClassDef() | ast.While() | ast.Try():
                pass
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case _:
                yield from _sure_parts(ast.iter_child_nodes(node))
