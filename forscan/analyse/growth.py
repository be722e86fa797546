"""Python numbers as state that grow beyond 32 bits, or of which something is made that does.

A Python int has no bounds. Carried by a scan it is an int32, which wraps around without
an error: `w = 2 * w` over 40 iterations ends at 0, and so does `2 ** count`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping

from forscan.analyse.carries import Carries
from forscan.analyse.floating import Floating
from forscan.analyse.numbers import LARGEST_INDEX, Numbers
from forscan.analyse.state import State, carries_of
from forscan.analyse.traced_bounds import traced_parameters
from forscan.analyse.use import Kind, Use
from forscan.analyse.uses import StateUses
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import annotations_of, defaults, target_names
from forscan.syntax.walk import walk, walk_all

_LARGE_STEP = 10_000


def growing_integers(
    loop: ast.For,
    state: State,
    context: FunctionContext,
    items: Mapping[str, type],
    trips: int | None,
) -> Iterator[Refusal]:
    """A refusal for each integer that may grow too large, or of which something does.

    Args:
      items: the types of the Python numbers that the loop iterates.
      trips: the number of iterations, where it is known.
    """
    carries = carries_of(loop, state, context)
    known = {n for n in state.carried if is_integer(carries.start(n))}
    integers = that_stay(known | bare_arguments(carries), carries)
    uses = StateUses(loop, context, state.live_after)
    for name in sorted(integers | {n for n, kind in items.items() if kind is int}):
        for use in uses.of(name):
            if _may_wrap(use, context):
                yield refuse(
                    "FSC403",
                    use.node,
                    f"{name} may be a Python integer and is used as {use.what}: carried as int32 it "
                    "would wrap around without an error",
                    "Start from a float, or compute the numbers before the loop in Python.",
                )
                break
    yield from _beyond_single(carries, trips)
    for name in state.carried:
        if name in integers:
            for update in carries.updates(name):
                small = name not in known and _stays_small(update, trips)
                if not small and _grows_fast(update, integers, context):
                    yield refuse(
                        "FSC403",
                        update,
                        f"{name} may be a Python integer that grows fast: carried as int32 it would "
                        "wrap around without an error",
                        f"Annotate {name} as jax.Array or start from a float, or compute the numbers before "
                        "the loop in Python.",
                    )
                    break


def _beyond_single(carries: Carries, trips: int | None) -> Iterator[Refusal]:
    """Floats that grow by a factor until only double precision holds them."""
    for name in sorted(that_stay(carries.numbers, carries, floats=True)):
        start = carries.start(name)
        assert start is not None
        for update in carries.updates(name):
            factor = _factor(update, name)
            if trips and factor and _digits(ast.literal_eval(start)) + trips * factor > 38:
                yield refuse(
                    "FSC403",
                    update,
                    f"{name} is a Python number that grows beyond what single precision holds: "
                    "carried by a scan it would become infinite",
                    "Carry its logarithm, or compute the numbers before the loop in Python.",
                )
                break


def _factor(update: ast.expr, name: str) -> float:
    """The decimal digits by which a number grows: 1 in `p * 10.0`, 0 if it does not."""
    match update:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Mult(), right=ast.Constant(value=value)):
            return max(_digits(value), 0) if left == name else 0
        case ast.BinOp(left=ast.Constant(value=value), op=ast.Mult(), right=ast.Name(id=right)):
            return max(_digits(value), 0) if right == name else 0
        case ast.BinOp(left=ast.Name(id=left), op=ast.Div(), right=ast.Constant(value=value)):
            return max(-_digits(value), 0) if left == name else 0
    return 0


def _digits(value: object) -> float:
    return math.log10(abs(value)) if isinstance(value, int | float) and value else 0


def that_stay(numbers: set[str], carries: Carries, *, floats: bool = False) -> set[str]:
    """The state that remains Python numbers: what takes in an array is an array.

    Args:
      numbers: the state that starts as such.
      floats: whether they may be floats, too.
    """
    while True:
        stay = {
            n
            for n in numbers
            if all(_is_python(u, numbers, carries, floats) for u in carries.updates(n))
        }
        if stay == numbers:
            return stay
        numbers = stay


def bare_arguments(carries: Carries) -> set[str]:
    """Arguments as state that may be Python numbers when the loop starts."""
    context = carries.context
    if context.observed:
        return set()  # calls have shown what they are, or are verified
    free = set(context.parameters) - set(traced_parameters(context))
    return {n for n in free & set(carries.carried) if not carries.starts(n) and context.is_bare(n)}


def _may_wrap(use: Use, context: FunctionContext) -> bool:
    """Whether Python makes something of integers alone that int32 arithmetic may not."""
    if use.kind is not Kind.HAZARD or use.value is None:
        return False
    growing = (n for n in walk(use.value) if isinstance(n, ast.BinOp))
    return any(
        isinstance(n.op, ast.Pow | ast.LShift | ast.Mult)
        and use.node in walk(n)
        and not _is_of_floats(n, context)
        for n in growing
    )


def _is_of_floats(value: ast.expr, context: FunctionContext) -> bool:
    """Whether floating-point numbers are in an expression: they do not wrap around."""
    numbers, floating = Numbers(context, ""), Floating(context)
    return any(
        (numbers.is_number(n) and numbers.is_float(n)) or floating.holds(n) or _is_said(n, context)
        for n in walk(value)
        if isinstance(n, ast.expr)
    )


def _is_said(node: ast.expr, context: FunctionContext) -> bool:
    """Whether an argument is a float by its annotation or its default."""
    if not isinstance(node, ast.Name) or isinstance(context.node, ast.Module):
        return False
    arguments = context.node.args
    match annotations_of(arguments).get(node.id), defaults(arguments).get(node.id):
        case (ast.Name(id="float"), _) | (_, ast.Constant(value=float())):
            return True
    return False


def is_integer(start: ast.expr | None) -> bool:
    """Whether state starts as an integer that is written out."""
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


def _is_python(update: ast.expr, numbers: set[str], carries: Carries, floats: bool) -> bool:
    """Whether an update is made of Python numbers only."""
    known = Numbers(carries.context, "")
    counters = _counters(carries.loop, carries.context)
    for node in walk(update):
        if isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.Lambda):
            return False
        if not floats and isinstance(node, ast.Div):
            return False
        if not floats and isinstance(node, ast.Constant) and isinstance(node.value, float):
            return False
        if isinstance(node, ast.Name) and node.id not in numbers | counters:
            if not known.is_known(node.id):
                return False
    return True


def _stays_small(update: ast.expr, trips: int | None) -> bool:
    """Whether an argument of the size of an index, if it is an integer at all, has room to grow."""
    if trips is None or any(isinstance(n, ast.Pow | ast.LShift) for n in walk(update)):
        return False
    given = (n.value for n in walk(update) if isinstance(n, ast.Constant))
    factor = max([2, *(abs(v) for v in given if isinstance(v, int))])
    return trips < 32 and LARGEST_INDEX * factor**trips < 2**31


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
