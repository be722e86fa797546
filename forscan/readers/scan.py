"""Reads a call of `lax.scan` into the neutral loop."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.items import used_as_arrays_named
from forscan.analyse.kinds import ARRAY, NOTHING, UNKNOWN, kind_of
from forscan.analyse.kinds import Kind as ValueKind
from forscan.analyse.uses import Kind, Uses
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Counter, Element, Loop, Reading, Refusal, Refused
from forscan.readers.bounds import check_length, known
from forscan.readers.calls import arguments, check_place, pair_results
from forscan.readers.lax_loop import Call, LaxLoop, head_unpacking, names_read, reads_in
from forscan.syntax.code import Code, expression, one_line, removal
from forscan.syntax.names import reads, walk_all

_PARAMETERS = ("f", "init", "xs", "length", "reverse", "unroll", "_split_transpose")


def read(site: Site, copied: bool = False) -> Reading:
    """The loop of a scan.

    Args:
      site: the call.
      copied: whether the body of a module function is read as if it stood here.

    Raises:
      Refused: a place, a call form or a trip count that cannot be read.
    """
    given = arguments(site, _PARAMETERS, 2)
    check_place(site)
    return _Scan(site, given, copied).read()


class _Scan:
    def __init__(self, site: Site, given: dict[str, ast.expr], copied: bool) -> None:
        self.copied = copied
        self.site = site
        self.context = site.context
        self.given = given
        self.xs = self.optional("xs")
        self.length = self.optional("length")
        self.reverse = self.flag("reverse")
        self.results = pair_results(site)

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
                sources=names_read([self.xs, self.length]),
                other=self.slice_kind(),
                copied=self.copied,
            ),
        )
        if lax.outputs and self.may_be_empty():
            raise self.refusal(
                "FSC206",
                "the scan may have no steps: its outputs are then empty arrays, but a list that "
                "stays empty cannot be stacked",
                "Make sure that there is at least one step, or keep the scan.",
            )
        counter, elements = self.space(lax)
        arrays = bool(elements) and all(e.is_array for e in elements)
        unroll = self.given.get("unroll")
        loop = Loop(
            Code(""),
            counter=counter,
            elements=tuple(elements),
            length=self.trip_count() if not counter and (self.length or not arrays) else None,
            reverse=self.reverse,
            unroll=self.text(unroll) if unroll is not None else None,
        )
        return lax.reading(loop)

    # The trip count.

    def check_trips(self) -> None:
        if self.length is not None:
            check_length(self.site, self.length)
        elif isinstance(self.xs, ast.Call):
            if self.context.resolve(self.xs.func) == "jax.numpy.arange":
                for argument in self.xs.args:
                    check_length(self.site, argument)

    def may_be_empty(self) -> bool:
        """A slice with a bound that is not known, or a literal 0."""
        if self.length is not None and known(self.length, self.context) == 0:
            return True
        parts = self.xs.elts if isinstance(self.xs, ast.Tuple) else [self.xs]
        for part in parts:
            if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice):
                upper = part.slice.upper
                if upper is not None and known(upper, self.context) is None:
                    if not isinstance(upper, ast.UnaryOp):
                        return True
        return False

    def trip_count(self) -> str:
        if self.length is not None:
            return self.text(self.length)
        assert self.xs is not None
        jax = self.context.module.spelling(self.site.node).jax
        return f"{jax}.tree.leaves({self.text(self.xs)})[0].shape[0]"

    # The slices.

    def slice_kind(self) -> ValueKind:
        if self.xs is None:
            return NOTHING
        return kind_of(self.xs, self.context)

    def space(self, lax: LaxLoop) -> tuple[Counter | None, list[Element]]:
        """The induction variable or the elements of the loop."""
        used = lax.uses_other()
        counter = self.counter(lax)
        if counter is not None:
            return replace(counter, name=lax.other if used else "_"), []
        if self.xs is None:
            if used and lax.other != "None":
                lax.code = Code(f"{lax.other} = None\n{lax.code.text}")
            return None, []
        return None, self.elements(lax)

    def counter(self, lax: LaxLoop) -> Counter | None:
        """`xs = jnp.arange(…)`: the slices are the index."""
        call = self.xs
        if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 3:
            return None
        if self.context.resolve(call.func) != "jax.numpy.arange":
            return None
        if any(
            isinstance(n, ast.Constant) and isinstance(n.value, float) for n in walk_all(call.args)
        ):
            return None
        if self.index_is_a_number(lax):
            return None
        texts = [self.text(a) for a in call.args]
        start = texts[0] if len(texts) > 1 else "0"
        stop = texts[1] if len(texts) > 1 else texts[0]
        step = texts[2] if len(texts) > 2 else "1"
        return Counter("", stop, start, step, strong=True)

    def index_is_a_number(self, lax: LaxLoop) -> bool:
        """Whether the body uses the strongly typed index for more than indexing."""
        function = lax.body.function
        if function is None:
            return True
        names = lax.body.own_parameters
        if len(names) != 2:
            return True
        name = names[1]
        place = lax.body.context
        if isinstance(function, ast.FunctionDef):
            place = FunctionContext(self.context.module, function)
        uses = Uses(place, lax.body.nodes).of(name, integer=True)
        deleted = any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Del)
            for n in walk_all(lax.body.nodes)
        )
        return any(u.kind > Kind.PURE for u in uses) and not deleted

    def elements(self, lax: LaxLoop) -> list[Element]:
        """One element, or one for each item of `xs = (a, b)` that the body takes apart."""
        assert self.xs is not None
        name = lax.other
        if isinstance(self.xs, ast.Tuple):
            found = head_unpacking(lax.code, name, len(self.xs.elts))
            texts = [o.value for o in lax.outputs] + [c.update for c in lax.carries]
            if found is not None and reads_in(lax.code, name) == [found[0]]:
                if not any(name in reads(expression(t)) for t in texts):
                    lax.code = lax.code.edited([removal(lax.code, found[0])])
                    pairs = zip(found[1], self.xs.elts, strict=True)
                    return [self.element(lax, item, source) for item, source in pairs]
        return [self.element(lax, name, self.xs)]

    def element(self, lax: LaxLoop, name: str, source: ast.expr) -> Element:
        kind = kind_of(source, self.context)
        is_array = kind.is_array or (kind == UNKNOWN and self.used_as_array(lax, name))
        text = self.text(source)
        if not is_array and not isinstance(source, ast.Name | ast.Attribute | ast.Subscript):
            # It is read in each iteration, so it is made once.
            bound = self.context.fresh.name("xs", "items")
            lax.before.append(f"{bound} = {text}")
            text = bound
        return Element(name, text, is_array)

    def used_as_array(self, lax: LaxLoop, name: str) -> bool:
        """Whether the body uses a slice as only arrays can be used."""
        function = lax.body.function
        if lax.body.definition is None and isinstance(function, ast.FunctionDef):
            inside = FunctionContext(self.context.module, function)
            names = lax.body.own_parameters
            if len(names) != 2:
                return False
            return kind_of(ast.Name(names[1], ast.Load()), inside) == ARRAY
        texts = [o.value for o in lax.outputs] + [c.update for c in lax.carries]
        tail = "".join(f"\n({t})" for t in texts)
        return used_as_arrays_named(name, f"{lax.code.text}{tail}", self.context)
