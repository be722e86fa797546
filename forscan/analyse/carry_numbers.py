"""State that starts as a Python number: a scan promotes it in one pass, and may round it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator

from forscan.analyse.carries import Carries, is_number
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import binds, names_in, reads
from forscan.syntax.walk import walk


def feeding_each_other(carries: Carries, name: str) -> Iterator[Refusal]:
    """A number that takes in another one, which an array is put into."""
    for update in carries.updates(name):
        names = set(reads(update))
        if isinstance(update, ast.Name):
            continue  # a shift: right in float32, a loud type error in half precision
        others = (names & carries.numbers) - {name}
        if not others or names - carries.numbers or _written_first(carries, others, update):
            continue
        fed = [
            o for o in others if any(set(reads(u)) - carries.numbers for u in carries.updates(o))
        ]
        if fed:
            yield refuse(
                "FSC413",
                update,
                f"{name} and {', '.join(sorted(fed))} start as Python numbers and feed each "
                "other: a scan promotes such starts in one pass only",
                "Give the starts the dtype of the arrays: jnp.zeros((), x.dtype).",
            )
            return


def _written_first(carries: Carries, names: set[str], update: ast.expr) -> bool:
    """Whether the body gives the names a new value before the update reads them."""
    first = (min((u.lineno for u in carries.updates(n)), default=update.lineno) for n in names)
    return all(line < update.lineno for line in first)


def rounded(carries: Carries, name: str, start: ast.expr) -> Iterator[Refusal]:
    """A start that a scan may round, and that more than the update sees.

    Promoted to bfloat16, `0.1` is another number; `1.0` is not. Where the first iteration
    makes nothing of it but its next value, that is of the same type in Python.
    """
    numbers = [e for e in _items(start) if is_number(e) and not _is_short(e)]
    first = next((s for s in carries.loop.body if name in names_in(s)), None)
    if not numbers or first is None:
        return
    if isinstance(first, ast.Assign | ast.AugAssign) and name in binds(first):
        return
    for update in carries.updates(name):
        if any(n not in carries.numbers and not carries.is_module(n) for n in reads(update)):
            number = ast.unparse(numbers[0])
            yield refuse(
                "FSC406",
                update,
                f"{name} starts from the number {number}, which a scan rounds where {name} "
                "becomes an array of half precision, also for what else is made of it",
                f"Start from an array: jnp.full((), {number}, x.dtype).",
            )
            return


def _items(start: ast.expr) -> Iterable[ast.expr]:
    return start.elts if isinstance(start, ast.Tuple) else [start]


def _is_short(number: ast.expr) -> bool:
    """Whether a number is the same in half precision: bfloat16 has eight digits."""
    value = ast.literal_eval(number)
    return isinstance(value, complex) or (math.frexp(value)[0] * 256) % 1 == 0


def weak_visitor(carries: Carries, name: str) -> Iterator[Refusal]:
    """An array that is handed a Python number, as in a swap: its type alternates."""
    half = carries.context.module.names_half_precision
    is_weak = carries.may_be_weak if half else carries.is_weak
    starts = {n: carries.start(n) for n in carries.carried}
    weak = {n for n, start in starts.items() if start is not None and is_weak(start)}
    if name in weak:
        yield from _taking_turns(carries, name, weak)
        return
    for update in carries.updates(name):
        given = {n for n in reads(update) if not carries.is_module(n)}
        handed = isinstance(update, ast.Name) or _feeds(carries, name, given)
        if given and given <= weak and handed:
            visitor = min(given)
            yield refuse(
                "FSC413",
                update,
                f"{name} is handed {visitor}, which starts as a Python number: the type of "
                f"{name} changes from one iteration to the next",
                f"Start {visitor} from an array: jnp.zeros((), x.dtype).",
            )
            return


def _taking_turns(carries: Carries, name: str, weak: set[str]) -> Iterator[Refusal]:
    """An integer and another number that are only ever swapped: in Python each keeps its type."""
    others = [u.id for u in carries.updates(name) if isinstance(u, ast.Name) and u.id in weak]
    for other in others:
        swapped = all(isinstance(u, ast.Name) for u in carries.updates(other))
        if swapped and other != name and _is_whole(carries, name) != _is_whole(carries, other):
            yield refuse(
                "FSC413",
                carries.updates(name)[0],
                f"{name} and {other} start as numbers of different types and are only swapped: "
                "a scan gives both the type of one",
                "Start both from integers, or both from floating-point numbers.",
            )
            return


def _is_whole(carries: Carries, name: str, depth: int = 4) -> bool:
    """Whether a name starts as a Python integer."""
    start = carries.start(name)
    if start is None or depth == 0:
        return False
    for part in walk(start):
        if isinstance(part, ast.Call):
            return False
        if isinstance(part, ast.Constant) and not isinstance(part.value, int):
            return False
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            return False
        if isinstance(part, ast.Name) and not _is_whole(carries, part.id, depth - 1):
            return False
    return True


def _feeds(carries: Carries, name: str, others: set[str]) -> bool:
    """Whether one of the names is updated with this one."""
    return any(name in reads(u) for other in others for u in carries.updates(other))
