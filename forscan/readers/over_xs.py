"""Reads calls that go over the leading axis of arrays: what scan and map have in common."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.kinds import NOTHING, Kind, of_items
from forscan.analyse.traced_bounds import numbers_in
from forscan.analyse.trip_count import add, extent, leading
from forscan.find.sites import Site
from forscan.model import Counter, Element, Loop, Reading, Refusal, Refused
from forscan.readers.body import Body, Takes
from forscan.readers.bounds import check_length, known
from forscan.readers.calls import Results
from forscan.readers.elements import Elements, arange, index_is_a_number
from forscan.readers.index import counted
from forscan.readers.lax_loop import LaxLoop
from forscan.readers.parts import Call, names_read
from forscan.syntax.code import Code, expression, one_line


class OverXs:
    """A call that goes over the leading axis of its xs, or a number of times.

    Args:
      site: the call.
      given: its arguments, by the names that scan gives them.
      results: where its results go.
      copied: whether the body of a module function is read as if it stood here.
      takes: what the body is given.
    """

    def __init__(
        self,
        site: Site,
        given: dict[str, ast.expr],
        results: Results,
        copied: bool = False,
        takes: Takes = Takes.BOTH,
    ) -> None:
        self.copied, self.takes, self.results = copied, takes, results
        self.site = site
        self.context = site.context
        self.given = given
        self.xs = self.optional("xs")
        self.length = self.optional("length")
        self.constant = None if self.xs is not None else "None"
        if self.xs is not None and _has_no_leaves(self.xs):
            self.constant, self.xs = self.text(self.xs), None
        self.reverse = self.flag("reverse")
        self.elements = None
        if self.xs is not None:
            self.elements = Elements(site, self.xs, self.length, self.reverse)
        self.display = self.elements.display if self.elements is not None else None

    def optional(self, name: str) -> ast.expr | None:
        value = self.given.get(name)
        return None if isinstance(value, ast.Constant) and value.value is None else value

    def flag(self, name: str) -> bool:
        value = self.given.get(name)
        if value is None:
            return False
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            return value.value
        raise self.refusal(
            "FSC306",
            f"{name} of the scan is not a literal, so the direction is not known",
            "Write True or False.",
            value,
        )

    def refusal(self, code: str, message: str, help: str, node: ast.expr | None = None) -> Refused:
        place = node or self.site.node
        return Refused(Refusal(code, message, help, place.lineno, place.col_offset + 1))

    def text(self, node: ast.expr) -> str:
        return one_line(self.context.source, node)

    def read(self) -> Reading:
        self.check_trips()
        lax = LaxLoop.read(
            self.site,
            Call(
                self.given["f"],
                self.given["init"],
                self.results,
                carry_at=0,
                wishes=("carry", "x"),
                has_outputs=True,
                sources=names_read([self.display, self.length]),
                other=self.slice_kind,
                constant=self.constant,
                copied=self.copied,
                takes=self.takes,
            ),
        )
        if lax.outputs and self.may_be_empty():
            raise self.refusal(
                "FSC206",
                "the loop may have no steps: its outputs are then empty arrays, but a list that "
                "stays empty cannot be stacked",
                "Make sure that there is at least one step, or keep it.",
            )
        counter, elements = self.space(lax)
        counter = counter or self.counted(lax, elements)
        arrays = bool(elements) and all(e.is_array or e.parts for e in elements)
        unroll = self.given.get("unroll")
        loop = Loop(
            Code(""),
            counter=counter,
            elements=tuple(elements),
            length=None if counter or (arrays and self.length is None) else self.trips(elements),
            reverse=self.reverse,
            strict=self.may_differ(counter, elements),
            unroll=self.text(unroll) if unroll is not None else None,
        )
        return lax.reading(loop)

    # The trip count.

    def check_trips(self) -> None:
        if self.xs is None and self.length is None:
            raise self.refusal(
                "FSC306",
                "there are no xs and there is no length: nothing says how many iterations there are",
                "Pass length= to the call.",
            )
        if self.length is not None:
            check_length(self.site, self.length)
        elif isinstance(self.xs, ast.Call):
            if self.context.resolve(self.xs.func) == "jax.numpy.arange":
                for argument in self.xs.args:
                    check_length(self.site, argument)

    def trips(self, elements: list[Element]) -> str:
        if self.length is not None:
            return self.text(self.length)
        assert self.elements is not None
        return self.elements.trip_count(elements)

    def may_differ(self, counter: Counter | None, elements: list[Element]) -> bool:
        """Whether nothing in the source shows that all xs are of one length."""
        sources = [source for e in elements for source in e.parts or (e.source,)]
        lengths = {leading(expression(s), self.context) for s in sources}
        if counter is not None and counter.step == "1":
            start = int(counter.start) if counter.start.isdecimal() else 0
            lengths.add(extent(expression(counter.stop), self.context) + -start)
        return len(lengths) > 1

    def may_be_empty(self) -> bool:
        """A slice with a bound that is no dimension and not known, or a literal 0."""
        if self.length is not None and known(self.length, self.context) == 0:
            return True
        xs = self.display
        parts = xs.elts if isinstance(xs, ast.Tuple) else [xs]
        for part in parts:
            if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice):
                upper = part.slice.upper
                if upper is not None and known(upper, self.context) is None:
                    if not isinstance(upper, ast.UnaryOp) and next(numbers_in(upper), None):
                        return True
        return False

    # The slices.

    def slice_kind(self, body: Body) -> Kind:
        if self.elements is not None:
            return self.elements.kind(body)
        return NOTHING if self.constant == "None" else of_items([])

    def space(self, lax: LaxLoop) -> tuple[Counter | None, list[Element]]:
        """The induction variable or the elements of the loop."""
        used = lax.uses_other()
        if self.elements is None:
            if used and lax.other != self.constant:
                lax.put_first(f"{lax.other} = {self.constant}")
            return None, []
        counter = arange(self.elements.given, self.context)
        if counter is not None and not self.index_is_a_number(lax):
            return replace(counter, name=lax.other if used else "_"), []
        return self.elements.read(lax)

    def counted(self, lax: LaxLoop, elements: list[Element]) -> Counter | None:
        """An index that is carried beside the slices."""
        if self.reverse or (elements and not all(e.is_array or e.parts for e in elements)):
            return None
        if not elements and self.length is None:
            return None
        numbers = None if elements else self.numbers()
        found = counted(lax, numbers)
        if found is None or not lax.reads(found.name):
            return None
        return (
            found if numbers else replace(found, stop=add(self.trips(elements), int(found.start)))
        )

    def numbers(self) -> tuple[str, str, str] | None:
        """Start, end and step of `length=len(range(start, end, step))`."""
        match self.length:
            case ast.Call(
                func=outer,
                args=[ast.Call(func=inner, args=[first, end, ast.Constant(value=int()) as step])],
            ) if (self.context.resolve(outer), self.context.resolve(inner)) == ("len", "range"):
                return self.text(first), self.text(end), self.text(step)
        return None

    def index_is_a_number(self, lax: LaxLoop) -> bool:
        return len(lax.body.own_parameters) != 2 or index_is_a_number(lax, lax.other)


def _has_no_leaves(xs: ast.expr) -> bool:
    """`()`, `[]` or `{}`: slices of it are what it is."""
    match xs:
        case ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
    return False
