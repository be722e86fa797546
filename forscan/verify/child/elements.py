"""Operations that work on each element for itself."""

from __future__ import annotations

import math
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


class Elements:
    """Numbers the elements of what such operations compute.

    Args:
      graph, freezer: of the walk.
      fine: arrays up to this size are computed with element by element, so that work on
        a table is the same as work on its rows; larger ones as a whole.
    """

    def __init__(self, graph: Graph, freezer: Freezer, fine: int) -> None:
        self.graph = graph
        self.freezer = freezer
        self.fine = fine
        self._hows: dict[int, tuple[Any, int]] = {}

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
        if math.prod(aval.shape) <= self.fine:
            return self._one_by_one(how, swaps, operands, aval.shape)
        contents = [self.graph.content(v) for v in operands]
        key = (how, aval.shape, tuple(sorted(contents) if swaps else contents))
        return self.graph.node(key, aval.shape)

    def _how(self, equation: Any, name: str) -> int:
        """What is done with each element."""
        found = self._hows.get(id(equation))
        if found is None:
            params = {k: v for k, v in equation.params.items() if k not in _IRRELEVANT}
            dtype = str(equation.outvars[0].aval.dtype)
            key = (name, self.freezer.freeze(params), dtype)
            found = self._hows[id(equation)] = (equation, self.graph.intern(key))
        return found[1]

    def _one_by_one(self, how: int, swaps: bool, operands: list[Value], shape: Shape) -> Value:
        columns = [np.broadcast_to(v.ids, shape).reshape(-1).tolist() for v in operands]
        scalar = self.graph.scalar
        rows = zip(*columns, strict=True)
        if swaps:
            ids = [scalar((how, *sorted(row))) for row in rows]
        else:
            ids = [scalar((how, *row)) for row in rows]
        return self.graph.value(np.array(ids, np.int64).reshape(shape))

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


# What says where or how weakly typed the result is, not how it is computed.
_IRRELEVANT = ("weak_type", "sharding")
