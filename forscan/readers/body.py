"""The body function of a `lax` loop, as statements and an expression that is returned."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from forscan.analyse.kinds import ARRAY, NOTHING, UNKNOWN, Kind, of_items, returned_kind
from forscan.find.context import FunctionContext
from forscan.find.functions import Function
from forscan.readers.mutations import changed_containers
from forscan.syntax.code import Code, expression
from forscan.syntax.names import binds, walk_scope
from forscan.syntax.rename import renamed
from forscan.syntax.walk import walk, walk_all

NO_PARAMETER = "_none"
"""Stands for the parameter that a body with one parameter does not have; it comes first."""


class Takes(Enum):
    """What a body function is given in each iteration."""

    BOTH = "a carry and a slice or an index"
    CARRY = "the carry"
    SLICE = "a slice"


@dataclass(frozen=True)
class Body:
    """A body as statements of a loop.

    Attributes:
      code: its statements, without the return.
      parameters: the names of its two parameters.
      returned: the expression that it returns.
      function: its source, if it is in this module.
      definition: the statement that defines it and goes when it is inlined.
      context: the function that its statements belong to.
      before: a statement that the loop needs in front of it.
      given: the kinds of the arguments that a partial gives by position.
      named: the names of those that it gives by keyword.
      called: whether it stays a function.
      takes: what it is given; a body that takes a slice returns None as its carry here.
    """

    code: Code
    parameters: tuple[str, str]
    returned: str
    function: Function | ast.Lambda | None
    definition: ast.stmt | None
    context: FunctionContext
    before: str | None = None
    given: tuple[Kind, ...] = ()
    named: tuple[str, ...] = ()
    called: bool = False
    takes: Takes = Takes.BOTH

    @property
    def own_parameters(self) -> list[str]:
        """What the two parameters are called in the source of the body."""
        if self.function is None:
            return []
        return positional(self.function, len(self.given), self.named, self.takes)

    @property
    def nodes(self) -> list[ast.AST]:
        """What an iteration runs, as it is in the file."""
        if self.function is None:
            return [expression(self.returned)]
        if isinstance(self.function, ast.Lambda):
            return [self.function.body]
        return list(self.function.body)

    @property
    def place(self) -> FunctionContext:
        """The function that its statements are in, in the file."""
        if isinstance(self.function, ast.FunctionDef):
            return FunctionContext(self.context.module, self.function)
        return self.context

    @cached_property
    def mutations(self) -> list[ast.expr]:
        """The containers, as the file has them, that it changes in place and has not made."""
        return changed_containers(self.nodes, self.context.module.traced.candidates)

    @property
    def names(self) -> set[str]:
        """All names that occur in it."""
        trees = [self.code.tree, expression(self.returned)]
        return {n.id for t in trees for n in walk(t) if isinstance(n, ast.Name)}

    @property
    def locals(self) -> list[str]:
        """The names that it binds, parameters first."""
        return list(dict.fromkeys([*self.parameters, *binds(self.code.statements)]))

    def renamed(self, names: dict[str, str]) -> Body:
        """With other names for its own variables."""
        first, second = (names.get(p, p) for p in self.parameters)
        return replace(
            self,
            code=Code(renamed(self.code.text, names)),
            returned=renamed(self.returned, names),
            parameters=(first, second),
        )

    def without_deletion(self, names: set[str]) -> Body:
        """Without `del x` of names that are no variables any more."""
        edits = []
        for node in walk_all(self.code.statements):
            if isinstance(node, ast.Delete):
                kept = [t for t in node.targets if not (isinstance(t, ast.Name) and t.id in names)]
                if not kept:
                    edits.append(self.code.remove(node))
                elif len(kept) < len(node.targets):
                    text = ", ".join(self.code.segment(t) for t in kept)
                    edits.append(self.code.replace(node, f"del {text}"))
        return replace(self, code=Code(self.code.edited(edits).text.strip("\n")))

    def kind(self, arguments: tuple[Kind, Kind]) -> Kind:
        """The kind of what it returns."""
        if self.function is None:
            return UNKNOWN
        if self.takes is Takes.BOTH:
            return returned_kind(self.function, (*self.given, *arguments), self.context)
        kind = returned_kind(self.function, (*self.given, arguments[1]), self.context)
        return kind if self.takes is Takes.CARRY else of_items([NOTHING, kind])

    def settled(self, start: Kind, in_pair: bool) -> Kind:
        """The kind of the carry, given that the body has to keep its structure.

        What is added or multiplied and stays what it is, is no tuple.

        Args:
          start: the kind of the start value.
          in_pair: whether the body returns the carry in a pair.
        """
        returned = expression(self.returned)
        if in_pair:
            if not isinstance(returned, ast.Tuple) or len(returned.elts) != 2:
                return start
            returned = returned.elts[0]
        if start == UNKNOWN and isinstance(returned, ast.Tuple):
            start = of_items([UNKNOWN] * len(returned.elts))
        if isinstance(returned, ast.Tuple) and len(start.items) == len(returned.elts):
            pairs = zip(start.items, returned.elts, strict=True)
            return of_items([self._settled_item(k, e) for k, e in pairs])
        return self._settled_item(start, returned)

    def _settled_item(self, start: Kind, new: ast.expr) -> Kind:
        if start == UNKNOWN and isinstance(new, ast.Name):
            values = [v for s in walk_scope(self.code.statements) if (v := _value(s, new.id))]
            new = values[-1] if values else new
        return ARRAY if start == UNKNOWN and isinstance(new, ast.BinOp) else start


def _value(statement: ast.AST, name: str) -> ast.expr | None:
    """The value that a statement assigns to a name."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            return value
    return None


def positional(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    count: int,
    keywords: tuple[str, ...],
    takes: Takes,
) -> list[str]:
    """The parameters that a loop gives values to: two of them, others have a default."""
    a = function.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    required = names[: len(names) - len(a.defaults)]
    own = [n for n in names if n not in ("self", "cls")][count:]
    own = [n for n in own if n not in keywords]
    if takes is not Takes.BOTH:
        own = [NO_PARAMETER, *own]
    return own if len(own) <= 2 or own[2] in required else own[:2]


def as_pair(returned: str, takes: Takes) -> str:
    """What a body returns, with None for the carry that a map does not have."""
    return f"(None, ({returned}))" if takes is Takes.SLICE else returned
