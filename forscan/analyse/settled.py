"""What a scan's check of its carry settles about types.

A scan raises where its state changes its type. So where the index meets the state that it
updates, `x = x + i`, any x that an `int32` would not leave as it is raises, and the index
may be one. The same holds for an x whose type the state starts with, where the state
becomes floating point: `y = zeros_like(x)` and then `y = y + jnp.sin(i * x)`.
"""

from __future__ import annotations

import ast
from functools import cached_property

from forscan.analyse.floating import Floating
from forscan.analyse.state import State, carries_of
from forscan.find.context import FunctionContext
from forscan.syntax.names import binds

_LIKE = {"jax.numpy.zeros_like", "jax.numpy.ones_like", "jax.numpy.empty_like"}
_PLAIN = ast.Add | ast.Sub | ast.Mult | ast.Div


class Settled:
    """The operands of one loop whose type an integer takes, or the scan raises."""

    def __init__(self, loop: ast.For, state: State, context: FunctionContext) -> None:
        self.loop = loop
        self.state = state
        self.context = context
        self.carries = carries_of(loop, state, context)

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The state that is an array from the start, or the scan raises."""
        return frozenset(self.state.carried) - self.carries.numbers

    def takes(self, integer: ast.expr, other: ast.expr | None) -> bool:
        """Whether an operand takes an integer that it meets.

        Args:
          integer: an expression of the index.
          other: the other operand, None in `x += i`.
        """
        if other is not None and self.floating.holds(other):
            return True
        if self.context.module.names_other_integers:
            return False
        name = self._updated_by(integer)
        if name not in self.state.carried or name in self.carries.numbers:
            return False
        return other is None or name in _operands(other)

    def _updated_by(self, node: ast.expr) -> str | None:
        """The name that gets what sums and products make of an expression."""
        parents = self.context.module.functions.parents
        child: ast.AST = node
        while isinstance(parent := parents.get(child), ast.BinOp) and isinstance(parent.op, _PLAIN):
            child = parent
        match parent:
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name
            case ast.AugAssign(target=ast.Name(id=name), op=op) if isinstance(op, _PLAIN):
                return name
        return None

    @cached_property
    def floating(self) -> Floating:
        """What surely holds floating-point numbers where the scan does not raise."""
        plain = Floating(self.context)
        settled = set()
        for name in self.state.carried:
            like = self._same_type(self.carries.starts(name))
            if like is not None and self._becomes_floating(name, plain):
                settled.add(like)
        return Floating(self.context, frozenset(settled)) if settled else plain

    def _same_type(self, starts: list[ast.expr]) -> str | None:
        """The argument of the function whose type the state starts with."""
        match starts:
            case [ast.Call(func=maker, args=[ast.Name(id=like)], keywords=[])]:
                if self.context.resolve(maker) not in _LIKE:
                    return None
            case [ast.Name(id=like)]:
                pass
            case _:
                return None
        free = like in self.context.parameters and like not in self.context.assigned
        return like if free else None

    def _becomes_floating(self, name: str, plain: Floating) -> bool:
        """Whether every iteration surely gives the name such numbers."""
        match [s for s in self.loop.body if name in binds(s)]:
            case [ast.Assign(targets=[ast.Name()], value=value)]:
                return plain.holds(value)
            case [ast.AugAssign(target=ast.Name(), value=value)]:
                return plain.holds(value)
        return False


def _operands(node: ast.expr) -> set[str]:
    """The names that sums and products of an expression are made of."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _PLAIN):
            return _operands(left) | _operands(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _operands(operand)
    return set()
