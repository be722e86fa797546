"""Copies of a program whose loops are cut short, and what the whole would cost by them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .call import Call
from .cuts import Cuts, Loop, Shape
from .estimate import LEAST_OF_COMPILING
from .fit import Estimate, carried_on
from .program import Program

_TRIPS = (2, 4, 8, 16, 32, 64)
_FEWEST = 2  # copies, however long they take
_SHOWN = 3  # copies that the growth is taken from: small ones grow less
_SOON = 3.0  # seconds of building the copy that is compared, among those that are built


@dataclass(frozen=True)
class Copy:
    """One copy, built but not run.

    Attributes:
      trips: what its loops were cut to.
      shape: of the loops, as they would be.
      equations: of its trace.
      trace_s, compile_s: seconds that tracing and compiling it took.
      run, whole: iterations at each depth, in the copy and in the whole.
    """

    trips: int
    shape: Shape
    equations: int
    trace_s: float
    compile_s: float
    run: list[float]
    whole: list[float]


def copies(call: Call, cuts: Cuts, end: float) -> list[Copy]:
    """Copies with loops of 2, 4, 8, ... iterations, as many as there is time for.

    Args:
      end: no later than this, by `time.monotonic`.
    """
    found: list[Copy] = []
    for trips in _TRIPS:
        if len(found) >= _FEWEST and time.monotonic() + _next(found) > end:
            break
        with cuts.to(trips):
            program = Program(call)
            program.trace()
            shape, loops = cuts.shape, cuts.loops
            program.compile()
        stages = program.stages
        seconds = stages.trace_s[0], stages.lower_s[0] + stages.compile_s[0]
        run, whole = _iterations(loops, whole=False), _iterations(loops, whole=True)
        found.append(Copy(trips, shape, program.equations, *seconds, run, whole))
        if run == whole:
            break
    return found


def compared(found: Sequence[Copy]) -> Copy:
    """The largest copy that is built soon."""
    soon = [c for c in found if c.trace_s + c.compile_s < _SOON]
    return soon[-1] if soon else found[0]


def figures(found: Sequence[Copy], traced: Program | None) -> dict[str, Any]:
    """What the whole would cost, all of it extrapolated but what was traced."""
    last = found[-_SHOWN:]
    named = f"copies with loops of {', '.join(str(c.trips) for c in last)} iterations"
    equations = _equations(found) if traced is None else traced.equations

    def estimate(seconds: Sequence[float], least: float) -> Estimate:
        sizes = [float(c.equations) for c in last]
        return carried_on(list(zip(sizes, seconds, strict=True)), equations, named, least)

    compiling = estimate([c.compile_s for c in last], LEAST_OF_COMPILING)
    costs = {"equations": equations, "compile_s": compiling.seconds, "compile_fit": compiling.fit}
    if traced is not None:
        return costs | {"trace_s": traced.stages.trace_s[0]}
    tracing = estimate([c.trace_s for c in last], 1.0)
    return costs | {"trace_s": tracing.seconds, "trace_fit": tracing.fit}


def _next(found: Sequence[Copy]) -> float:
    """Seconds that the next copy will take at least, each loop in another twice as long."""
    before, last = (c.trace_s + c.compile_s for c in found[-2:])
    return last * max(2.0 ** len(found[-1].run), last / before)


def _equations(found: Sequence[Copy]) -> int:
    """How many the whole has: each depth of loops has so many for an iteration."""
    depth = max(len(c.whole) for c in found)
    rows = [[1.0, *c.run, *[0.0] * (depth - len(c.run))] for c in found]
    each, *_ = np.linalg.lstsq(np.array(rows), np.array([c.equations for c in found]), rcond=None)
    return round(float(np.dot([1.0, *found[-1].whole], each)))


def _iterations(loops: Sequence[Loop], *, whole: bool) -> list[float]:
    """How many are written out at each depth, as they were run or as they would be."""
    found: list[float] = []
    for loop in loops:
        own, times = 0.0, 1.0
        if loop.written_out:
            own = float(len(loop.rounds))
            if whole and loop.count and loop.rounds:
                times, own = loop.count / own, float(loop.count)
        rounds = loop.rounds if loop.written_out else loop.rounds[-1:]
        found = _sum(found, [own])
        for each in rounds:
            inner = [times * n for n in _iterations(each, whole=whole)]
            found = _sum(found, [0.0, *inner])
    return found


def _sum(a: list[float], b: list[float]) -> list[float]:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    return [n + (shorter[k] if k < len(shorter) else 0.0) for k, n in enumerate(longer)]
