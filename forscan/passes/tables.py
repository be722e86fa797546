"""NumPy arrays and Python sequences that the index reads become JAX arrays.

A NumPy array or a tuple cannot be indexed by a tracer. jnp.asarray of a NumPy array
has the dtype that its elements have in JAX; jnp.stack of Python numbers keeps them
weakly typed.
"""

from __future__ import annotations

import ast

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.items import reads_as_arrays
from forscan.analyse.uses import Use
from forscan.model import Refusal, Refused
from forscan.passes.draft import Draft
from forscan.syntax.code import one_line
from forscan.syntax.names import names_in, walk_all
from forscan.syntax.source import Edit


def lift_tables(draft: Draft) -> Draft:
    """Wraps what the index still reads, or refuses what may be a list or a dict."""
    counter = draft.loop.counter
    if counter is None:
        return draft
    wanted: dict[str, str] = {}
    refusals: list[Refusal] = []
    for use in draft.index_uses:
        if use.read is None:
            continue
        found = evidence(use.read.value, draft.context)
        key = ast.dump(use.read.value)
        shown = one_line(draft.context.source, use.read.value)
        if found is Evidence.NUMPY:
            wanted[key] = f"{draft.spelling.jnp}.asarray({shown})"
        elif found is Evidence.TABLE:
            wanted[key] = f"{draft.spelling.jnp}.stack({shown})"
        elif found is Evidence.OTHER or (
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


def _read_as_array(draft: Draft, use: Use) -> bool:
    assert use.read is not None
    changed = {*draft.state.carried, *draft.state.local, *draft.state.last}
    base = use.read.value
    if isinstance(base, ast.Name) and base.id in changed:
        return True  # state of the loop: an array, or the carry fails loudly
    return reads_as_arrays(use.read, draft.context)


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
