"""What a loop runs over, its first iteration and the others apart."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.arrays import is_array
from forscan.analyse.trip_count import Extent, add, extent, leading, literal_int
from forscan.reshape.site import LoopText
from forscan.syntax.code import expression, one_line


@dataclass(frozen=True)
class Apart:
    """An iterable, its first item and the others apart.

    Attributes:
      rest: Python for the others.
      first: statements that bind the targets to the first item, the index left out.
      index: the name and the first value of the induction variable.
      lowest: the index in the first iteration, as a normal form.
      others: the least and the greatest index of the others.
      trips: the trip count as a normal form; None where taking the first item of nothing
        raises.
      count: Python for it.
    """

    rest: str
    first: tuple[str, ...] = ()
    index: tuple[str, str] | None = None
    lowest: Extent | None = None
    others: tuple[Extent | None, Extent | None] = (None, None)
    trips: Extent | None = None
    count: str = ""

    def without_index(self) -> Apart:
        """The same, with a statement that binds the index."""
        if self.index is None:
            return self
        name, value = self.index
        bound = (f"{name} = {value}", *self.first)
        return replace(self, first=bound, index=None, lowest=None, others=(None, None))


def first_and_rest(loop: LoopText) -> Apart | None:
    """A loop's header taken apart; None for what is not known."""
    return _Reader(loop).part(loop.node.target, loop.node.iter)


class _Reader:
    def __init__(self, loop: LoopText) -> None:
        self.context = loop.context

    def text(self, node: ast.expr) -> str:
        return one_line(self.context.source, node)

    def part(self, target: ast.expr, iterable: ast.expr) -> Apart | None:
        if isinstance(iterable, ast.Call):
            known = {
                "range": self.range,
                "enumerate": self.enumerate,
                "zip": self.zip,
                "reversed": self.reversed,
            }.get(self.context.resolve(iterable.func) or "")
            if known is not None:
                plain = not any(isinstance(a, ast.Starred) for a in iterable.args)
                if iterable.keywords or not iterable.args or not plain:
                    return None
                return known(target, iterable)
        found = self.sliced(target, iterable)
        return Apart(found[1], (found[0],)) if found is not None else None

    def range(self, target: ast.expr, call: ast.Call) -> Apart | None:
        if not isinstance(target, ast.Name):
            return None
        start, stop, step = _bounds(call)
        low, high = extent(start, self.context), extent(stop, self.context)
        number = literal_int(step)
        if not number:
            return None
        first, end = self.text_of(start), self.text(stop)
        others = (low + number, high + -1) if number > 0 else (high + 1, low + number)
        if literal_int(start) is None or number != 1:
            by = f", {self.text(step)}" if len(call.args) == 3 else ""
            count = f"len(range({first}, {end}{by}))"
            trips = Extent(count, 0)
        else:
            by, trips, count = "", high + -low.constant, add(end, -low.constant)
        rest = f"range({add(first, number)}, {end}{by})"
        value = first if first.isidentifier() or first.isdigit() else f"({first})"
        return Apart(rest, (), (target.id, value), low, others, trips, count)

    def text_of(self, start: ast.expr) -> str:
        return "0" if literal_int(start) == 0 else self.text(start)

    def enumerate(self, target: ast.expr, call: ast.Call) -> Apart | None:
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return None
        index, item = target.elts
        first = ast.unparse(call.args[1]) if len(call.args) > 1 else "0"
        number = literal_int(expression(first))
        inner = self.part(item, call.args[0])
        if inner is None or number is None or not isinstance(index, ast.Name):
            return None
        inner = inner.without_index()
        return replace(
            inner,
            rest=f"enumerate({inner.rest}, {number + 1})",
            index=(index.id, first),
            lowest=Extent("", number),
            others=(Extent("", number + 1), leading(call.args[0], self.context) + (number - 1)),
        )

    def zip(self, target: ast.expr, call: ast.Call) -> Apart | None:
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(call.args):
            return None
        found = [self.part(t, a) for t, a in zip(target.elts, call.args, strict=True)]
        parts = [f for f in found if f is not None]
        # Where a number or an item says that there is an iteration, the other parts raise.
        counted = [p for p in parts if p.count and not _at_least_one(p.trips)]
        if len(parts) != len(found) or len(counted) > 1:
            return None
        rest = f"zip({', '.join(p.rest for p in parts)})"
        first = tuple(line for p in parts for line in p.without_index().first)
        if not counted:
            return Apart(rest, first)
        count = counted[0].count
        return Apart(rest, first, trips=Extent(count, 0), count=count)

    def reversed(self, target: ast.expr, call: ast.Call) -> Apart | None:
        (inner,) = call.args
        if isinstance(inner, ast.Call):
            path = self.context.resolve(inner.func)
            if path != "range" or len(inner.args) > 2 or not isinstance(target, ast.Name):
                return None
            start, stop, _ = _bounds(inner)
            low, high = extent(start, self.context), extent(stop, self.context)
            end = add(self.text(stop), -1)
            bounds = f"{self.text(start)}, {end}" if len(inner.args) == 2 else end
            rest, count = f"reversed(range({bounds}))", f"len({self.text(inner)})"
            value = end if end.isidentifier() or end.isdigit() else f"({end})"
            trips = high + -low.constant if not low.base else Extent(count, 0)
            others = low, high + -2
            return Apart(rest, (), (target.id, value), high + -1, others, trips, count)
        if not isinstance(inner, ast.Name | ast.Attribute | ast.Subscript):
            return None
        text = self.text(inner)
        return Apart(f"reversed({text}[:-1])", (f"{self.text(target)} = {text}[-1]",))

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
            case ast.Subscript(value=base, slice=ast.Slice() as cut):
                return self.cut(name, base, cut)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return f"{name} = {text}[0]", f"{text}[1:]"
            case ast.Call() if is_array(source, self.context):
                rows = self.context.fresh.name("rows", f"{name}_rows")
                return f"{rows} = {text}\n{name} = {rows}[0]", f"{rows}[1:]"
        return None

    def cut(self, name: str, base: ast.expr, cut: ast.Slice) -> tuple[str, str]:
        """The same for a slice of something."""
        whole = self.text(base)
        first = literal_int(cut.lower) if cut.lower is not None else 0
        step = literal_int(cut.step) if cut.step is not None else 1
        if step == -1 and cut.lower is cut.upper is None:
            return f"{name} = {whole}[-1]", f"{whole}[:-1][::-1]"
        if first is None or first < 0 or step is None or step < 1:
            text = f"{whole}[{self.text(cut)}]"
            return f"{name} = {text}[0]", f"{text}[1:]"
        stop = self.text(cut.upper) if cut.upper is not None else ""
        rows = leading(base, self.context)
        # Only of nothing does taking an item raise: behind the end it is the last.
        surely = not stop and (first == 0 or (not rows.base and rows.constant > first))
        item = f"{whole}[{first}]" if surely else f"{whole}[{first or ''}:{stop}][0]"
        by = f":{step}" if step > 1 else ""
        return f"{name} = {item}", f"{whole}[{first + step}:{stop}{by}]"


def _bounds(call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Start, stop and step of a call of `range`."""
    if len(call.args) == 1:
        return ast.Constant(0), call.args[0], ast.Constant(1)
    start, stop, *step = call.args
    return start, stop, step[0] if step else ast.Constant(1)


def _at_least_one(trips: Extent | None) -> bool:
    number = trips.number if trips is not None else None
    return number is not None and number > 0
