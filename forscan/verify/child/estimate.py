"""What compiling a long unrolled loop would take, from copies with few iterations.

Compiling such a loop grows as a power of its iterations, and may take hours. The other
version has the same loop as a scan: a few of its iterations unrolled are compiled, twice
as many, and so on, and the growth is carried on to the whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core

from .program import Program, inner_jaxprs, scan_operands, work

_TRIPS = (2, 4, 8, 16, 32, 64)
_LIGHT = 1500  # operations that surely compile in seconds
_FEWEST = 3  # copies, however long they take
_LEAST = 1.25  # power of growth: short copies grow less than long loops do
_SHARE = 0.5  # of the time that is left, for compiling the whole
_BUDGET = 0.1  # of it, for the copies


@dataclass(frozen=True)
class Estimate:
    """Seconds to compile, carried on from copies of the loop.

    Attributes:
      seconds: for the whole.
      fit: how that was found, with how far the copies are from the curve.
    """

    seconds: float
    fit: str


def too_long(heavy: Program, light: Program, deadline: float) -> Estimate | None:
    """An estimate for the program that is unrolled, where it would take too long.

    Args:
      heavy, light: the two versions, traced.
      deadline: by `time.monotonic`, when there should be a verdict.
    """
    left = deadline - time.monotonic()
    loops = sorted(_scans(light.jaxpr.jaxpr), key=lambda e: e.params["length"] * _body_work(e))
    if work(heavy.jaxpr.jaxpr) <= max(_LIGHT, 4 * work(light.jaxpr.jaxpr)) or not loops:
        return None
    points = _compiled(loops[-1], _BUDGET * left)
    if len(points) < 2:
        return None
    found = _carried_on(points, work(heavy.jaxpr.jaxpr) / _body_work(loops[-1]))
    return found if found.seconds > _SHARE * left else None


def _scans(jaxpr: Any) -> Iterator[Any]:
    """The outermost scans of a program."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan" and equation.params["length"] > 0:
            yield equation
        else:
            for inner in inner_jaxprs(equation):
                yield from _scans(inner)


def _body_work(equation: Any) -> int:
    return max(1, work(equation.params["jaxpr"].jaxpr))


def _compiled(equation: Any, budget: float) -> list[tuple[int, float]]:
    """Iterations and the seconds that compiling them unrolled takes."""
    end = time.monotonic() + budget
    points: list[tuple[int, float]] = []
    for trips in _TRIPS:
        # The next point takes about four times as long as the last one.
        late = len(points) >= _FEWEST and time.monotonic() + 4 * points[-1][1] > end
        if late or trips > equation.params["length"]:
            break
        lowered = _copy(equation, trips)
        start = time.perf_counter()
        lowered.compile()
        points.append((trips, time.perf_counter() - start))
    return points[1:][-3:]  # the first one also starts the compiler, and small ones grow less


def _copy(equation: Any, trips: int) -> Any:
    """A few iterations of a scan, unrolled and lowered; nothing is run."""
    params = equation.params
    closed = params["jaxpr"]
    first, last = scan_operands(equation)
    body = jax.extend.core.jaxpr_as_fun(closed)

    def some(*values: Any) -> Any:
        consts, carry, xs = values[:first], list(values[first:last]), values[last:]
        ys = []
        for index in range(trips):
            outs = body(*consts, *carry, *(x[index] for x in xs))
            carry = outs[: len(carry)]
            ys.append(outs[len(carry) :])
        return carry, ys

    types = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    return jax.jit(some).lower(*types)


def _carried_on(points: list[tuple[int, float]], trips: float) -> Estimate:
    """The power law through some points, by least squares of the logarithms."""
    xs = [math.log(n) for n, _ in points]
    ys = [math.log(t) for _, t in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    power = min(max(slope / sum((a - x) ** 2 for a in xs), _LEAST), 3.0)
    errors = [b - y - power * (a - x) for a, b in zip(xs, ys, strict=True)]
    spread = math.exp(max(map(abs, errors))) - 1
    seconds = math.exp(y + power * (math.log(trips) - x))
    copies = ", ".join(str(n) for n, _ in points)
    fit = f"extrapolated from {copies} iterations, growing as n^{power:.2f} within {spread:.0%}"
    return Estimate(seconds, fit)
