"""The index of a loop that counts: a tracer in `lax`, a Python int in a `for`."""

from __future__ import annotations

import ast

from forscan.analyse.uses import Kind, Use, Uses
from forscan.find.context import FunctionContext
from forscan.model import Refusal, Refused
from forscan.readers.lax_loop import LaxLoop


def check_index(lax: LaxLoop, name: str) -> None:
    """A Python int in place of a tracer; an array where the body asks for what only arrays have.

    Args:
      lax: the loop.
      name: its weakly typed index.

    Raises:
      Refused: integer arithmetic wraps around in int32 and does not in Python.
    """
    if lax.body.function is None:
        return
    place = lax.body.place
    uses = Uses(place, lax.body.nodes).of(lax.own(name), integer=True)
    for use in uses:
        if use.kind is Kind.HAZARD and "argument of" not in use.what and not _is_float(use, place):
            raise Refused(
                Refusal(
                    "FSC403",
                    f"the index {name} is used as {use.what}: an int32 wraps around, "
                    "a Python int does not",
                    "Compute it with jnp.float32, or keep the loop.",
                    use.node.lineno,
                    use.node.col_offset + 1,
                )
            )
    if any(isinstance(place.parent(u.node), ast.Attribute) for u in uses):  # i.astype(float)
        jnp = lax.site.context.module.spelling(lax.site.node).jnp
        lax.put_first(f"{name} = {jnp}.asarray({name})")


def _is_float(use: Use, context: FunctionContext) -> bool:
    """`0.5 ** i`: a power of a float is one, for either kind of integer."""
    parent = context.parent(use.node)
    return (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, ast.Pow)
        and isinstance(parent.left, ast.Constant)
        and isinstance(parent.left.value, float)
    )
