"""Numbers that a scan makes arrays of another type of, although no iteration runs.

`total = 0` summed over nothing is an integer in Python. A scan traces its body even then,
and gives the start the type that the state has after an iteration. After one iteration the
same holds for what is made of the start.
"""

from __future__ import annotations

from dataclasses import replace

from forscan.analyse.carry_types import promoted
from forscan.analyse.state import carries_of
from forscan.passes.draft import Draft


def note_promotions(draft: Draft) -> Draft:
    """Says which starts have another type where the loop makes no iteration or one."""
    trips = draft.trips.number if draft.trips is not None else None
    if not draft.state.carried or (trips is not None and trips > 1):
        return draft
    carries = carries_of(draft.statement, draft.state, draft.context)
    names = [name for name in draft.state.carried if promoted(carries, name)]
    if not names:
        return draft
    note = (
        f"assumes iterations: a scan turns the number that {' and '.join(names)} starts with into "
        "the type of what it meets, even where it meets nothing"
    )
    return replace(draft, assumptions=(*draft.assumptions, note))
