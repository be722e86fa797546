"""Reads a call of `lax.scan` into the neutral loop."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.arrays import is_array
from forscan.analyse.items import used_as_arrays_named
from forscan.analyse.uses import Kind, Uses
from forscan.find.sites import Site
from forscan.model import Counter, Element, Loop, Reading, Refusal, Refused
from forscan.readers.bounds import check_length, known
from forscan.readers.calls import arguments, check_place, pair_results
from forscan.readers.lax_loop import LaxLoop, reads_in
from forscan.syntax.code import Code, expression
from forscan.syntax.names import parameters, reads

_PARAMETERS = ("f", "init", "xs", "length", "reverse", "unroll", "_split_transpose")


def read(site: Site) -> Reading:
    """The loop of a scan.

    Raises:
      Refused: a place, a call form or a trip count that cannot be read.
    """
    given = arguments(site, _PARAMETERS, 2)
    check_place(site)
    reader = _Scan(site, given)
    return reader.read()


class _Scan:
    def __init__(self, site: Site, given: dict[str, ast.expr]) -> None:
        self.site = site
        self.context = site.context
        self.given = given
        fresh = site.context.module.fresh
        results = pair_results(site, _free(site, "carry"), _free(site, "ys"))
        self.fresh = fresh
        self.lax = LaxLoop(site, given["f"], given["init"], results, has_outputs=True)
        self.xs = given.get("xs")
        if isinstance(self.xs, ast.Constant) and self.xs.value is None:
            self.xs = None
        self.length = given.get("length")
        if isinstance(self.length, ast.Constant) and self.length.value is None:
            self.length = None
        self.reverse = self.flag("reverse")

    def flag(self, name: str) -> bool:
        value = self.given.get(name)
        if value is None:
            return False
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            return value.value
        raise Refused(
            Refusal(
                "FSC306",
                f"{name} of the scan is not a literal, so the direction is not known",
                "Write True or False.",
                value.lineno,
                value.col_offset + 1,
            )
        )

    def read(self) -> Reading:
        self.check()
        counter = self.counter()
        sources = set(reads(self.xs)) if self.xs is not None else set()
        if self.lax.body is not None:
            self.lax.settle_names(sources)
            loop_counter, elements = self.inlined(counter)
        else:
            loop_counter, elements = self.called(counter)
        parts = self.lax.parts
        length = None
        if loop_counter is None and (not elements or not all(e.is_array for e in elements)):
            length = self.trip_count()
        unroll = self.given.get("unroll")
        loop = Loop(
            parts.code,
            tuple(parts.carries),
            tuple(parts.outputs),
            loop_counter,
            tuple(elements),
            length,
            self.reverse,
            self.lax.text(unroll) if unroll is not None else None,
            tuple(parts.before),
            tuple(parts.after),
        )
        if loop_counter is not None and self.reverse:
            loop = replace(loop, counter=loop_counter)
        return self.lax.finish(loop)

    def check(self) -> None:
        if self.length is not None:
            check_length(self.site, self.length)
        elif isinstance(self.xs, ast.Call):
            for argument in self.xs.args:
                if self.context.resolve(self.xs.func) == "jax.numpy.arange":
                    check_length(self.site, argument)
        wants_ys = self.lax.results.ys is not None
        if wants_ys and self.may_be_empty():
            raise Refused(
                Refusal(
                    "FSC206",
                    "the scan may have no steps: its outputs are then empty arrays, but a list that stays empty cannot be stacked",
                    "Make sure that there is at least one step, or keep the scan.",
                    self.site.node.lineno,
                    self.site.node.col_offset + 1,
                )
            )

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
            return self.lax.text(self.length)
        assert self.xs is not None
        return f"{self.lax.jax}.tree.leaves({self.lax.text(self.xs)})[0].shape[0]"

    # The index.

    def counter(self) -> Counter | None:
        """`xs = jnp.arange(…)`: the slices are the index."""
        call = self.xs
        if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 3:
            return None
        if self.context.resolve(call.func) != "jax.numpy.arange":
            return None
        texts = [self.lax.text(a) for a in call.args]
        start = texts[0] if len(texts) > 1 else "0"
        stop = texts[1] if len(texts) > 1 else texts[0]
        step = texts[2] if len(texts) > 2 else "1"
        if any("." in t and t.replace(".", "").isdigit() for t in texts):
            return None  # a range of floats
        if self.index_is_a_number():
            return None
        return Counter("", stop, start, step, strong=True)

    def index_is_a_number(self) -> bool:
        """Whether the body uses the strongly typed index for more than indexing."""
        definition = self.lax.definition()
        if definition is None:
            return True
        names = parameters(definition)
        names = names[1:] if names[:1] == ["self"] else names
        if len(names) < 2:
            return True
        from forscan.find.context import FunctionContext

        body: list[ast.AST] = (
            [definition.body] if isinstance(definition, ast.Lambda) else list(definition.body)
        )
        place = self.context
        if isinstance(definition, ast.FunctionDef):
            place = FunctionContext(self.context.module, definition)
        uses = Uses(place, body).of(names[1], integer=True)
        deleted = {
            n.id
            for s in body
            for n in ast.walk(s)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)
        }
        return any(u.kind > Kind.PURE for u in uses) and names[1] not in deleted

    # The body.

    def inlined(self, counter: Counter | None) -> tuple[Counter | None, list[Element]]:
        lax = self.lax
        assert lax.body is not None
        name = lax.body.parameters[1]
        lax.inline(None)
        used = bool(reads_in(lax.parts.code, name)) or any(
            name in reads(expression(t))
            for t in [o.value for o in lax.parts.outputs] + [c.update for c in lax.parts.carries]
        )
        if counter is not None:
            return replace(counter, name=name if used else "_"), []
        if self.xs is None:
            if used:
                lax.parts.code = Code(f"{name} = None\n{lax.parts.code.text}")
            return None, []
        return None, self.elements(name)

    def elements(self, name: str) -> list[Element]:
        """One element, or one for each item of `xs = (a, b)` that the body takes apart."""
        assert self.xs is not None
        lax = self.lax
        if isinstance(self.xs, ast.Tuple):
            found = lax.head_unpacking(name, len(self.xs.elts))
            if found is not None:
                statement, items = found
                uses = reads_in(lax.parts.code, name)
                others = [o.value for o in lax.parts.outputs] + [
                    c.update for c in lax.parts.carries
                ]
                plain = uses == [statement] and not any(
                    name in reads(expression(t)) for t in others
                )
                if plain:
                    from forscan.syntax.code import removal

                    lax.parts.code = lax.parts.code.edited([removal(lax.parts.code, statement)])
                    return [
                        Element(i, lax.text(e), self.is_array(e, i))
                        for i, e in zip(items, self.xs.elts, strict=True)
                    ]
        return [Element(name, lax.text(self.xs), self.is_array(self.xs, name))]

    def is_array(self, source: ast.expr, name: str) -> bool:
        if is_array(source, self.context):
            return True
        lax = self.lax
        texts = [o.value for o in lax.parts.outputs] + [c.update for c in lax.parts.carries]
        tail = "".join(f"\n({t})" for t in texts)
        return used_as_arrays_named(name, f"{lax.parts.code.text}{tail}", self.context)

    def called(self, counter: Counter | None) -> tuple[Counter | None, list[Element]]:
        lax = self.lax
        if self.xs is None:
            lax.call("None")
            return None, []
        taken = lax.outer_names()
        definition = lax.definition()
        wish = "x"
        if definition is not None:
            names = [n for n in parameters(definition) if n not in ("self", "cls")]
            if len(names) == 2 and names[1].strip("_"):
                wish = names[1]
        name = wish if wish not in taken else self.fresh.name("x", "x_i", "item")
        lax.call(name)
        if counter is not None:
            return replace(counter, name=name), []
        return None, [Element(name, lax.text(self.xs), self.called_is_array(name))]

    def called_is_array(self, name: str) -> bool:
        assert self.xs is not None
        if is_array(self.xs, self.context):
            return True
        definition = self.lax.definition()
        if not isinstance(definition, ast.FunctionDef):
            return False
        names = [n for n in parameters(definition) if n not in ("self", "cls")]
        if len(names) < 2 or isinstance(self.xs, ast.Tuple | ast.Dict):
            return False
        text = "\n".join(ast.unparse(s) for s in definition.body if not isinstance(s, ast.Return))
        last = definition.body[-1]
        if isinstance(last, ast.Return) and last.value is not None:
            text += f"\n({ast.unparse(last.value)})"
        return used_as_arrays_named(names[1], text, self.context)


def _free(site: Site, name: str) -> str:
    """A name for a part of the result that the statement does not name."""
    fresh = site.context.module.fresh
    return (
        name
        if name not in fresh.taken
        else f"{name}_out" if f"{name}_out" not in fresh.taken else fresh.name(name)
    )
