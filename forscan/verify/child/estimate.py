"""What compiling a long unrolled loop would take, from copies with few iterations.

Compiling such a loop grows as a power of its iterations, and may take hours. The other
version has the same loop as a scan: a few of its iterations unrolled are compiled, twice
as many, and so on, and the growth is carried on to the whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.extend.core

from .fit import Estimate, carried_on
from .program import Program, inner_jaxprs, scan_operands, work

_TRIPS = (2, 4, 8, 16, 32, 64)
_LIGHT = 1500  # operations that surely compile in seconds
_FEWEST = 3  # copies, however long they take
LEAST_OF_COMPILING = 1.25  # power of growth
_SHARE = 0.5  # of the time that is left, for compiling the whole
_BUDGET = 0.1  # of it, for the copies


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
    copies = f"{', '.join(str(n) for n, _ in points)} iterations"
    trips = work(heavy.jaxpr.jaxpr) / _body_work(loops[-1])
    found = carried_on(points, trips, copies, LEAST_OF_COMPILING)
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
