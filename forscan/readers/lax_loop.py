"""What scan and fori_loop have in common when they are read.

The body becomes statements of the loop, its parameters and return value become the
carry and the outputs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from functools import cached_property

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.interest import acts
from forscan.analyse.key_order import key_order
from forscan.analyse.kinds import NOTHING, UNKNOWN, Kind, as_carry, kind_of
from forscan.find.sites import Site
from forscan.model import Carry, Element, Loop, Output, Reading, Refused
from forscan.readers.body import Body
from forscan.readers.called import called_body
from forscan.readers.calls import is_forgotten
from forscan.readers.coalesce import coalesced, renamed_carry
from forscan.readers.inlined import read_body
from forscan.readers.item_names import with_named_items
from forscan.readers.naming import CannotRename, Naming, is_start, names_in
from forscan.readers.numbers import as_arrays
from forscan.readers.own_values import own_tuple, own_value
from forscan.readers.parts import (
    Call,
    bare_name,
    holds_arrays,
    inside_function,
    is_none,
    joined,
    names_in_lines,
    segment,
)
from forscan.readers.patterns import (
    aligned,
    bare,
    head_unpacking,
    leaves,
    packed,
    reads_in,
)
from forscan.readers.removal import name_of, removed
from forscan.readers.starts import Starts
from forscan.refusal import refuse
from forscan.syntax.code import Code, expression, removal
from forscan.syntax.names import all_names, binds, reads
from forscan.syntax.source import Edit, Text
from forscan.syntax.walk import walk


@dataclass
class LaxLoop:
    """A call taken apart.

    Attributes:
      code: the statements of an iteration.
      carries, outputs: of the neutral loop.
      before, after: statements around it.
      ys: an expression for the ys, where it is not the first output.
      gone: statements whose values the loop takes over.
      items: the names of the state, or of its items where the body takes it apart.
      other: the name of the parameter that is not the carry.
    """

    site: Site
    call: Call
    body: Body
    code: Code = field(default_factory=lambda: Code(""))
    carries: list[Carry] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    gone: list[ast.stmt] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    ys: str | None = None
    _naming: Naming = field(init=False)
    _chosen: dict[str, str] = field(init=False)

    @classmethod
    def read(cls, site: Site, call: Call) -> LaxLoop:
        given = call.function, call.wishes
        try:
            loop = cls(site, call, read_body(site, *given, call.copied, call.takes))
            loop._take_apart()
        except CannotRename:
            loop = cls(site, call, called_body(site, *given, call.takes))
            loop._take_apart()
        return loop

    @property
    def other(self) -> str:
        return self.body.parameters[1 - self.call.carry_at]

    def put_first(self, line: str) -> None:
        """Adds a statement at the head of an iteration."""
        self.code = joined(Code(line), self.code.text)

    def own(self, name: str) -> str:
        """What a variable is called in the source of the body."""
        if self.body.called:
            place = self.body.parameters.index(name) if name in self.body.parameters else -1
            return self.body.own_parameters[place] if len(self.body.own_parameters) == 2 else name
        return next((old for old, new in self._chosen.items() if new == name), name)

    def uses_other(self) -> bool:
        """Whether an iteration reads the parameter that is not the carry."""
        return self.reads(self.other)

    def reads(self, name: str) -> bool:
        """Whether an iteration reads a variable."""
        texts = [o.value for o in self.outputs] + [c.update for c in self.carries]
        return any(name in reads(n) for n in (self.code.tree, *map(expression, texts)))

    # Kinds.

    @cached_property
    def other_kind(self) -> Kind:
        return self.call.other(self.body)

    def _kinds(self) -> Kind:
        """The kind of what an iteration returns, given that the carry keeps its type."""
        start = as_carry(kind_of(self.call.init, self.site.context))
        start = self.body.settled(start, self.call.has_outputs)
        for _ in range(2):
            pair = (start, self.other_kind)
            kind = self.body.kind(pair if self.call.carry_at == 0 else pair[::-1])
            carry = self._carry_kind(kind)
            if start != UNKNOWN or carry == UNKNOWN:
                break
            start = carry
        return kind

    def _carry_kind(self, returned: Kind) -> Kind:
        if not self.call.has_outputs:
            return returned
        return returned.items[0] if len(returned.items) == 2 else UNKNOWN

    def output_kind(self) -> Kind:
        kind = self._kinds()
        return kind.items[1] if self.call.has_outputs and len(kind.items) == 2 else UNKNOWN

    # The body under its new names.

    def _take_apart(self) -> None:
        pattern = self._carry_pattern()
        starts = self._item_starts(pattern)
        self._settle(pattern, starts)
        names = self._chosen
        body = self.body
        carry = body.parameters[self.call.carry_at]
        self.code = body.code
        if body.before:
            self.before.append(body.before)
        own = [] if pattern is None else leaves(pattern) or []
        self.items = [carry] if pattern is None else [names[i] for i in own]
        update, value = self._returned(carry)
        if value is not None:
            self._add_outputs(value)
        if pattern is None:
            self._add_whole(carry, update)
        else:
            self._add_items(pattern, starts, update)
        if not body.called:
            parts = coalesced(self.code, self.carries, self.outputs)
            self.code, self.carries, self.outputs = parts
            for c in self.carries:
                self._take_result_name(c)
        self._finish_results(pattern)
        self.carries = [c for c in self.carries if not self._is_idle(c)]

    def _take_result_name(self, carry: Carry) -> None:
        """The name of its result for a part of the state, where the body needs it no more."""
        old, new = carry.target, carry.result
        if new is None or new in {self.other, *names_in(self.call.results.ys)}:
            return
        parts = renamed_carry((self.code, self.carries, self.outputs), old, new)
        if parts is None or self._naming.clashes(new, expression(carry.init)):
            return
        self.code, self.carries, self.outputs = parts
        names = {old: new}
        self.items = [names.get(i, i) for i in self.items]
        self._chosen = {k: names.get(v, v) for k, v in self._chosen.items()}
        self.body = self.body.renamed(names)

    def _carry_pattern(self) -> ast.expr | None:
        """The pattern of `a, b = carry` at the head of a body that returns a tuple for it."""
        self.body = body = with_named_items(self.site, self.call, self.body)
        name = body.parameters[self.call.carry_at]
        returned: ast.expr = expression(body.returned)
        if _binds(returned):
            return None
        others = [n.id for n in walk(returned) if isinstance(n, ast.Name)]
        if self.call.has_outputs:
            if not isinstance(returned, ast.Tuple) or len(returned.elts) != 2:
                return None
            returned = returned.elts[0]
        if not isinstance(returned, ast.Tuple) or name in others:
            return None
        found = head_unpacking(body.code, name)
        if found is None or reads_in(body.code, name) != [found[0]]:
            return None
        return found[1] if aligned(found[1], returned) is not None else None

    def _item_starts(self, pattern: ast.expr | None) -> list[ast.expr | None]:
        """The expressions that the items begin with, where they are written apart."""
        init = self.call.init
        if pattern is None:
            return [init]
        display, statement = own_tuple(self.site, init)
        parts = aligned(pattern, display)
        if parts is None:
            return [None] * len(leaves(pattern) or ())
        if statement is not None:
            self.gone.append(statement)
        return list(parts)

    def _settle(self, pattern: ast.expr | None, starts: list[ast.expr | None]) -> None:
        call, body = self.call, self.body
        results = call.results
        rest = results.rest("None", "None") if results.rest else ""
        naming = Naming(
            self.site,
            body,
            call.function,
            call.sources,
            all_names(walk(inside_function(rest))) if rest else (),
            [*names_in(results.carry), *names_in(results.ys), *reads(results.gone or [])],
        )
        items = None if pattern is None else leaves(pattern)
        own = items if items is not None else [body.parameters[call.carry_at]]
        wishes = [results.carry] if pattern is None else self._result_names(pattern)
        taken = set(names_in(results.ys))
        begun = [bare_name(s) for s in starts]
        for name, wish, start, known in zip(own, wishes, starts, begun, strict=True):
            if begun.count(known) > 1 or (known and is_start(known)):
                known = None
            naming.choose(name, [w for w in (wish, known) if w and w not in taken], start)
        for name in body.locals:
            if name in naming.chosen or (items and name == body.parameters[call.carry_at]):
                continue
            if name == "_" and name not in body.names:
                naming.chosen[name] = name
            else:
                naming.choose(name)
        self._naming, self._chosen = naming, naming.chosen
        constants = self._constants()
        self.body = body.without_deletion(set(constants)).renamed({**naming.chosen, **constants})

    def _constants(self) -> dict[str, str]:
        """Parameters that are always None, written as such."""
        found = {}
        carry = self.body.parameters[self.call.carry_at]
        other = self.body.parameters[1 - self.call.carry_at]
        bound = set(binds(self.body.code.statements))
        if is_none(self.call.init) and carry not in bound:
            found[carry] = "None"
        if self.call.constant is not None and other not in bound:
            found[other] = self.call.constant
        return found

    def _returned(self, carry: str) -> tuple[str, str | None]:
        """The texts of the new carry and of the output; None where nobody wants it."""
        body, call = self.body, self.call
        returned = expression(body.returned)
        if not call.has_outputs:
            return body.returned, None
        wanted = call.results.wants_ys and self.output_kind() != NOTHING
        if isinstance(returned, ast.Tuple) and len(returned.elts) == 2 and not _binds(returned):
            first, second = returned.elts
            update, value = (segment(body.returned, e) for e in returned.elts)
            if wanted and ast.dump(first) == ast.dump(second) and isinstance(first, ast.expr):
                if not isinstance(first, ast.Name | ast.Constant | ast.Tuple):
                    self.code = joined(self.code, f"{carry} = {update}")
                    return carry, carry
            if not wanted:
                self._keep_effects(value)
            return update, value if wanted else None
        fresh = self.site.context.fresh
        y = fresh.name("y", "out", "output") if wanted else "_"
        if y == "_" and "_" in fresh.read:
            y = fresh.name("unused")
        target = "_" if carry == "None" else carry
        self.code = joined(self.code, f"{target}, {y} = {body.returned}")
        return carry, y if wanted else None

    def _keep_effects(self, value: str) -> None:
        """An expression that nobody wants stays as a statement where it talks to the host."""
        if acts(expression(value), self.site.context):
            self.code = joined(self.code, value)

    # Carries.

    def _add_whole(self, carry: str, update: str) -> None:
        if is_none(self.call.init):
            self._keep_effects(update)
            return
        start = self._start(carry, self.call.init)
        result = self.call.results.carry
        if result is None and self.call.results.wants_carry:
            result = carry
        self.carries.append(Carry(carry, start, update, result))

    def _is_idle(self, carry: Carry) -> bool:
        """Whether a part of the state stays what it is, and nobody looks at it."""
        wanted = carry.result or carry.target in names_in_lines(self.after)
        return carry.update == carry.target and not wanted and not self.reads_besides(carry)

    def reads_besides(self, carry: Carry) -> bool:
        """Whether anything but its own update reads a part of the state."""
        texts = [o.value for o in self.outputs]
        texts += [c.update for c in self.carries if c is not carry]
        return any(carry.target in reads(n) for n in (self.code.tree, *map(expression, texts)))

    def _start(self, target: str, node: ast.expr) -> str:
        """Python for a start value; what had a name for this loop only needs it no more."""
        starts = Starts(self.site, self.body, map(self.own, self.items))
        own = self.own(target)
        if isinstance(node, ast.Name) and node.id != target:
            value, statement = own_value(self.site, node)
            if statement is not None and starts.text(node, own) == node.id:
                self.gone.append(statement)
                return starts.text(value, own)
        return starts.text(node, own)

    def _add_items(
        self,
        pattern: ast.expr,
        starts: list[ast.expr | None],
        update: str,
    ) -> None:
        names = self.items
        found = head_unpacking(self.code, self.body.parameters[self.call.carry_at])
        assert found is not None
        self.code = Code(self.code.edited([removal(self.code, found[0])]).text.strip("\n"))
        if None in starts:
            init = Starts(self.site, self.body).text(self.call.init)
            self.before.append(f"{bare(packed(pattern, names))} = {init}")
            texts = list(names)
        else:
            pairs = zip(names, starts, strict=True)
            texts = [self._start(n, s) for n, s in pairs if s is not None]
        updates = aligned(pattern, expression(update))
        assert updates is not None
        results = self._result_names(pattern)
        apart = any(r is not None for r in results) or self.call.results.carry is None
        for name, start, new, result in zip(names, texts, updates, results, strict=True):
            result = result if apart else name
            if self.call.results.rest and self.call.results.wants_carry:
                result = name
            text = segment(update, new)
            unchanged = start == text == "None"
            self.carries.append(Carry(name, start, name if unchanged else text, result))

    def _result_names(self, pattern: ast.expr) -> list[str | None]:
        """The patterns of the items of the result, all None where they are not apart."""
        result = self.call.results.carry
        if result is not None:
            parts = aligned(pattern, expression(result))
            if parts is not None:
                return [self._forgotten(ast.unparse(e)) for e in parts]
        return [None] * len(leaves(pattern) or ())

    def _forgotten(self, pattern: str) -> str | None:
        return None if is_forgotten(self.site, pattern) else pattern

    # Outputs.

    def _add_outputs(self, value: str) -> None:
        results = self.call.results
        node, kind = expression(value), self.output_kind()
        pattern = expression(results.ys) if results.ys else None
        if isinstance(pattern, ast.Tuple) and isinstance(node, ast.Tuple):
            if len(pattern.elts) == len(node.elts):
                kinds = kind.items or (UNKNOWN,) * len(node.elts)
                for item, part, its in zip(pattern.elts, node.elts, kinds, strict=True):
                    target = self._forgotten(ast.unparse(item))
                    text = self._kept(segment(value, part), its)
                    self.outputs.append(Output(text, target, its.is_array))
                return
        name = results.ys
        if results.item_of_ys is not None and isinstance(node, ast.Tuple):
            if 0 <= results.item_of_ys < len(node.elts):
                self._add_item(value, node, kind, results.item_of_ys)
                return
        if name is None:
            name = self.site.context.fresh.name("ys", "outputs")
        text = self._kept(value, kind)
        self.outputs.append(Output(text, name, kind.is_array, inline=results.ys is None))

    def _add_item(self, value: str, node: ast.Tuple, kind: Kind, item: int) -> None:
        """Only one item of the outputs is read: the others are not collected."""
        kinds = kind.items or (UNKNOWN,) * len(node.elts)
        name = self.site.context.fresh.name("ys", "outputs")
        part = self._kept(segment(value, node.elts[item]), kinds[item])
        self.outputs.append(Output(part, name, kinds[item].is_array, inline=True))
        self.ys = f"({', '.join(name if i == item else 'None' for i in range(len(node.elts)))},)"

    def _kept(self, value: str, kind: Kind) -> str:
        """An output as it is now, where the next iteration may change a container in it."""
        changed = {c.id if isinstance(c, ast.Name) else "" for c in self.body.mutations}
        replaced = changed <= set(map(self.own, self.items))  # items of the state, as wholes
        item = isinstance(expression(value), ast.Subscript)
        if not changed or holds_arrays(kind) or (replaced and item):
            return value
        return self.site.context.module.spelling(self.site.node).copied(value)

    # Behind the loop.

    def _finish_results(self, pattern: ast.expr | None) -> None:
        results = self.call.results
        names = [c.target for c in self.carries]
        whole = names[0] if names else "None"
        carry = whole if pattern is None else packed(pattern, names)
        ys = self.ys or (self.outputs[0].result or "None" if self.outputs else "None")
        if results.rest is not None:
            self.after.append(results.rest(carry, ys))
            return
        if results.ys and results.ys != "_" and not self.outputs:
            self.after.append(f"{results.ys} = None")
        if results.carry is None:
            return
        if not names:
            self.after.append(f"{results.carry} = None")
        elif pattern is not None and not any(self._result_names(pattern)):
            self.after.append(f"{results.carry} = {bare(carry)}")

    def _of_jax(self, element: Element, jnp: str) -> Element:
        """Rows of JAX, as a scan has them: those of NumPy are computed with in 64 bits."""
        found = evidence(expression(element.source), self.site.context)
        if found is not Evidence.NUMPY:
            return element
        return replace(element, source=f"{jnp}.asarray({element.source})")

    # The reading.

    def _check_order(self) -> None:
        """Refuses what another order of keys, or of evaluation, would change.

        Raises:
          Refused: there is such a thing.
        """
        context, call = self.site.context, self.call
        inside = set(walk(self.site.node))
        for node in walk(self.site.statement):
            if isinstance(node, ast.NamedExpr) and node not in inside:
                what = "a := stands beside the call, which would run after the loop"
                raise Refused(refuse("FSC305", node, what, "Assign in a statement of its own."))
        values = [call.init, *walk(expression(self.body.returned))]
        names = {*self.items, *map(self.own, self.items)}
        results = set(names_in(call.results.carry))
        begun = context.values.get(call.init.id, []) if isinstance(call.init, ast.Name) else []
        states = [*begun, *(v for v in values if isinstance(v, ast.expr))]
        for nodes, seen in ((self.body.nodes, names), (context.node.body, results)):
            for refusal in key_order(states, nodes, seen, context):
                raise Refused(refusal)

    def reading(self, loop: Loop) -> Reading:
        """The loop with its place in the file and the comments that have to stay."""
        statement, source = self.site.statement, self.site.context.source
        start = source.line_start(source.start(statement))
        end = source.line_end(source.end(statement))
        tail = source.text[source.end(statement) : end].strip()
        inside = Text(source.text[source.start(statement) : source.end(statement)]).comments()
        leading = [*inside, *([tail] if tail else [])]
        behind = self.call.results.gone
        edits: list[Edit] = [removed(source, s, statement) for s in self.gone]
        edits += [removed(source, behind, statement)] if behind is not None else []
        if self.body.definition is not None:
            edits.append(removed(source, self.body.definition, statement))
        self._check_order()
        spelling = self.site.context.module.spelling(self.site.node)
        carries = as_arrays(self.carries, loop, self.code, self.site.context, spelling)
        loop = replace(
            loop,
            body=self.code,
            carries=tuple(carries),
            elements=tuple(self._of_jax(e, spelling.jnp) for e in loop.elements),
            outputs=tuple(self.outputs),
            before=(*leading, *self.before),
            after=tuple(self.after),
            name=name_of(self.body.definition),
        )
        indentation = source.indentation(source.start(statement))
        return Reading(loop, start, end, indentation, tuple(edits))


def _binds(value: ast.expr) -> bool:
    """Whether a `:=` in it binds a name."""
    return any(isinstance(n, ast.NamedExpr) for n in walk(value))
