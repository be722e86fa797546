"""fori_loop counts up by one: other ranges get an index computed from that."""

from __future__ import annotations

from forscan.analyse.trip_count import add
from forscan.model import Counter, Loop
from forscan.passes.draft import Draft
from forscan.syntax.code import Code, expression
from forscan.syntax.names import reads


def count_up(draft: Draft) -> Draft:
    """Gives fori_loop a counter with step one that runs forwards."""
    if draft.target != "fori_loop":
        return draft
    loop = draft.loop
    counter = loop.counter
    if counter is None:
        assert loop.length is not None
        return draft.with_loop(counter=Counter("_", loop.length), length=None)
    if counter.step == "1" and not loop.reverse:
        return draft
    used = {*reads(loop.body.statements), *_in_updates(loop)}
    if counter.name not in used:
        stop = f"len(range({counter.range}))" if counter.step != "1" else counter.stop
        start = "0" if counter.step != "1" else counter.start
        return draft.with_loop(counter=Counter(counter.name, stop, start), reverse=False)
    inner = draft.fresh.name("k", "trip")
    if counter.step == "1":
        value = f"{add(counter.stop, -1)} - {inner}"
        stop = counter.stop if counter.start == "0" else f"len(range({counter.range}))"
    else:
        start = "" if counter.start == "0" else f"{counter.start} + "
        value = f"{start}{inner} * {counter.step}"
        stop = f"len(range({counter.range}))"
    body = Code(f"{counter.name} = {value}\n{loop.body.text}")
    return draft.with_loop(body=body, counter=Counter(inner, stop), reverse=False)


def _in_updates(loop: Loop) -> set[str]:
    """The names that the new values of the carry are computed from."""
    return {name for carry in loop.carries for name in reads(expression(carry.update))}
