"""What scan and fori_loop have in common when they are read.

The body becomes statements of the loop, its parameters and return value become the
carry and the outputs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from forscan.analyse.kinds import ARRAY, NOTHING, NUMBER, UNKNOWN, Kind, kind_of, of_items
from forscan.find.sites import Site
from forscan.model import Carry, Loop, Output, Reading
from forscan.readers.body import Body, called_body, read_body
from forscan.readers.calls import Results
from forscan.readers.naming import CannotRename, Naming, names_in
from forscan.readers.starts import Starts
from forscan.syntax.code import Code, expression, removal
from forscan.syntax.names import all_names, binds, reads
from forscan.syntax.source import Edit, Text


@dataclass(frozen=True)
class Call:
    """The parts of a call that scan and fori_loop share.

    Attributes:
      function, init: the expressions of the body function and of the start.
      results: where the result goes.
      carry_at: which parameter of the body is the carry.
      wishes: names for the parameters, where the body's source does not give them.
      has_outputs: whether the body returns a pair.
      sources: names that are read when the loop begins.
      other: the kind of what the other parameter gets.
      copied: whether the body of a module function is read as if it stood here.
    """

    function: ast.expr
    init: ast.expr
    results: Results
    carry_at: int
    wishes: tuple[str, str]
    has_outputs: bool
    sources: frozenset[str]
    other: Kind
    copied: bool = False


@dataclass
class LaxLoop:
    """A call taken apart.

    Attributes:
      code: the statements of an iteration.
      carries, outputs: of the neutral loop.
      before, after: statements around it.
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

    @classmethod
    def read(cls, site: Site, call: Call) -> LaxLoop:
        try:
            loop = cls(site, call, read_body(site, call.function, call.wishes, call.copied))
            loop._take_apart()
        except CannotRename:
            loop = cls(site, call, called_body(site, call.function, call.wishes))
            loop._take_apart()
        return loop

    @property
    def other(self) -> str:
        return self.body.parameters[1 - self.call.carry_at]

    def uses_other(self) -> bool:
        """Whether an iteration reads the parameter that is not the carry."""
        texts = [o.value for o in self.outputs] + [c.update for c in self.carries]
        return self.other in reads(self.code.statements) or any(
            self.other in reads(expression(t)) for t in texts
        )

    # Kinds.

    def _kinds(self) -> Kind:
        """The kind of what an iteration returns, given that the carry keeps its type."""
        start = _as_carry(kind_of(self.call.init, self.site.context))
        for _ in range(2):
            pair = (start, self.call.other)
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
        items = self._carry_items()
        starts = self._item_starts(items)
        self._settle(items, starts)
        names = self._chosen
        body = self.body
        carry = body.parameters[self.call.carry_at]
        self.code = body.code
        if body.before:
            self.before.append(body.before)
        update, value = self._returned(carry)
        if value is not None:
            self._add_outputs(value)
        if items is None:
            self._add_whole(carry, update)
        else:
            self._add_items([names[i] for i in items], starts, update)
        self._finish_results(items)

    def _carry_items(self) -> list[str] | None:
        """The names of `a, b = carry` at the head of a body that returns a tuple for it."""
        body = self.body
        name = body.parameters[self.call.carry_at]
        returned: ast.expr = expression(body.returned)
        if self.call.has_outputs:
            if not isinstance(returned, ast.Tuple) or len(returned.elts) != 2:
                return None
            others = [n.id for n in ast.walk(returned) if isinstance(n, ast.Name)]
            returned = returned.elts[0]
        else:
            others = [n.id for n in ast.walk(returned) if isinstance(n, ast.Name)]
        if not isinstance(returned, ast.Tuple) or name in others:
            return None
        found = head_unpacking(body.code, name, len(returned.elts))
        if found is None or reads_in(body.code, name) != [found[0]]:
            return None
        return found[1]

    def _item_starts(self, items: list[str] | None) -> list[ast.expr | None]:
        """The expressions that the items begin with, where they are written apart."""
        init = self.call.init
        if items is None:
            return [init]
        if isinstance(init, ast.Tuple) and len(init.elts) == len(items):
            if not any(isinstance(e, ast.Starred) for e in init.elts):
                return list(init.elts)
        return [None] * len(items)

    def _settle(self, items: list[str] | None, starts: list[ast.expr | None]) -> None:
        call, body = self.call, self.body
        results = call.results
        rest = results.rest("None", "None") if results.rest else ""
        naming = Naming(
            self.site,
            body,
            call.function,
            call.sources,
            all_names(ast.parse(_inside_function(rest))) if rest else (),
            [*names_in(results.carry), *names_in(results.ys)],
        )
        own = items if items is not None else [body.parameters[call.carry_at]]
        wishes = self._result_names(len(own)) if items is not None else [results.carry]
        taken = set(names_in(results.ys))
        for name, wish, start in zip(own, wishes, starts, strict=True):
            wished = [w for w in (wish, _bare_name(start)) if w is not None and w not in taken]
            naming.choose(name, wished, start)
        for name in body.locals:
            if name in naming.chosen or (items and name == body.parameters[call.carry_at]):
                continue
            if name == "_" and name not in body.names:
                naming.chosen[name] = name
            else:
                naming.choose(name)
        self._chosen = naming.chosen
        constants = self._constants()
        self.body = body.renamed({**naming.chosen, **constants})

    def _constants(self) -> dict[str, str]:
        """Parameters that are always None, written as such."""
        found = {}
        carry = self.body.parameters[self.call.carry_at]
        other = self.body.parameters[1 - self.call.carry_at]
        bound = set(binds(self.body.code.statements))
        if _is_none(self.call.init) and carry not in bound:
            found[carry] = "None"
        if self.call.other == NOTHING and other not in bound:
            found[other] = "None"
        return found

    def _returned(self, carry: str) -> tuple[str, str | None]:
        """The texts of the new carry and of the output; None where nobody wants it."""
        body, call = self.body, self.call
        returned = expression(body.returned)
        if not call.has_outputs:
            return body.returned, None
        walrus = any(isinstance(n, ast.NamedExpr) for n in ast.walk(returned))
        wanted = call.results.wants_ys and self.output_kind() != NOTHING
        if isinstance(returned, ast.Tuple) and len(returned.elts) == 2 and not walrus:
            first, second = returned.elts
            update, value = (_segment(body.returned, e) for e in returned.elts)
            if wanted and ast.dump(first) == ast.dump(second) and isinstance(first, ast.expr):
                if not isinstance(first, ast.Name | ast.Constant | ast.Tuple):
                    self.code = _joined(self.code, f"{carry} = {update}")
                    return carry, carry
            return update, value if wanted else None
        fresh = self.site.context.fresh
        y = fresh.name("y") if wanted else "_"
        if y == "_" and "_" in fresh.read:
            y = fresh.name("unused")
        target = "_" if carry == "None" else carry
        self.code = _joined(self.code, f"{target}, {y} = {body.returned}")
        return carry, y if wanted else None

    # Carries.

    def _add_whole(self, carry: str, update: str) -> None:
        if _is_none(self.call.init):
            return
        start = Starts(self.site, self.body).text(self.call.init)
        result = self.call.results.carry
        if result is None and self.call.results.wants_carry:
            result = carry
        self.carries.append(Carry(carry, start, update, result))

    def _add_items(self, names: list[str], starts: list[ast.expr | None], update: str) -> None:
        statement = head_unpacking(self.code, self.body.parameters[self.call.carry_at], len(names))
        assert statement is not None
        self.code = self.code.edited([removal(self.code, statement[0])])
        starter = Starts(self.site, self.body)
        if None in starts:
            self.before.append(f"{', '.join(names)} = {starter.text(self.call.init)}")
            texts = list(names)
        else:
            texts = [starter.text(s) for s in starts if s is not None]
        updates = expression(update)
        assert isinstance(updates, ast.Tuple)
        results = self._result_names(len(names))
        apart = any(r is not None for r in results) or self.call.results.carry is None
        for name, start, new, result in zip(names, texts, updates.elts, results, strict=True):
            result = result if apart else name
            if self.call.results.rest and self.call.results.wants_carry:
                result = name
            self.carries.append(Carry(name, start, _segment(update, new), result))

    def _result_names(self, count: int) -> list[str | None]:
        """The patterns of the items of the result, all None where they are not apart."""
        result = self.call.results.carry
        if result is not None:
            pattern = expression(result)
            if isinstance(pattern, ast.Tuple | ast.List) and len(pattern.elts) == count:
                return [self._forgotten(ast.unparse(e)) for e in pattern.elts]
        return [None] * count

    def _forgotten(self, pattern: str) -> str | None:
        return None if pattern == "_" and "_" not in self.site.context.fresh.read else pattern

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
                    self.outputs.append(Output(_segment(value, part), target, its.is_array))
                return
        name = results.ys
        if name is None:
            name = self.site.context.fresh.name("ys", "outputs")
        self.outputs.append(Output(value, name, kind.is_array, inline=results.ys is None))

    # Behind the loop.

    def _finish_results(self, items: list[str] | None) -> None:
        results = self.call.results
        names = [c.target for c in self.carries]
        if items is None:
            carry = names[0] if names else "None"
        else:
            carry = f"({', '.join(names)}{',' * (len(names) == 1)})"
        ys = self.outputs[0].result or "None" if self.outputs else "None"
        if results.rest is not None:
            self.after.append(results.rest(carry, ys))
            return
        if results.ys and results.ys != "_" and not self.outputs:
            self.after.append(f"{results.ys} = None")
        if results.carry is None:
            return
        if not names:
            self.after.append(f"{results.carry} = None")
        elif items is not None and self._result_names(len(items)) == [None] * len(items):
            self.after.append(f"{results.carry} = {carry}")

    # The reading.

    def reading(self, loop: Loop) -> Reading:
        """The loop with its place in the file and the comments that have to stay."""
        statement, source = self.site.statement, self.site.context.source
        start = source.line_start(source.start(statement))
        end = source.line_end(source.end(statement))
        tail = source.text[source.end(statement) : end].strip()
        inside = Text(source.text[source.start(statement) : source.end(statement)]).comments()
        leading = [*inside, *([tail] if tail else [])]
        edits: list[Edit] = []
        if self.body.definition is not None:
            edits.append(_whole_removal(source, self.body.definition))
        loop = replace(
            loop,
            body=self.code,
            carries=tuple(self.carries),
            outputs=tuple(self.outputs),
            before=(*leading, *self.before),
            after=tuple(self.after),
            name=_name_of(self.body.definition),
        )
        indentation = source.indentation(source.start(statement))
        return Reading(loop, start, end, indentation, tuple(edits))


