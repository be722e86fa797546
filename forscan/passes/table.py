"""The passes between the reader of `for` and the writers, in their order."""

from __future__ import annotations

from collections.abc import Callable

from forscan.passes.append_to_ys import append_to_ys
from forscan.passes.at_set_to_ys import at_set_to_ys
from forscan.passes.count_up import count_up
from forscan.passes.draft import Draft
from forscan.passes.fold_outputs import fold_outputs
from forscan.passes.guard_empty import guard_empty
from forscan.passes.hoist import hoist
from forscan.passes.index_to_carry import index_to_carry
from forscan.passes.index_to_xs import index_to_xs
from forscan.passes.last_value import last_value
from forscan.passes.name_elements import name_elements
from forscan.passes.note_promotions import note_promotions
from forscan.passes.tables import lift_tables
from forscan.passes.trees_to_xs import trees_to_xs
from forscan.passes.turn_around import turn_around
from forscan.passes.windows import windows
from forscan.passes.xs_to_index import xs_to_index

Pass = Callable[[Draft], Draft]

PASSES: tuple[Pass, ...] = (
    append_to_ys,
    at_set_to_ys,
    last_value,
    hoist,
    windows,
    trees_to_xs,
    index_to_xs,
    name_elements,
    xs_to_index,
    lift_tables,
    fold_outputs,
    note_promotions,
    guard_empty,
    index_to_carry,
    turn_around,
    count_up,
)


def run_passes(draft: Draft) -> Draft:
    for step in PASSES:
        draft = step(draft)
    return draft
