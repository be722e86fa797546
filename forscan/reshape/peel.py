"""The first iteration taken out of a loop, because it is unlike the others.

It may take another branch, bind a name that the others read, or settle the type of the
state. Behind it the loop runs from the second iteration on.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.arrays import is_array
from forscan.analyse.kinds import NOTHING, UNKNOWN, kind_of
from forscan.analyse.trip_count import Extent, add, extent, leading, literal_int
from forscan.model import Refusal
from forscan.reshape.constancy import Knowledge, Part
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.specialise import Specialised
from forscan.syntax.code import Code, ends_with_statement, expression, indent, one_line
from forscan.syntax.names import binds, in_body, reads
from forscan.syntax.rename import renamed
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk_all

_CURED = {"FSC402", "FSC404", "FSC406", "FSC408", "FSC412"}


@dataclass(frozen=True)
class _Space:
    """The iteration space, first and rest apart.

    Attributes:
      index: the name and the first value of the induction variable.
      first: statements that bind the other targets in the first iteration.
      rest: the header of the loop over the others.
      start, stop: the bounds of the index as normal forms.
      trips: the trip count as a normal form.
      count: Python for the trip count.
    """

    index: tuple[str, str] | None
    first: tuple[str, ...]
    rest: str
    start: Extent | None
    stop: Extent | None
    trips: Extent | None
    count: str | None


def peel_first(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with its first iteration in front, where that may remove the reasons."""
    if not {r.code for r in reasons} <= _CURED or loop.node.orelse or loop.changes_its_range:
        return None
    if any(isinstance(n, ast.Continue) for n in walk_all(loop.node.body)):
        return None  # outside of the loop it means nothing
    space = _Reader(loop).space()
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
    text = f"{before}\n{space.rest}\n{indent(body.text if body.statements else 'pass', loop.context.unit)}"
    text += last
    start = len(before) + 1
    if _needs_guard(loop, space, head):
        unit = loop.context.unit
        head_line = f"if {space.count} > 0:\n"
        shifted = before.count("\n") + 2 - sum(not s.strip() for s in before.split("\n"))
        text = head_line + indent(text, unit)
        start += len(head_line) + len(unit) * shifted
    return replace(loop.replaced(text, start), peeled=True)


def _halves(loop: LoopText, space: _Space, reasons: list[Refusal]) -> tuple[Code, Code] | None:
    """The first iteration and the body of the others, each with what is known there.

    None where that does not help, or where something would be lost.
    """
    trips = space.trips.number if space.trips is not None else None
    if trips is not None and trips < 2:
        return None  # nothing would be left for a loop
    first = Specialised(loop.body, _knowledge(loop, space, Part.FIRST))
    later = _knowledge(loop, space, Part.REST)
    if not all(_surely_binds(first.code.statements, name) for name in later.not_none):
        return None
    rest = Specialised(loop.body, later)
    if all(r.code == "FSC402" for r in reasons) and not rest.decided:
        return None
    head = first.code
    if space.index is not None:
        head = _with_literal(head, *space.index)
    body = _without_flags(loop, rest.code, set(later.constants))
    if not set(loop.body.comments()) <= {*head.comments(), *body.comments()}:
        return None  # in a branch that no iteration takes
    return head, body


def _last_index(loop: LoopText, space: _Space) -> str | None:
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


def _knowledge(loop: LoopText, space: _Space, part: Part) -> Knowledge:
    constants, not_none = _constants(loop, part)
    return Knowledge(
        part,
        loop.context,
        space.index[0] if space.index else None,
        space.start,
        space.stop,
        constants,
        not_none,
    )


def _constants(loop: LoopText, part: Part) -> tuple[dict[str, object], frozenset[str]]:
    """State that Python knows: flags, and None until the first iteration."""
    constants: dict[str, object] = {}
    not_none: set[str] = set()
    for name in loop.state.carried:
        start, updates = loop.carries.start(name), loop.carries.updates(name)
        if not isinstance(start, ast.Constant) or (
            isinstance(start.value, int | float) and (not isinstance(start.value, bool))
        ):
            continue
        if part is Part.FIRST:
            constants[name] = start.value
        elif all(isinstance(u, ast.Constant) for u in updates) and _every_time(loop, name):
            values = {u.value for u in updates if isinstance(u, ast.Constant)}
            if len(values) == 1:
                constants[name] = values.pop()
        elif start.value is None and all(_is_something(loop, u) for u in updates):
            not_none.add(name)
    return constants, frozenset(not_none)


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


def _with_literal(code: Code, name: str, value: str) -> Code:
    """The code for one index; sums with literals are computed."""
    number = literal_int(expression(value))
    edits: list[Edit] = []
    if number is not None:
        for node in walk_all(code.statements):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
                found = extent(node, None)
                if found.base == name:
                    edits.append(code.replace(node, str(found.constant + number)))
        edits = [
            e
            for e in edits
            if not any(o != e and o.start <= e.start and e.end <= o.end for o in edits)
        ]
    return Code(renamed(code.edited(edits).text, {name: value}))


def _needs_guard(loop: LoopText, space: _Space, head: Code) -> bool:
    """Whether there may be no first iteration, and nothing would raise then."""
    trips = space.trips
    if trips is None or space.count is None:
        return False  # taking the first item of nothing raises
    if not trips.base:
        return trips.constant < 1
    for node in walk_all(head.statements):
        if isinstance(node, ast.Subscript) and literal_int(node.slice) is not None:
            rows = leading(node.value, loop.context)
            if rows.base == trips.base and rows.constant <= trips.constant:
                return False  # taking an item of nothing raises
    return True