def head_unpacking(code: Code, name: str, count: int) -> tuple[ast.stmt, list[str]] | None:
    """`a, b = name` before anything else binds a or b or changes the name."""
    bound: set[str] = set()
    for statement in code.statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=items)], value=ast.Name(id=value)) if (
                value == name and len(items) == count
            ):
                names = [i.id for i in items if isinstance(i, ast.Name)]
                if len(set(names)) == count and not set(names) & bound:
                    return statement, names
                return None
        bound |= {*binds(statement), *reads(statement)}
        if name in bound:
            return None
    return None


def reads_in(code: Code, name: str) -> list[ast.stmt]:
    return [s for s in code.statements if name in reads(s)]


def _name_of(definition: ast.stmt | None) -> str | None:
    """What a body function that goes was called."""
    if isinstance(definition, ast.FunctionDef):
        return definition.name
    if isinstance(definition, ast.Assign) and isinstance(definition.targets[0], ast.Name):
        return definition.targets[0].id
    return None


def _whole_removal(source: Text, node: ast.stmt) -> Edit:
    """Drops a definition with the blank lines behind it, where that leaves no gap."""
    edit = removal(source, node)
    before = source.text[: edit.start].rstrip(" \t")
    end = edit.end
    after_header = before.rstrip().endswith(":")
    blank_before = before.endswith(("\n\n", "\r\n\r\n", "\r\r"))
    while after_header or blank_before:
        line_end = source.line_end(end)
        if source.text[end:line_end].strip() or line_end >= len(source.text):
            break
        end = source.next_line(end)
    return Edit(edit.start, end, edit.new)


def _joined(code: Code, line: str) -> Code:
    return Code("\n".join(filter(None, [code.text, line])))


def _segment(text: str, node: ast.expr) -> str:
    """The source of a part of an expression, in parentheses when it spans lines."""
    wrapped = Text(f"({text}\n)")
    found = wrapped.segment(node)
    return f"({found})" if "\n" in found else found


def _bare_name(node: ast.expr | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _as_carry(kind: Kind) -> Kind:
    """Numbers become arrays when they are carried."""
    if kind == NUMBER:
        return ARRAY
    return of_items([_as_carry(k) for k in kind.items]) if kind.name == "tuple" else kind


def _inside_function(text: str) -> str:
    return "def f():\n    " + text.replace("\n", "\n    ")


def names_read(nodes: Iterable[ast.expr | None]) -> frozenset[str]:
    """The names that expressions read."""
    return frozenset(n for node in nodes if node is not None for n in reads(node))
