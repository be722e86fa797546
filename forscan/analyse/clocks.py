"""Numbers as state that Python computes with in double precision, where that is seen.

Carried by a scan a clock is rounded in each iteration: that is a small difference, but
`t > 0.5` may be true one iteration earlier, and `1 - 0.999**t` has only half of its digits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from forscan.analyse.carries import Carries
from forscan.analyse.growth import bare_arguments, that_stay
from forscan.analyse.numbers import Numbers
from forscan.analyse.state import State, carries_of
from forscan.analyse.use import Kind, Use
from forscan.analyse.uses import StateUses
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.walk import walk


def jumping_clocks(
    loop: ast.For, state: State, context: FunctionContext, items: Mapping[str, type]
) -> Iterator[Refusal]:
    """A refusal for each clock whose rounding is seen, unless calls are verified.

    Args:
      items: the types of the Python numbers that the loop iterates.
    """
    if context.observed:
        return
    carries = carries_of(loop, state, context)
    clocks = that_stay(carries.numbers | bare_arguments(carries), carries, floats=True)
    floats = frozenset(n for n in clocks if _is_float(n, carries))
    floats |= {n for n, kind in items.items() if kind is float}
    uses = StateUses(loop, context, state.live_after, floats)
    for name in sorted(clocks.union(items)):
        for use in uses.of(name):
            seen = _seen(use, name in floats) if use.kind is Kind.HAZARD else None
            if seen is not None:
                yield refuse(
                    "FSC410",
                    use.node,
                    f"{name} is a Python number, or may be one, with which Python computes in double "
                    f"precision, and is used as {use.what}: {seen}",
                    "Compute it from the index, `t = i * dt`, or make it an array: jnp.zeros(()).",
                )
                break


def _is_float(name: str, carries: Carries) -> bool:
    """Whether a float is in what a number starts from or becomes."""
    start = carries.start(name)
    made = [*([start] if start is not None else []), *carries.updates(name)]
    numbers = Numbers(carries.context, "")
    parts = [n for part in made for n in walk(part) if isinstance(n, ast.expr)]
    return any(numbers.is_number(n) and numbers.is_float(n) for n in parts)


def _seen(use: Use, is_float: bool) -> str | None:
    """What single precision does to a result, where it is more than a small difference."""
    divided = is_float and "remainder" in use.what
    if divided or "float" in use.what or use.what.startswith("an argument of jax"):
        return "in single precision that may jump in another iteration"
    powers = (n for n in walk(use.value) if isinstance(n, ast.BinOp)) if use.value else ()
    if any(isinstance(n.op, ast.Pow) and use.node in walk(n.right) for n in powers):
        return "in single precision `1 - 0.999**t` loses half of its digits"
    return None
