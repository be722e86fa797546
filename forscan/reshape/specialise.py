"""A suite with the branches taken that are known in one part of a loop."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.reshape.constancy import Knowledge
from forscan.reshape.suites import suite_of, whole_end
from forscan.syntax.code import Code, one_line
from forscan.syntax.names import binds, walk_scope
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
        edits: list[Edit] = []
        for statement in code.statements:
            edits += self._statement(code, statement)
            self._forget(statement)
        return code.edited(edits)

    def _forget(self, statement: ast.stmt) -> None:
        """A name that gets a value is not what it was at the head of the iteration."""
        bound = set(binds(statement))
        constants = {n: v for n, v in self.known.constants.items() if n not in bound}
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                constants[name] = value
        self.known = replace(self.known, constants=constants, not_none=self.known.not_none - bound)

    def _statement(self, code: Code, statement: ast.stmt) -> list[Edit]:
        if isinstance(statement, ast.If):
            truth = self.known.truth(statement.test)
            if truth is not None:
                self.decided += 1
                chosen = statement.body if truth else statement.orelse
                return [self._taken(code, statement, chosen)]
            return self._inside(code, statement)
        return self._expressions(code, statement)

    def _taken(self, code: Code, statement: ast.If, chosen: list[ast.stmt]) -> Edit:
        start, end = code.start(statement), whole_end(code, statement)
        if not chosen or all(isinstance(s, ast.Pass) for s in chosen):
            removed = code.remove(statement)
            return Edit(removed.start, max(removed.end, end), removed.new)
        inner = self._suite(suite_of(code, chosen))
        return Edit(start, end, inner.text)

    def _inside(self, code: Code, statement: ast.If) -> list[Edit]:
        """Tests inside a branch that is not decided itself."""
        edits = self._expressions(code, statement.test)
        for chosen in (statement.body, statement.orelse):
            for inner in chosen:
                edits += self._expressions(code, inner)
        return edits

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
