"""Numbers that a scan makes arrays of another type of, although no iteration runs.

`total = 0` summed over nothing is an integer in Python. A scan traces its body even then,
and gives the start the type that the state has after an iteration. After one iteration the
same holds for what is made of the start.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.arrays import is_array
from forscan.analyse.carries import Carries
from forscan.analyse.carry_types import promoted
from forscan.analyse.state import carries_of
from forscan.passes.draft import Draft
from forscan.refusal import Refused, refuse


def note_promotions(draft: Draft) -> Draft:
    """Says which starts have another type where the loop makes no iteration or one.

    Raises:
      Refused: the loop never iterates, and a start may be a number.
    """
    trips = draft.trips.number if draft.trips is not None else None
    if not draft.state.carried or (trips is not None and trips > 1):
        return draft
    carries = carries_of(draft.statement, draft.state, draft.context)
    if trips == 0:
        _check_untouched(draft, carries)
    names = [name for name in draft.state.carried if promoted(carries, name)]
    if not names:
        return draft
    note = (
        f"assumes iterations: a scan turns the number that {' and '.join(names)} starts with into "
        "the type of what it meets, even where it meets nothing"
    )
    return replace(draft, assumptions=(*draft.assumptions, note))


def _check_untouched(draft: Draft, carries: Carries) -> None:
    """Refuses a loop of no iteration, unless its state surely starts as arrays."""
    for name in carries.carried:
        start = carries.start(name) or ast.Name(name, ast.Load())
        if not is_array(start, draft.context) or carries.may_be_weak(start):
            raise Refused(
                refuse(
                    "FSC406",
                    draft.statement,
                    f"the loop makes no iteration, and {name} may start as a number: a scan would "
                    "give it the type that it has after an iteration",
                    "Remove the loop, or start from an array.",
                )
            )
