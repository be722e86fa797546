"""Reads a call of `lax.fori_loop` into the neutral loop."""

from __future__ import annotations

import ast

from forscan.analyse.kinds import NUMBER
from forscan.analyse.uses import Kind, Use, Uses
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Counter, Loop, Reading, Refusal, Refused
from forscan.readers.bounds import check_length
from forscan.readers.calls import arguments, check_place, single_result
from forscan.readers.lax_loop import Call, LaxLoop, names_read
from forscan.syntax.code import Code, one_line

_PARAMETERS = ("lower", "upper", "body_fun", "init_val", "unroll")


def read(site: Site, copied: bool = False) -> Reading:
    """The loop of a fori_loop.

    Args:
      site: the call.
      copied: whether the body of a module function is read as if it stood here.

    Raises:
      Refused: a place, a call form or bounds that cannot be read.
    """
    given = arguments(site, _PARAMETERS, 4)
    check_place(site)
    for bound in ("lower", "upper"):
        check_length(site, given[bound])
    call = Call(
        given["body_fun"],
        given["init_val"],
        single_result(site),
        carry_at=1,
        wishes=("i", "carry"),
        has_outputs=False,
        sources=names_read([given["lower"], given["upper"]]),
        other=lambda _: NUMBER,
        copied=copied,
    )
    lax = LaxLoop.read(site, call)
    if _is_array(lax):
        jnp = site.context.module.spelling(site.node).jnp
        lax.put_first(f"{lax.other} = {jnp}.asarray({lax.other})")
    source = site.context.source
    name = lax.other if lax.uses_other() else "_"
    unroll = given.get("unroll")
    loop = Loop(
        Code(""),
        counter=Counter(name, one_line(source, given["upper"]), one_line(source, given["lower"])),
        unroll=one_line(source, unroll) if unroll is not None else None,
    )
    return lax.reading(loop)


def _is_array(lax: LaxLoop) -> bool:
    """Whether the body asks the index for what only arrays have: `i.astype(float)`.

    Raises:
      Refused: integer arithmetic wraps around in int32 and does not in Python.
    """
    names = lax.body.own_parameters
    if lax.body.function is None or len(names) != 2:
        return False
    place = lax.body.context
    if isinstance(lax.body.function, ast.FunctionDef):
        place = FunctionContext(lax.site.context.module, lax.body.function)
    uses = Uses(place, lax.body.nodes).of(names[0], integer=True)
    for use in uses:
        if use.kind is Kind.HAZARD and "argument of" not in use.what and not _is_float(use, place):
            raise Refused(
                Refusal(
                    "FSC403",
                    f"the index {names[0]} is used as {use.what}: an int32 wraps around, "
                    "a Python int does not",
                    "Iterate jnp.arange by hand, or keep the fori_loop.",
                    use.node.lineno,
                    use.node.col_offset + 1,
                )
            )
    return any(isinstance(place.parent(u.node), ast.Attribute) for u in uses)


def _is_float(use: Use, context: FunctionContext) -> bool:
    """`0.5 ** i`: a power of a float is one, for either kind of integer."""
    parent = context.parent(use.node)
    return (
        isinstance(parent, ast.BinOp)
        and isinstance(parent.op, ast.Pow)
        and isinstance(parent.left, ast.Constant)
        and isinstance(parent.left.value, float)
    )
