"""Names that only the code behind the loop reads: the last slice of an output."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.items import is_array_expression
from forscan.analyse.trip_count import literal_int
from forscan.model import Carry, Output, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.passes.idle import idle_start
from forscan.syntax.code import expression, removal
from forscan.syntax.names import in_body, names_in, reads


def last_value(draft: Draft) -> Draft:
    """Gives names first bound in the loop, and targets, their last value behind it."""
    for name in draft.state.last:
        draft = _from_output(draft, name)
    for name in draft.state.targets_after:
        draft = _target(draft, name)
    return draft


def _from_output(draft: Draft, name: str) -> Draft:
    if draft.target == "fori_loop":
        raise Refused(
            Refusal(
                "FSC408",
                f"{name} has no value before the loop, and fori_loop gives back only what it carries",
                f"Give {name} a start value before the loop, or convert to a scan.",
            )
        )
    last = "0" if draft.loop.reverse else "-1"
    ys = draft.fresh.name(f"{name}s" if not name.endswith("s") else f"{name}_all")
    output = Output(name, ys, is_array=True)
    line = f"{name} = {ys}[{last}]"
    value = ast.Name(name, ast.Load())
    if not is_array_expression(value, draft.statement.body, draft.context):
        line = f"{name} = {draft.spelling.sliced_leaves(ys, last)}"
    start = idle_start(draft, name, draft.statement) if name in draft.state.bound_before else None
    if start is not None and name not in draft.state.targets:
        edit = removal(draft.context.source, start)
        draft = replace(draft, edits=(*draft.edits, edit))
    return draft.with_loop(outputs=(*draft.loop.outputs, output), after=(line, *draft.loop.after))


def _target(draft: Draft, name: str) -> Draft:
    counter = draft.loop.counter
    bound = name in draft.state.bound_before
    if counter and counter.name == name:
        return _counter(draft, name, bound)
    if bound:
        return _element_with_start(draft, name)
    element = next((e for e in draft.loop.elements if e.target == name), None)
    last = "0" if draft.loop.reverse else "-1"
    if element is not None and element.source.isidentifier():
        changed = {*draft.state.carried, *draft.state.last, *draft.state.targets}
        if element.source not in changed:
            line = f"{name} = {element.source}[{last}]"
            return draft.with_loop(after=(line, *draft.loop.after))
    return _from_output(draft, name)


def _counter(draft: Draft, name: str, bound: bool) -> Draft:
    """The last value of a range is known while tracing, and stays a Python int."""
    counter = draft.loop.counter
    assert counter is not None
    start, stop = (literal_int(expression(t)) for t in (counter.start, counter.stop))
    if bound and (start is None or stop is None or not range(start, stop)):
        raise Refused(
            Refusal(
                "FSC401",
                f"{name} is bound before the loop and read behind it: without an iteration it keeps its "
                "value, else it is the last index, as a Python int",
                "Use another name for the index.",
            )
        )
    if counter.step == "1" and start is not None and stop is not None and stop > start:
        value = str(start if draft.loop.reverse else stop - 1)
    else:
        indices = f"range({counter.range})"
        if not names_in(expression(indices)).isdisjoint(in_body(draft.statement).binds):
            draft, indices = _bound_before(draft, indices)
        # Taking an item raises where there was no iteration, as the name would.
        value = f"{indices}[{0 if draft.loop.reverse else -1}]"
    return draft.with_loop(after=(f"{name} = {value}", *draft.loop.after))


def _bound_before(draft: Draft, text: str) -> tuple[Draft, str]:
    """A name for what an expression is before the loop."""
    name = draft.fresh.name("indices", "steps")
    return draft.with_loop(before=(*draft.loop.before, f"{name} = {text}")), name


def _element_with_start(draft: Draft, name: str) -> Draft:
    if any(name in reads(expression(e.source)) for e in draft.loop.elements):
        raise Refused(
            Refusal(
                "FSC401",
                f"the target {name} is also what is iterated, and is read behind the loop: without an "
                "iteration it stays the whole, else it is the last item",
                "Use another name for the target.",
            )
        )
    inside = draft.fresh.name(f"{name}_before")
    carry = Carry(inside, name, name, name)
    return draft.with_loop(carries=(*draft.loop.carries, carry))
