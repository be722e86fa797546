"""In a scan the index is carried, scanned over, or dropped.

Carried from a Python int it stays weakly typed, as it was; elements of jnp.arange are
strongly typed, which is the same only where the index is used as nothing but an index.
"""

from __future__ import annotations

from dataclasses import replace

from forscan.analyse.trip_count import add, literal_int
from forscan.model import Carry, Counter, Element
from forscan.passes.draft import Draft
from forscan.syntax.code import expression
from forscan.syntax.names import reads
from forscan.syntax.parsing import parse_expression


def index_to_carry(draft: Draft) -> Draft:
    """Settles the induction variable of a scan."""
    counter = draft.loop.counter
    if draft.target != "scan" or counter is None:
        return draft
    length = trip_count(counter)
    used = counter.name in reads(draft.loop.body.statements) or _in_outputs(draft)
    if not used:
        return _without(draft, length)
    if draft.weak_index:
        return _carried(draft, counter, length)
    source = f"{draft.spelling.jnp}.arange({counter.range})"
    element = Element(counter.name, source)
    return draft.with_loop(counter=None, elements=(*draft.loop.elements, element))


def trip_count(counter: Counter) -> str:
    """The number of iterations as Python, as short as it can be."""
    numbers = [literal_int(expression(t)) for t in (counter.start, counter.stop, counter.step)]
    if None not in numbers:
        return str(len(range(*(n for n in numbers if n is not None))))
    start = numbers[0]
    if counter.step == "1" and start is not None:
        return add(counter.stop, -start)
    return f"len(range({counter.range}))"


def _in_outputs(draft: Draft) -> bool:
    texts = [o.value for o in draft.loop.outputs] + [c.update for c in draft.loop.carries]
    return any(
        draft.loop.counter is not None and draft.loop.counter.name in reads(expression(t))
        for t in texts
    )


def _without(draft: Draft, length: str) -> Draft:
    """No index: the elements give the length where one of them surely does."""
    needed = not _give_length(draft)
    return draft.with_loop(counter=None, length=length if needed else draft.loop.length)


def _give_length(draft: Draft) -> bool:
    """Whether an element tells the trip count; a scan checks the others against it."""
    return any(e.gives_length for e in draft.loop.elements)


def _carried(draft: Draft, counter: Counter, length: str) -> Draft:
    first, step = counter.start, counter.step
    if draft.loop.reverse:
        first, step = add(counter.stop, -1), "-1"
    number = literal_int(parse_expression(step))
    update = add(counter.name, number) if number else f"{counter.name} + {step}"
    carry = Carry(counter.name, first, update, None)
    loop = replace(
        draft.loop,
        counter=None,
        carries=(*draft.loop.carries, carry),
        length=draft.loop.length if _give_length(draft) else length,
        reverse=draft.loop.reverse and bool(draft.loop.elements or draft.loop.outputs),
    )
    return replace(draft, loop=loop)
