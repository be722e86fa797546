"""The first iteration that differs: both versions run again, their loop cut short.

Only loops in functions that differ are cut, and only where both versions go through one
such loop, for the same number of iterations: else iterations do not answer to each other.
"""

from __future__ import annotations

import time
from typing import Any

import jax

from .call import Call
from .compare import compare
from .cuts import Versions
from .program import Result

_BUDGET = 20.0  # seconds


def first_iteration(
    versions: Versions, calls: tuple[Call, Call], data: list[Any], until: float
) -> str:
    """Such as `iteration 3 of 50`, the first one counted as 1; empty where it is not known.

    Args:
      versions: whose loops can be cut.
      calls: of the versions.
      data: in place of the data in the calls.
      until: no later than this, by `time.monotonic`.
    """
    until = min(until, time.monotonic() + _BUDGET)

    def differs(trips: int | None) -> bool:
        with versions.to(None, trips), jax.disable_jit():
            want, have = (Result.of(call.split()[1](data)) for call in calls)
            return bool(compare(want, have, lambda: None).reason)

    differing = differs(None)
    loops = [cuts.loops for cuts in (versions.old, versions.new)]
    lengths = [[loop.count for loop in each] for each in loops]
    if lengths[0] != lengths[1] or len(lengths[0]) != 1 or not differing:
        return ""
    fine, wrong = 0, min(len(each[0].rounds) for each in loops)
    if wrong < 1:
        return ""
    while wrong - fine > 1:
        if time.monotonic() > until:
            return ""
        # Near the beginning first: such runs are short, and it is often the first one.
        middle = min((fine + wrong) // 2, max(1, 2 * fine))
        fine, wrong = (fine, middle) if differs(middle) else (middle, wrong)
    return f"iteration {wrong} of {lengths[0][0]}"
