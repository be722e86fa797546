"""Operations that work on each element for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .fold import fold
from .freeze import Freezer
from .graph import Array, Graph, Shape, Value
from .ops import (
    COMMUTATIVE,
    FLIPPED,
    INTEGER_COMMUTATIVE,
    NEUTRAL,
    NEUTRAL_INTEGERS,
    NEUTRAL_SUMS,
)

Terms = tuple[int, ...]


class Elements:
    """Numbers the elements of what such operations compute.

    Args:
      graph, freezer: of the walk.
      fine: arrays up to this size are computed with element by element, so that work on
        a table is the same as work on its rows; larger ones as a whole.
      any_order: the sums that differentiation makes are the same whatever their order.
    """

    def __init__(self, graph: Graph, freezer: Freezer, fine: int, any_order: bool) -> None:
        self.graph = graph
        self.freezer = freezer
        self.fine = fine
        self.any_order = any_order
        self._hows: dict[int, tuple[Any, int]] = {}
        self._sums: dict[int, Terms] = {}
        self._whole_sums: dict[int, Terms] = {}

    def compute(self, equation: Any, ins: list[Value]) -> Value:
        name, aval = equation.primitive.name, equation.outvars[0].aval
        known = self.graph.all_known(ins, equation.invars)
        if known is not None:
            result = fold(name, known, equation.params, aval.dtype)
            if result is not None:
                return self.graph.constant(np.broadcast_to(result, aval.shape))
        kept = self._kept(name, ins, aval)
        if kept is None:
            return self._computed(equation, ins)
        ids, taken = kept
        if not taken.all():
            ids = np.where(taken, ids, self._computed(equation, ins).ids)
        return self.graph.value(ids)

    def _computed(self, equation: Any, ins: list[Value]) -> Value:
        aval = equation.outvars[0].aval
        name, flip = FLIPPED.get(equation.primitive.name, (equation.primitive.name, False))
        operands = ins[::-1] if flip else ins
        swaps = name in COMMUTATIVE or (name in INTEGER_COMMUTATIVE and aval.dtype.kind in "biu")
        how = self._how(equation, name)
        summed = self.any_order and equation.primitive.name == "add_any"
        if math.prod(aval.shape) <= self.fine:
            columns = [np.broadcast_to(v.ids, aval.shape).reshape(-1).tolist() for v in operands]
            rows = zip(*columns, strict=True)
            if summed:
                ids = [self._sum(how, row) for row in rows]
            else:
                ids = [self.graph.scalar((how, *(sorted(row) if swaps else row))) for row in rows]
            return self.graph.value(np.array(ids, np.int64).reshape(aval.shape))
        contents = [self.graph.content(v) for v in operands]
        if summed:
            return self._whole_sum(how, aval.shape, contents)
        key = (how, aval.shape, tuple(sorted(contents) if swaps else contents))
        return self.graph.node(key, aval.shape)

    def _sum(self, how: int, parts: Sequence[int]) -> int:
        """A sum by its terms, which may be sums themselves."""
        terms = _terms(self._sums, parts)
        found = self.graph.scalar((how, "sum", *terms))
        self._sums[found] = terms
        return found

    def _whole_sum(self, how: int, shape: Shape, contents: Sequence[int]) -> Value:
        terms = _terms(self._whole_sums, contents)
        found = self.graph.node((how, shape, "sum", terms), shape)
        self._whole_sums[self.graph.content(found)] = terms
        return found

    def _how(self, equation: Any, name: str) -> int:
        """What is done with each element."""
        found = self._hows.get(id(equation))
        if found is None:
            params = {k: v for k, v in equation.params.items() if k not in _IRRELEVANT}
            dtype = str(equation.outvars[0].aval.dtype)
            key = (name, self.freezer.freeze(params), dtype)
            found = self._hows[id(equation)] = (equation, self.graph.intern(key))
        return found[1]

    def _kept(self, name: str, ins: list[Value], aval: Any) -> tuple[Array, Array] | None:
        """Elements that the operation leaves as they are, and where; None without any."""
        neutral = NEUTRAL.get(name, NEUTRAL_SUMS.get(name))
        if neutral is None and aval.dtype.kind in "biu":
            neutral = NEUTRAL_INTEGERS.get(name)
        if neutral is None or aval.dtype.kind == "c":
            return None
        number = self.graph.number(np.asarray(neutral, aval.dtype)[()])
        ids, taken = None, np.zeros((), bool)
        for a, b in (ins, ins[::-1]) if name in COMMUTATIVE else (ins,):
            if b.start is not None or a.shape != aval.shape:
                continue
            here = b.ids == number
            if here.any():
                ids = np.where(here, a.ids, 0 if ids is None else ids)
                taken = taken | here
        return None if ids is None else (ids, np.broadcast_to(taken, aval.shape))


def _terms(sums: dict[int, Terms], parts: Sequence[int]) -> Terms:
    terms = sorted(t for p in parts for t in sums.get(p, (p,)))
    return tuple(terms if len(terms) <= _MANY_TERMS else sorted(parts))


_MANY_TERMS = 512
# What says where or how weakly typed the result is, not how it is computed.
_IRRELEVANT = ("weak_type", "sharding")
