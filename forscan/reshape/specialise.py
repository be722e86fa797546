"""A suite with the branches taken that are known in one part of a loop."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.reshape.constancy import Knowledge
from forscan.reshape.suites import is_elif, suite_of, whole_end
from forscan.syntax.code import Code, indent, one_line
from forscan.syntax.names import binds, free_names, walk_scope
from forscan.syntax.source import Edit


class Specialised:
    """A suite for one part of a loop.

    Attributes:
      code: the suite with its decided branches taken.
      decided: how many tests were.
    """

    def __init__(self, code: Code, known: Knowledge) -> None:
        self.known = known
        self.decided = 0
        self.code = self._suite(code)

    def _suite(self, code: Code) -> Code:
        return code.edited(self._edits(code, code.statements))

    def _edits(self, code: Code, statements: list[ast.stmt]) -> list[Edit]:
        edits: list[Edit] = []
        for statement in statements:
            edits += self._statement(code, statement)
            self._forget(statement)
        return edits

    def _forget(self, statement: ast.stmt) -> None:
        """A name that gets a value is not what it was at the head of the iteration."""
        bound = set(binds(statement))
        constants = {n: v for n, v in self.known.constants.items() if n not in bound}
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                constants[name] = value
        self.known = replace(self.known, constants=constants, not_none=self.known.not_none - bound)

    def _statement(self, code: Code, statement: ast.stmt) -> list[Edit]:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                truth = self.known.truth(test)
                if truth is not None:
                    self.decided += 1
                    return [self._taken(code, statement, body if truth else orelse)]
                parts = [self._inside(code, suite) for suite in (body, orelse)]
                return [*self._expressions(code, test), *parts[0], *parts[1]]
            case ast.For(iter=head, body=body, orelse=[]) | ast.While(
                test=head, body=body, orelse=[]
            ):
                edits = self._expressions(code, head) if isinstance(statement, ast.For) else []
                self._forget(statement)  # its second iteration sees what the first has changed
                return [*edits, *self._inside(code, body)]
            case ast.With(items=items, body=body):
                edits = [e for item in items for e in self._expressions(code, item)]
                return [*edits, *self._inside(code, body)]
            case ast.FunctionDef(body=body):
                return self._inside(code, body, self._known_in(statement))
        return self._expressions(code, statement)

    def _known_in(self, function: ast.FunctionDef) -> Knowledge:
        """What a function knows whenever it is called in an iteration: the index alone."""
        index = self.known.index if self.known.index in free_names(function) else None
        return replace(self.known, index=index, constants={}, not_none=frozenset())

    def _inside(
        self, code: Code, statements: list[ast.stmt], inner: Knowledge | None = None
    ) -> list[Edit]:
        """The edits in a suite of a statement that stays, which keeps a statement itself."""
        known = self.known
        self.known = inner or known
        edits = self._edits(code, statements)
        self.known = known
        gone = [s for s in statements if any(_removes(e, code, s) for e in edits)]
        if statements and len(gone) == len(statements) and not is_elif(statements[0], code):
            return [Edit(code.start(statements[0]), code.end(statements[-1]), "pass")]
        return edits

    def _taken(self, code: Code, statement: ast.If, chosen: list[ast.stmt]) -> Edit:
        """The edit that puts one of its suites in the place of an `if`."""
        start, end = code.start(statement), whole_end(code, statement)
        inner = Code("")
        if not all(isinstance(s, ast.Pass) for s in chosen):
            inner = self._suite(suite_of(code, chosen))
        if not inner.statements and not inner.comments():
            removed = code.remove(statement)
            return Edit(removed.start, max(removed.end, end), removed.new)
        text, indentation = inner.text, code.indentation(start)
        if is_elif(statement, code):
            more = len(inner.statements) == 1 and text.startswith("if ")
            unit = self.known.context.unit
            text = f"el{text}" if more else f"else:\n{indent(text, unit)}"
        return Edit(start, end, indent(text, indentation)[len(indentation) :])

    def _expressions(self, code: Code, node: ast.AST) -> list[Edit]:
        edits = []
        for part in walk_scope([node]):
            if isinstance(part, ast.IfExp) and (chosen := self._chosen(part)) is not part:
                self.decided += 1
                edits.append(code.replace(part, one_line(code, chosen)))
        return [e for e in edits if not any(_is_inside(e, other) for other in edits)]

    def _chosen(self, node: ast.expr) -> ast.expr:
        """The side of a conditional expression that is known, of each in the other's place."""
        if isinstance(node, ast.IfExp):
            truth = self.known.truth(node.test)
            if truth is not None:
                return self._chosen(node.body if truth else node.orelse)
        return node


def _is_inside(edit: Edit, other: Edit) -> bool:
    return edit is not other and other.start <= edit.start and edit.end <= other.end


def _removes(edit: Edit, code: Code, statement: ast.stmt) -> bool:
    start, end = code.start(statement), code.end(statement)
    return not edit.new and edit.start <= start and end <= edit.end
