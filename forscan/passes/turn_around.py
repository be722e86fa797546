"""A scan over arrays that are all turned around goes over them from the other end."""

from __future__ import annotations

from dataclasses import replace

from forscan.model import Element
from forscan.passes.draft import Draft
from forscan.syntax.slices import reversed_of


def turn_around(draft: Draft) -> Draft:
    """Takes `[::-1]` from all elements, where no outputs would have to be turned as well."""
    loop = draft.loop
    if draft.target != "scan" or loop.outputs or not loop.elements:
        return draft
    whole = [_turned(e) for e in loop.elements]
    if loop.counter is not None or None in whole:
        return draft
    pairs = zip(loop.elements, whole, strict=True)
    elements = tuple(replace(e, source=s) for e, s in pairs if s is not None)
    return draft.with_loop(elements=elements, reverse=not loop.reverse)


def _turned(element: Element) -> str | None:
    """The array that an element is the reverse of."""
    return reversed_of(element.source) if element.is_array else None
