"""fori_loop has no xs: what an iteration takes is read at the index."""

from __future__ import annotations

import ast

from forscan.analyse.arrays import Evidence, evidence
from forscan.model import Counter, Element, Loop, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.syntax.code import Code, expression
from forscan.syntax.names import binds, target_names


def xs_to_index(draft: Draft) -> Draft:
    """Elements become reads at the head of the body, for fori_loop only."""
    if draft.target != "fori_loop" or not draft.loop.elements:
        return draft
    loop = draft.loop
    counter = loop.counter
    before: list[str] = []
    head: list[str] = []
    sources: list[str] = []
    bound = _bound(loop)
    for element in loop.elements:
        source, made = element.source, element.source
        if evidence(expression(source), draft.context) is Evidence.NUMPY:
            made = f"{draft.spelling.jnp}.asarray({source})"  # a tracer cannot index it
        if made != source or not source.isidentifier() or source in bound:
            source = draft.fresh.name(*_wishes(element), "items")
            before.append(f"{source} = {made}")
        sources.append(source)
    if counter is None:
        lengths = (_length(e, s) for e, s in zip(loop.elements, sources, strict=True))
        stop = next((length for length in lengths if length), loop.length)
        assert stop is not None
        counter = Counter(draft.fresh.name("i", "k"), stop)
    if counter.step != "1":
        raise Refused(
            Refusal(
                "FSC201",
                "the items are taken in steps, and fori_loop counts by one",
                "Convert to a scan.",
            )
        )
    offset = "" if counter.start == "0" else f" - {counter.start}"
    for element, source in zip(loop.elements, sources, strict=True):
        place = f"{counter.name}{offset}"
        if element.is_array:
            head.append(f"{element.target} = {source}[{place}]")
        else:
            head.append(f"{element.target} = {draft.spelling.sliced_leaves(source, place)}")
    body = Code("\n".join([*head, loop.body.text]))
    return draft.with_loop(body=body, counter=counter, elements=(), before=(*loop.before, *before))


def _length(element: Element, source: str) -> str | None:
    """The trip count, where an element shows it; `source` is what it is taken from by now."""
    own = f"len({ast.unparse(expression(element.source))})"
    if element.is_array and element.length in (None, own):
        return f"len({source})"
    return element.length


def _bound(loop: Loop) -> set[str]:
    """The names that an iteration binds: they are iterated as they are before the loop."""
    targets = (target_names(expression(carry.target)) for carry in loop.carries)
    return set(binds(loop.body.statements)).union(*targets)


def _wishes(element: Element) -> list[str]:
    """Names for all items that one is taken from."""
    target = element.target
    several = f"{target}_rows" if target.endswith("s") else f"{target}s"
    return [several, f"{target}_items"] if target.isidentifier() else []
