"""Reads a Python `for` into the neutral loop, or says why it cannot be one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from forscan.analyse.carry_types import unsteady
from forscan.analyse.clocks import jumping_clocks
from forscan.analyse.containers import own_containers
from forscan.analyse.effects import Effects
from forscan.analyse.growth import growing_integers
from forscan.analyse.key_order import key_order
from forscan.analyse.late_binding import late_binding
from forscan.analyse.lists import FilledList, find_lists
from forscan.analyse.numbers import LARGEST_INDEX
from forscan.analyse.numpy_rows import numpy_integers
from forscan.analyse.python_values import functions_made, python_values
from forscan.analyse.settled import Settled
from forscan.analyse.state import State, carries_of, state_of, without_idle_starts
from forscan.analyse.trip_count import Extent, literal_int
from forscan.analyse.truths import computed_truths
from forscan.analyse.use import Use
from forscan.analyse.uses import Uses
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Carry, Loop, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.readers.for_text import colon_line, else_suite, header_comments
from forscan.readers.iterables import read_space
from forscan.readers.space import Space
from forscan.refusal import refuse
from forscan.syntax.code import Code, expression, suite
from forscan.syntax.names import in_body


def read(site: Site, target: str) -> Draft:
    """The draft of a conversion of a `for` to `target`.

    Raises:
      Refused: with all reasons that were found.
    """
    assert isinstance(site.node, ast.For)
    node, context = site.node, site.context
    spelling = context.module.spelling(node.body[0])
    reasons: list[Refusal] = []
    space = Space()
    try:
        space = read_space(node, context, spelling)
    except Refused as refused:
        reasons += refused.reasons
    state = state_of(node, context)
    lists, wrong_lists = find_lists(node, context)
    names = {filled.name for filled in lists}
    state = _without_lists(state, names)
    if target == "scan":
        state = without_idle_starts(state, node, context)
    uses = _index_uses(space, node, state, context)
    index = space.counter.name if space.counter else None
    count = space.trips[0].number if space.trips else None
    items = {e.target: e.number for e in space.elements if e.number is not None}
    reasons += [
        *Effects(context, node.body, names, own_containers(node, context)).reasons(),
        *wrong_lists,
        *_unbound(state, node),
        *python_values(node, state, index, uses, context),
        *_rebound_index(space, state, node),
        *_functions_after(state, node),
        *growing_integers(node, state, context, items, count),
        *jumping_clocks(node, state, context, items),
        *computed_truths(carries_of(node, state, context), index),
        *_key_order(node, state, context),
        *numpy_integers(node, space.elements, context),
        *late_binding(node, state, context),
        *_types(state, lists, node, context),
        *_outer_names(state, node, context),
    ]
    if reasons:
        raise Refused(*_first_of_each(reasons))
    loop = _loop(node, context, space, state)
    trips = space.trips[0] if space.trips else Extent("", 0)
    return Draft(site, target, loop, state, spelling, tuple(lists), tuple(uses), trips)


def _loop(node: ast.For, context: FunctionContext, space: Space, state: State) -> Loop:
    source = context.source
    colon = colon_line(source, node)
    body = suite(source, node.body, colon)
    head = [*header_comments(source, node, colon), *space.head]
    counter = space.counter
    if head:
        body = Code("\n".join([*head, body.text]))
    carries = tuple(Carry(n, n, n, n if n in state.live_after else None) for n in state.carried)
    after: tuple[str, ...] = ()
    if node.orelse:
        after = (else_suite(source, node).text,)
    return Loop(
        body,
        carries,
        counter=counter,
        elements=space.elements,
        reverse=space.reverse,
        before=space.before,
        after=after,
    )


def _key_order(node: ast.For, state: State, context: FunctionContext) -> Iterator[Refusal]:
    carries = carries_of(node, state, context)
    for name in state.carried:
        values = (carries.start(name), *carries.updates(name))
        yield from key_order(values, context.node.body, {name}, context)


def _without_lists(state: State, names: set[str]) -> State:
    """`out += [y]` binds the list's name, which is no state of its own."""
    return replace(
        state,
        carried=tuple(n for n in state.carried if n not in names),
        last=tuple(n for n in state.last if n not in names),
        unbound=tuple(n for n in state.unbound if n not in names),
        local=tuple(n for n in state.local if n not in names),
    )


def _first_of_each(reasons: list[Refusal]) -> list[Refusal]:
    """All reasons, one for each code and place, in the order of the file."""
    seen: set[tuple[str, int | None, str]] = set()
    kept = []
    for reason in reasons:
        key = (reason.code, reason.line, reason.message)
        if key not in seen:
            seen.add(key)
            kept.append(reason)
    return kept


# The checks.


def _unbound(state: State, node: ast.For) -> list[Refusal]:
    return [
        refuse(
            "FSC408",
            node,
            f"{name} may be read before it is bound: it has no value before the loop, and not "
            "every path through an iteration binds it first",
            f"Give {name} a start value of its final shape and dtype before the loop.",
        )
        for name in state.unbound
    ]


def _index_uses(space: Space, node: ast.For, state: State, context: FunctionContext) -> list[Use]:
    if space.counter is None:
        return []
    bounds = [literal_int(expression(t)) for t in (space.counter.start, space.counter.stop)]
    known = [abs(b) for b in bounds if b is not None]
    largest = max(known) if len(known) == len(bounds) else max([*known, LARGEST_INDEX])
    settled = Settled(node, state, context)
    uses = Uses(context, node.body, largest=largest, settled=settled)
    return uses.of(space.counter.name, integer=True)


def _functions_after(state: State, node: ast.For) -> list[Refusal]:
    """A function cannot be the output of a scan."""
    functions = functions_made(node)
    return [
        refuse(
            "FSC401",
            node,
            f"{name} is a function that the body makes and that is used behind the loop",
            "Make the function behind the loop.",
        )
        for name in (*state.last, *state.carried)
        if name in functions
    ]


def _rebound_index(space: Space, state: State, node: ast.For) -> list[Refusal]:
    """An index that the body gives another value is no index any more."""
    counter = space.counter
    found = in_body(node)
    if counter is None or counter.name not in state.targets:
        return []
    if counter.name not in found.binds or counter.name not in found.exposed:
        return []
    return [
        refuse(
            "FSC401",
            node,
            f"{counter.name} is the index and gets another value in the body",
            "Use another name for the new value.",
        )
    ]


def _types(
    state: State, lists: list[FilledList], node: ast.For, context: FunctionContext
) -> list[Refusal]:
    collected = tuple(v for filled in lists for v in filled.values)
    return list(unsteady(carries_of(node, state, context), collected))


def _outer_names(state: State, node: ast.For, context: FunctionContext) -> list[Refusal]:
    declared = context.outside & {*in_body(node).binds, *state.targets}
    return [
        refuse(
            "FSC303",
            node,
            f"the body changes {name}, a global or nonlocal name: that is a side effect, and it "
            "would be left with a tracer",
            "Keep the value in a local name inside the loop and store it afterwards.",
        )
        for name in sorted(declared)
    ]
