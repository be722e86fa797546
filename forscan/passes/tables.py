"""NumPy arrays and Python sequences that the index reads become JAX arrays.

A NumPy array or a tuple cannot be indexed by a tracer. jnp.asarray of a NumPy array
has the dtype that its elements have in JAX; jnp.stack of Python numbers keeps them
weakly typed.
"""

from __future__ import annotations

import ast

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.items import reads_as_arrays
from forscan.analyse.use import Use
from forscan.model import Refusal, Refused
from forscan.passes.draft import Draft
from forscan.syntax.code import one_line
from forscan.syntax.names import names_in
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk_all


def lift_tables(draft: Draft) -> Draft:
    """Wraps what the index still reads, or refuses what may be a list or a dict."""
    counter = draft.loop.counter
    if counter is None:
        return draft
    wanted: dict[str, str] = {}
    refusals: list[Refusal] = []
    for use in draft.index_uses:
        if use.read is None or not _is_left(draft, use.read, counter.name):
            continue
        found = evidence(use.read.value, draft.context)
        key = ast.dump(use.read.value)
        shown = one_line(draft.context.source, use.read.value)
        if found is Evidence.NUMPY:
            wanted[key] = f"{draft.spelling.jnp}.asarray({shown})"
        elif found is Evidence.TABLE:
            wanted[key] = f"{draft.spelling.jnp}.stack({shown})"
        elif found is Evidence.ITEMS and _of_arrays(draft, use):
            if key not in wanted:  # stacked once, not in every iteration
                base = shown.rsplit(".", 1)[-1]
                wish = [f"{base}_stack"] if base.isidentifier() else []
                wanted[key] = draft.fresh.name(*wish, "items")
                stack = f"{wanted[key]} = {draft.spelling.jnp}.stack({shown})"
                draft = draft.with_loop(before=(*draft.loop.before, stack))
        elif found in (Evidence.OTHER, Evidence.ITEMS) or (
            found is Evidence.UNKNOWN and not _read_as_array(draft, use)
        ):
            refusals.append(
                Refusal(
                    "FSC202",
                    f"{shown} is read at {use.node.id}, and nothing shows that it is one array: a list or "
                    "a dict cannot be indexed by a tracer",
                    f"Annotate it as jax.Array, or stack equal items before the loop: `jnp.stack({shown})`.",
                    use.node.lineno,
                    use.node.col_offset + 1,
                )
            )
    if refusals:
        raise Refused(*refusals)
    return _wrap(draft, wanted, counter.name)


def _is_left(draft: Draft, read: ast.Subscript, index: str) -> bool:
    """Whether the body still reads that array at the index: no pass has made it xs."""
    wanted = ast.dump(read.value)
    return any(
        isinstance(n, ast.Subscript) and index in names_in(n.slice) and ast.dump(n.value) == wanted
        for n in walk_all(draft.loop.body.statements)
    )


def _of_arrays(draft: Draft, use: Use) -> bool:
    """Whether the index reads a list of equal arrays, as calls have shown."""
    assert use.read is not None
    item = draft.context.seen_item(use.read.value)
    return item is not None and item.is_leaf


def _read_as_array(draft: Draft, use: Use) -> bool:
    assert use.read is not None
    changed = {*draft.state.carried, *draft.state.local, *draft.state.last}
    base = use.read.value
    if isinstance(base, ast.Name) and base.id in changed:
        return True  # state of the loop: an array, or the carry fails loudly
    wanted = ast.dump(base)
    return any(
        reads_as_arrays(other.read, draft.context)
        for other in draft.index_uses
        if other.read is not None and ast.dump(other.read.value) == wanted
    )


def _wrap(draft: Draft, wanted: dict[str, str], index: str) -> Draft:
    if not wanted:
        return draft
    body = draft.loop.body
    edits: list[Edit] = []
    for node in walk_all(body.statements):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            names = names_in(node.slice)
            text = wanted.get(ast.dump(node.value))
            if text and index in names:
                edits.append(body.replace(node.value, text))
    return draft.with_loop(body=body.edited(edits))
