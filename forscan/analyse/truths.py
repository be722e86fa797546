"""Truth values of Python in arithmetic: `~True` is -2 and `True + True` is 2.

Of arrays of booleans the one is False and the other True. A comparison of the index is a
truth value of Python in a `for`, and an array inside of a `lax` loop.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from forscan.analyse.carries import Carries
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import names_in
from forscan.syntax.walk import walk_all

_SIGNS = (ast.Invert, ast.USub, ast.UAdd)


def truths_as_numbers(
    body: Sequence[ast.AST], numbers: Collection[str], truths: Collection[str] = ()
) -> Iterator[ast.expr]:
    """The expressions that compute with truth values of Python.

    Args:
      body: where they are looked for.
      numbers: names of Python numbers, such as the index.
      truths: names of truth values of Python.
    """
    nodes = walk_all(body)
    found = _Truths({*numbers}, {*truths})
    for _ in range(2):  # a name may be made of another one further down
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.note(name, value)
    for node in nodes:
        match node:
            case ast.UnaryOp(op=op, operand=operand) if isinstance(op, _SIGNS):
                if found.holds(operand):
                    yield node
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                if found.holds(left) and found.holds(right):
                    yield node


def computed_truths(carries: Carries, index: str | None) -> Iterator[Refusal]:
    """Refuses what computes with truth values of the index, or of flags in the state."""
    flags = {n for n in carries.numbers if _is_flag(carries.start(n))}
    for node in truths_as_numbers(carries.loop.body, {index} if index else (), flags):
        yield refuse(
            "FSC403",
            node,
            f"`{ast.unparse(node)}` computes with truth values as Python does, where ~True is -2 and "
            "True + True is 2; inside a scan they are arrays of booleans",
            "Use jnp.logical_not for `~`, or astype(int) for sums.",
        )


def _is_flag(start: ast.expr | None) -> bool:
    return isinstance(start, ast.Constant) and isinstance(start.value, bool)


class _Truths:
    def __init__(self, numbers: set[str], names: set[str]) -> None:
        self.numbers = numbers
        self.names = names

    def note(self, name: str, value: ast.expr) -> None:
        if self.holds(value):
            self.names.add(name)
        elif self._is_number(value):
            self.numbers.add(name)

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression surely is a truth value of Python."""
        match node:
            case ast.Name(id=name):
                return name in self.names
            case ast.Compare():
                return self._is_number(node)
            case ast.BoolOp(values=values):
                return all(map(self.holds, values))
            case ast.UnaryOp(op=ast.Not()):
                return True
        return False

    def _is_number(self, node: ast.expr) -> bool:
        names = names_in(node)
        return bool(names) and names <= self.numbers