class _Reader:
    """Takes a header apart; None for what it does not know."""

    def __init__(self, loop: LoopText) -> None:
        self.loop = loop
        self.context = loop.context

    def text(self, node: ast.expr) -> str:
        return one_line(self.context.source, node)

    def space(self) -> _Space | None:
        target, iterable = self.loop.node.target, self.loop.node.iter
        if isinstance(iterable, ast.Call):
            path = self.context.resolve(iterable.func)
            if path == "range":
                return self.range(target, iterable)
            if path == "enumerate":
                return self.enumerate(target, iterable)
            if path == "zip":
                return self.zip(target, iterable)
        sliced = self.sliced(target, iterable)
        if sliced is None:
            return None
        first, rest = sliced
        header = f"for {self.text(target)} in {rest}:"
        return _Space(None, (first,), header, None, None, None, None)

    def range(self, target: ast.expr, call: ast.Call) -> _Space | None:
        if not isinstance(target, ast.Name) or call.keywords or not call.args:
            return None
        if len(call.args) == 3:
            return self.steps(target, call)
        start = call.args[0] if len(call.args) == 2 else ast.Constant(0)
        stop = call.args[-1]
        first = ast.unparse(start)
        if literal_int(start) is None:
            return None
        bounds = extent(start, self.context), extent(stop, self.context)
        header = f"for {target.id} in range({add(first, 1)}, {self.text(stop)}):"
        trips = bounds[1] + -bounds[0].constant
        count = add(self.text(stop), -(literal_int(start) or 0))
        return _Space((target.id, first), (), header, *bounds, trips, count)

    def steps(self, target: ast.Name, call: ast.Call) -> _Space | None:
        """`range(start, stop, step)`; what is known of the first index does not hold for it."""
        first, stop, step = (self.text(a) for a in call.args)
        number = literal_int(call.args[2])
        if not number:
            return None
        rest = f"range({add(first, number)}, {stop}, {step})"
        header = f"for {target.id} in {rest}:"
        index = first if first.isidentifier() or first.isdigit() else f"({first})"
        count = f"len(range({first}, {stop}, {step}))"
        return _Space((target.id, index), (), header, None, None, Extent(count, 0), count)

    def enumerate(self, target: ast.expr, call: ast.Call) -> _Space | None:
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or call.keywords:
            return None
        index, item = target.elts
        first = ast.unparse(call.args[1]) if len(call.args) > 1 else "0"
        number = literal_int(expression(first))
        sliced = self.sliced(item, call.args[0])
        if sliced is None or number is None or not isinstance(index, ast.Name):
            return None
        bind, rest = sliced
        header = f"for {self.text(target)} in enumerate({rest}, {number + 1}):"
        start = Extent("", number)
        stop = leading(call.args[0], self.context) + number
        return _Space((index.id, first), (bind,), header, start, stop, None, None)

    def zip(self, target: ast.expr, call: ast.Call) -> _Space | None:
        if not isinstance(target, ast.Tuple) or call.keywords:
            return None
        if len(target.elts) != len(call.args):
            return None
        found = [self.sliced(t, a) for t, a in zip(target.elts, call.args, strict=True)]
        parts = [f for f in found if f is not None]
        if len(parts) != len(found):
            return None
        rest = ", ".join(r for _, r in parts)
        header = f"for {self.text(target)} in zip({rest}):"
        return _Space(None, tuple(b for b, _ in parts), header, None, None, None, None)

    def sliced(self, target: ast.expr, source: ast.expr) -> tuple[str, str] | None:
        """The statement that takes the first item, and what is left to iterate."""
        name = self.text(target)
        text = self.text(source)
        match source:
            case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
                if any(isinstance(e, ast.Starred) for e in source.elts):
                    return None
                left, right = text[0], text[-1]
                if left not in "([":
                    return None
                rest = [self.text(e) for e in source.elts[1:]]
                comma = "," * (len(rest) == 1 and left == "(")
                return f"{name} = {self.text(first)}", f"{left}{', '.join(rest)}{comma}{right}"
            case ast.Name() | ast.Attribute():
                return f"{name} = {text}[0]", f"{text}[1:]"
            case ast.Subscript(value=base, slice=ast.Slice() as cut):
                return self.cut(name, base, cut)
            case ast.Call() if is_array(source, self.context):
                rows = self.context.fresh.name("rows", f"{name}_rows")
                return f"{rows} = {text}\n{name} = {rows}[0]", f"{rows}[1:]"
        return None

    def cut(self, name: str, base: ast.expr, cut: ast.Slice) -> tuple[str, str] | None:
        """The same for a slice of something."""
        whole = self.text(base)
        first = literal_int(cut.lower) if cut.lower is not None else 0
        step = literal_int(cut.step) if cut.step is not None else 1
        if step == -1 and cut.lower is cut.upper is None:
            return f"{name} = {whole}[-1]", f"{whole}[:-1][::-1]"
        if first is None or first < 0 or step is None or step < 1:
            return None
        stop = self.text(cut.upper) if cut.upper is not None else ""
        rows = leading(base, self.context)
        # Only of nothing does taking an item raise: behind the end it is the last.
        surely = not stop and (first == 0 or (not rows.base and rows.constant > first))
        item = f"{whole}[{first}]" if surely else f"{whole}[{first or ''}:{stop}][0]"
        by = f":{step}" if step > 1 else ""
        return f"{name} = {item}", f"{whole}[{first + step}:{stop}{by}]"
