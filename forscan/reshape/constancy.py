"""What Python knows in some iterations of a loop: in the first one, or in all the others.

A test such as `i == 0`, `h is None` or `first` is decided by Python in each iteration of
a `for`. Where all iterations but the first decide alike, that one can be taken out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from forscan.analyse.trip_count import Extent, extent
from forscan.find.context import FunctionContext


@dataclass(frozen=True)
class Knowledge:
    """What is known of the names of a loop in some iterations.

    Attributes:
      index: the induction variable, if there is one.
      bounds: the least and the greatest index, as normal forms.
      constants: names of Python state and their values.
      not_none: names that are surely not None.
    """

    context: FunctionContext
    index: str | None = None
    bounds: tuple[Extent | None, Extent | None] = (None, None)
    constants: dict[str, object] = field(default_factory=dict)
    not_none: frozenset[str] = frozenset()

    def truth(self, test: ast.expr) -> bool | None:
        """Whether a test holds in all of the iterations, None where not known."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand)
                return None if inner is None else not inner
            case ast.BoolOp(op=op, values=values):
                found = [self.truth(v) for v in values]
                decisive = isinstance(op, ast.Or)
                if decisive in found:
                    return decisive
                return None if None in found else not decisive
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(left, op, right)
            case ast.Name(id=name):
                if name in self.constants:
                    return bool(self.constants[name])
                if name == self.index:
                    return self.against(ast.NotEq(), Extent("", 0))
        return None

    def comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
        if isinstance(op, ast.Is | ast.IsNot):
            return self.identity(left, op, right)
        if isinstance(left, ast.Name) and left.id == self.index:
            return self.against(op, extent(right, self.context))
        if isinstance(right, ast.Name) and right.id == self.index:
            mirrored = _MIRRORED.get(type(op))
            return self.against(mirrored(), extent(left, self.context)) if mirrored else None
        if isinstance(left, ast.Name) and left.id in self.constants:
            if isinstance(right, ast.Constant) and isinstance(op, ast.Eq | ast.NotEq):
                return (self.constants[left.id] == right.value) == isinstance(op, ast.Eq)
        return None

    def identity(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
        """`h is None`, `h is not None`."""
        if not isinstance(left, ast.Name) or not _is_none(right):
            return None
        if left.id in self.constants:
            return (self.constants[left.id] is None) == isinstance(op, ast.Is)
        if left.id in self.not_none:
            return isinstance(op, ast.IsNot)
        return None

    def against(self, op: ast.cmpop, value: Extent) -> bool | None:
        """The index compared with a number, in all of the iterations."""
        low, high = (
            (
                bound.constant - value.constant
                if bound is not None and bound.base == value.base
                else None
            )
            for bound in self.bounds
        )
        below, above = high is not None and high < 0, low is not None and low > 0
        most, least = high is not None and high <= 0, low is not None and low >= 0
        match op:
            case ast.Eq():
                return True if most and least else False if below or above else None
            case ast.NotEq():
                return False if most and least else True if below or above else None
            case ast.Lt():
                return True if below else False if least else None
            case ast.LtE():
                return True if most else False if above else None
            case ast.Gt():
                return True if above else False if most else None
            case ast.GtE():
                return True if least else False if below else None
        return None


_MIRRORED = {
    ast.Eq: ast.Eq, ast.NotEq: ast.NotEq, ast.Lt: ast.Gt, ast.Gt: ast.Lt,
    ast.LtE: ast.GtE, ast.GtE: ast.LtE,
}  # fmt: skip
CONTRARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
    ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
"""What holds for two integers where an operator does not."""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
