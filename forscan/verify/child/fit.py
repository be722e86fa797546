"""A power law through what was measured on short copies, carried on to the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_MOST = 3.0  # power of growth


@dataclass(frozen=True)
class Estimate:
    """Seconds, carried on from copies of the loop.

    Attributes:
      seconds: for the whole.
      fit: how that was found, with how far the copies are from the curve.
    """

    seconds: float
    fit: str


def carried_on(
    points: Sequence[tuple[float, float]], whole: float, copies: str, least: float
) -> Estimate:
    """The power law through some points, by least squares of the logarithms.

    Args:
      points: sizes and the seconds that they take.
      whole: the size that is asked about.
      copies: what the points are, in words.
      least: power of growth: short copies grow less than long loops do.
    """
    xs = [math.log(n) for n, _ in points]
    ys = [math.log(t) for _, t in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    power = min(max(slope / sum((a - x) ** 2 for a in xs), least), _MOST)
    errors = [b - y - power * (a - x) for a, b in zip(xs, ys, strict=True)]
    spread = math.exp(max(map(abs, errors))) - 1
    seconds = math.exp(y + power * (math.log(whole) - x))
    fit = f"extrapolated from {copies}, growing as n^{power:.2f} within {spread:.0%}"
    return Estimate(seconds, fit)
