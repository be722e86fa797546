"""The state of a `for`: what is carried, what is only last, what is local.

Carry = modified in the body and (live at the head of an iteration, or live behind
the loop and bound before it). A name that every iteration binds first and that only
the code behind the loop reads has no start: it is a last value.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.carries import Carries
from forscan.analyse.carry_types import unsteady
from forscan.analyse.containers import own_containers
from forscan.find.context import FunctionContext, once
from forscan.syntax.names import in_body, target_names
from forscan.syntax.walk import walk


@dataclass(frozen=True)
class State:
    """The names that a loop binds, each in one class, in order of first binding.

    Attributes:
      carried: read by the next iteration, or kept as a bound start may survive.
      last: bound by every iteration before it is read; needed behind the loop only.
      unbound: read by an iteration or behind the loop without being surely bound.
      local: of no interest outside one iteration.
      targets: names of the loop's target.
      targets_after: targets that are read behind the loop.
      bound_before: names surely bound before the loop.
      live_after: names that may be read behind the loop.
    """

    carried: tuple[str, ...]
    last: tuple[str, ...]
    unbound: tuple[str, ...]
    local: tuple[str, ...]
    targets: tuple[str, ...]
    targets_after: tuple[str, ...]
    bound_before: frozenset[str]
    live_after: frozenset[str]


@once
def state_of(loop: ast.For, context: FunctionContext) -> State:
    nodes = context.graph.loops[loop]
    live_in = context.live[nodes.bind]
    captured = captured_outside(loop, context)
    live_after = context.live[nodes.after] | captured
    bound = context.bound[nodes.iterable]
    targets = tuple(target_names(loop.target))
    carried, last, unbound, local = [], [], [], []
    for name in (*own_containers(loop, context), *in_body(loop).binds):
        exposed = name in live_in and name not in targets
        after = name in live_after
        if not exposed and not after:
            local.append(name)
        elif name in bound and name not in targets:
            carried.append(name)
        elif not exposed:
            last.append(name)
        else:
            unbound.append(name)
    after_targets = tuple(t for t in targets if t in live_after and t not in last)
    return State(
        tuple(carried),
        tuple(last),
        tuple(unbound),
        tuple(local),
        targets,
        after_targets,
        bound,
        live_after,
    )


def without_idle_starts(state: State, loop: ast.For, context: FunctionContext) -> State:
    """Counts as last values what every iteration binds anew, where its start is of another type.

    Nobody reads that start but where there is no iteration at all, which is loud: nothing has
    no last slice.
    """
    exposed = context.live[context.graph.loops[loop].bind]
    containers = own_containers(loop, context)
    idle = []
    for name in state.carried:
        if name not in exposed and name not in containers:
            alone = Carries(loop, (name,), state.targets, context)
            if any(r.code in ("FSC404", "FSC406") for r in unsteady(alone)):
                idle.append(name)
    return replace(
        state,
        carried=tuple(n for n in state.carried if n not in idle),
        last=(*state.last, *idle),
    )


def carries_of(loop: ast.For, state: State, context: FunctionContext) -> Carries:
    """What is known about the starts and the updates of the carried names."""
    return Carries(loop, state.carried, state.targets, context)


@once
def captured_outside(loop: ast.For, context: FunctionContext) -> frozenset[str]:
    """Names that functions defined outside the loop may read at any time."""
    inside = set(walk(loop))
    return frozenset(
        name
        for name, functions in context.read_late.items()
        if any(f not in inside for f in functions)
    )
