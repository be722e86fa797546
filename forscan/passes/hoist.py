"""Numbers that Python computes from the index alone are computed before the loop.

`2 ** -i`, `np.sqrt(i + 1)` and large products mean something else for an int32
tracer. The same Python expression for all iterations, stacked, keeps its meaning:
jnp.stack leaves Python numbers weakly typed.
"""

from __future__ import annotations

import ast

from forscan.analyse.uses import Kind, Use
from forscan.model import Element, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.passes.mirror import mirror
from forscan.syntax.code import one_line
from forscan.syntax.source import Edit


def hoist(draft: Draft) -> Draft:
    """Replaces the hazardous expressions of the index by elements of a table."""
    hazards = [u for u in draft.index_uses if u.kind is Kind.HAZARD]
    values: dict[str, list[Use]] = {}
    for use in hazards:
        values.setdefault(_checked(draft, use), []).append(use)
    for text, uses in values.items():
        draft = _one(draft, text, uses)
    return draft


def _checked(draft: Draft, use: Use) -> str:
    counter = draft.loop.counter
    names = (
        set()
        if use.value is None
        else {n.id for n in ast.walk(use.value) if isinstance(n, ast.Name)}
    )
    known = {n for n in names if draft.context.module.imports.imported(n)}
    if use.value is None or counter is None or names - known != {counter.name}:
        raise Refused(
            Refusal(
                "FSC403",
                f"{use.node.id} is used as {use.what}: a Python int has no bounds, the index of a scan is an int32",
                "Compute the numbers before the loop in Python and iterate an array of them.",
                use.node.lineno,
                use.node.col_offset + 1,
            )
        )
    if draft.loop.reverse and draft.target == "fori_loop":
        raise Refused(
            Refusal(
                "FSC403",
                f"{use.node.id} counts down and is used as {use.what}",
                "Convert to a scan.",
                use.node.lineno,
                use.node.col_offset + 1,
            )
        )
    return one_line(draft.context.source, use.value)


def _one(draft: Draft, text: str, uses: list[Use]) -> Draft:
    counter = draft.loop.counter
    assert counter is not None
    table = f"{draft.spelling.jnp}.stack([{text} for {counter.name} in range({counter.range})])"
    if draft.target == "fori_loop":
        name = draft.fresh.name("factors", "table")
        start = "" if counter.start == "0" else f" - {counter.start}"
        if counter.step != "1":
            raise Refused(
                Refusal("FSC403", f"{counter.name} counts in steps", "Convert to a scan.")
            )
        new = f"{name}[{counter.name}{start}]"
        draft = draft.with_loop(before=(*draft.loop.before, f"{name} = {table}"))
    else:
        new = draft.fresh.name("factor", "value")
        element = Element(new, table)
        draft = draft.with_loop(elements=(*draft.loop.elements, element))
    body = draft.loop.body
    nodes = mirror(draft)
    edits: dict[tuple[int, int], Edit] = {}
    for use in uses:
        assert use.value is not None
        node = nodes.get(use.value)
        if isinstance(node, ast.expr):
            edits[body.start(node), body.end(node)] = body.replace(node, new)
    return draft.with_loop(body=body.edited(edits.values()))
