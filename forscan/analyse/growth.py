"""Python integers as state that grow beyond int32.

A Python int has no bounds. Carried by a scan it is an int32, which wraps around without
an error: `w = 2 * w` over 40 iterations ends at 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.numbers import LARGEST_INDEX, Numbers
from forscan.analyse.state import State, carries_of
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import target_names
from forscan.syntax.walk import walk, walk_all

_LARGE_STEP = 10_000


def growing_integers(loop: ast.For, state: State, context: FunctionContext) -> Iterator[Refusal]:
    """A refusal for each integer that may grow too large."""
    carries = carries_of(loop, state, context)
    integers = {n for n in state.carried if _is_integer(carries.start(n))}
    while True:  # state that takes in an array is an array, with a float it is floating point
        arrays = {
            n
            for n in integers
            if not all(_is_python(u, integers, loop, context) for u in carries.updates(n))
        }
        if not arrays:
            break
        integers -= arrays
    for name in state.carried:
        if name in integers:
            for update in carries.updates(name):
                if _grows_fast(update, integers, context):
                    yield refuse(
                        "FSC403",
                        update,
                        f"{name} is a Python integer that grows fast: carried as int32 it would "
                        "wrap around without an error",
                        "Start from a float, or compute the numbers before the loop in Python.",
                    )
                    break


def _is_integer(start: ast.expr | None) -> bool:
    return (
        isinstance(start, ast.Constant)
        and isinstance(start.value, int)
        and not isinstance(start.value, bool)
    )


def _counters(loop: ast.For, context: FunctionContext) -> set[str]:
    """Targets that are Python integers."""
    if isinstance(loop.iter, ast.Call):
        path = context.resolve(loop.iter.func)
        if path == "range":
            return set(target_names(loop.target))
        if path == "enumerate" and isinstance(loop.target, ast.Tuple):
            return set(target_names(loop.target.elts[0]))
    return set()


def _is_python(
    update: ast.expr, integers: set[str], loop: ast.For, context: FunctionContext
) -> bool:
    """Whether an update is made of Python integers only."""
    known = Numbers(context, "")
    counters = _counters(loop, context)
    for node in walk(update):
        if isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.Lambda | ast.Div):
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return False
        if isinstance(node, ast.Name) and node.id not in integers | counters:
            if not known.is_known(node.id):
                return False
    return True


def _grows_fast(update: ast.expr, integers: set[str], context: FunctionContext) -> bool:
    own = [n for n in walk(update) if isinstance(n, ast.Name) and n.id in integers]
    if not own:
        return False
    if any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult | ast.Pow | ast.LShift)
        for n in walk_all([update])
    ):
        return True
    if len(own) > 1:
        return True  # a sum of states doubles
    numbers = Numbers(context, "", LARGEST_INDEX)
    others = [n for n in walk(update) if isinstance(n, ast.Constant | ast.Name)]
    return any(numbers.magnitude(n) > _LARGE_STEP for n in others if n not in own)
