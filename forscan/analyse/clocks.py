"""Floats as state that Python adds up in double precision, and of which something jumps.

Carried by a scan a clock is rounded in each iteration: that is a small difference, but
`t > 0.5` may be true one iteration earlier.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.growth import that_stay
from forscan.analyse.state import State, carries_of
from forscan.analyse.use import Kind, Use
from forscan.analyse.uses import Uses
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse


def jumping_clocks(loop: ast.For, state: State, context: FunctionContext) -> Iterator[Refusal]:
    """A refusal for each clock that something is compared with, unless calls are verified."""
    if context.observed:
        return
    carries = carries_of(loop, state, context)
    body = Uses(context, loop.body)
    for name in sorted(that_stay(carries.numbers, carries, floats=True)):
        for use in body.of(name, integer=True):
            if use.kind is Kind.HAZARD and _jumps(use):
                yield refuse(
                    "FSC410",
                    use.node,
                    f"{name} is a Python number, which adds up in double precision, and is used as "
                    f"{use.what}: carried in single precision it may jump in another iteration",
                    "Compute it from the index, `t = i * dt`, or start from an array: jnp.zeros(()).",
                )
                break


def _jumps(use: Use) -> bool:
    """Whether a small difference may make a large one."""
    return "float" in use.what or use.what.startswith("an argument of jax")
