"""The ways to write a `for` as one that a scan can take, in the order they are tried."""

from __future__ import annotations

from collections.abc import Callable

from forscan.model import Refusal
from forscan.reshape.bounds import write_bounds_out
from forscan.reshape.branches import branches_to_cond
from forscan.reshape.counters import count_to_index
from forscan.reshape.filtered import filter_range
from forscan.reshape.list_dicts import dict_to_lists
from forscan.reshape.list_reads import list_reads_to_state
from forscan.reshape.live_rows import live_rows
from forscan.reshape.peel import peel_first
from forscan.reshape.plainer import continue_to_else, else_behind
from forscan.reshape.prefilled import set_to_append
from forscan.reshape.seeds import seeds_to_shape
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.snapshots import snapshots
from forscan.reshape.spread import spread_appends

Strategy = Callable[[LoopText, list[Refusal]], Reshaped | None]

# What an expert would do although the loop can be converted as it is.
IMPROVEMENTS: dict[str, tuple[Callable[[LoopText], Reshaped | None], ...]] = {
    "scan": (count_to_index, live_rows),
    "fori": (count_to_index,),
}
STRATEGIES: tuple[Strategy, ...] = (
    else_behind,
    write_bounds_out,
    dict_to_lists,
    set_to_append,
    spread_appends,
    snapshots,
    filter_range,
    continue_to_else,
    list_reads_to_state,
    branches_to_cond,
    seeds_to_shape,
    peel_first,
)
