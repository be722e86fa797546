"""A loop over nothing never looks at its arrays; the body of a scan is traced even then.

Indexing an axis of length zero raises while tracing, so such a scan gets a condition.
"""

from __future__ import annotations

import ast

from forscan.analyse.state import carries_of
from forscan.analyse.trip_count import extent, leading, stable
from forscan.passes.draft import Draft
from forscan.passes.index_to_carry import trip_count
from forscan.syntax.names import is_place, reads
from forscan.syntax.walk import walk_all


def guard_empty(draft: Draft) -> Draft:
    """Puts a condition on a scan whose body may index an axis of length zero."""
    counter = draft.loop.counter
    if draft.target != "scan" or counter is None or draft.trips is None or not draft.trips.base:
        return draft
    if draft.loop.outputs or not _is_risky(draft) or _is_guarded(draft):
        return draft  # stacking a list that stays empty raises as well
    return draft.with_loop(guard=f"{trip_count(counter)} > 0")


def _is_guarded(draft: Draft) -> bool:
    """Whether the loop stands under such a condition already."""
    context = draft.context
    child: ast.AST = draft.statement
    parent = context.parent(child)
    while parent is not None and parent is not context.node:
        match parent:
            case ast.If(
                test=ast.Compare(left=left, ops=[ast.Gt()], comparators=[ast.Constant(value=0)]),
                body=body,
            ) if child in body and stable(left, context):
                if extent(left, context) == draft.trips:
                    return True
        child, parent = parent, context.parent(parent)
    return False


def _is_risky(draft: Draft) -> bool:
    """Whether there is a subscript by something computed, along an axis that is as long as the loop."""
    assert draft.trips is not None
    state = draft.state
    varying = {*state.targets, *state.carried, *state.local, *state.last}
    varying |= {e.target for e in draft.loop.elements}
    for node in walk_all(draft.loop.body.statements):
        if not isinstance(node, ast.Subscript):
            continue
        base = node.value
        if is_place(node):
            assert isinstance(base, ast.Attribute)
            base = base.value
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for axis, item in enumerate(items):
            fixed = isinstance(item, ast.Constant) and isinstance(item.value, int)
            if isinstance(item, ast.Slice) or not (fixed or set(reads(item)) & varying):
                continue
            if leading(_start(draft, base), draft.context, axis=axis).base == draft.trips.base:
                return True
    return False


def _start(draft: Draft, base: ast.expr) -> ast.expr:
    """What a carried array is made as: it keeps its shape."""
    if isinstance(base, ast.Name) and base.id in draft.state.carried:
        carries = carries_of(draft.statement, draft.state, draft.context)
        return carries.start(base.id) or base
    return base
