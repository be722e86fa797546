"""Reads a call of `lax.fori_loop` into the neutral loop."""

from __future__ import annotations

import ast

from forscan.analyse.uses import Kind, Uses
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Counter, Loop, Reading, Refusal, Refused
from forscan.readers.bounds import check_length
from forscan.readers.calls import arguments, check_place, single_result
from forscan.readers.lax_loop import LaxLoop, reads_in
from forscan.syntax.code import expression
from forscan.syntax.names import parameters, reads

_PARAMETERS = ("lower", "upper", "body_fun", "init_val", "unroll")


def read(site: Site) -> Reading:
    """The loop of a fori_loop.

    Raises:
      Refused: a place, a call form or bounds that cannot be read.
    """
    given = arguments(site, _PARAMETERS, 4)
    check_place(site)
    for bound in ("lower", "upper"):
        check_length(site, given[bound])
    results = single_result(site, site.context.module.fresh.name("carry"))
    lax = LaxLoop(site, given["body_fun"], given["init_val"], results, has_outputs=False)
    _check_index(lax)
    sources = set(reads(given["lower"])) | set(reads(given["upper"]))
    if lax.body is not None:
        lax.settle_names(sources)
        name = lax.body.parameters[0]
        lax.inline(None)
        texts = [c.update for c in lax.parts.carries]
        used = bool(reads_in(lax.parts.code, name)) or any(
            name in reads(expression(t)) for t in texts
        )
        name = name if used else "_"
    else:
        name = _called_index(lax)
        lax.call(name)
    counter = Counter(name, lax.text(given["upper"]), lax.text(given["lower"]))
    unroll = given.get("unroll")
    loop = Loop(
        lax.parts.code,
        tuple(lax.parts.carries),
        counter=counter,
        unroll=lax.text(unroll) if unroll is not None else None,
        before=tuple(lax.parts.before),
        after=tuple(lax.parts.after),
    )
    return lax.finish(loop)


def _called_index(lax: LaxLoop) -> str:
    definition = lax.definition()
    taken = lax.outer_names()
    if definition is not None:
        names = [n for n in parameters(definition) if n not in ("self", "cls")]
        if names and names[0].strip("_") and names[0] not in taken:
            return names[0]
    return "i" if "i" not in taken else lax.fresh.name("i", "k")


def _check_index(lax: LaxLoop) -> None:
    """Integer arithmetic that wraps around in int32 and does not in Python."""
    definition = lax.definition()
    if definition is None:
        return
    names = [n for n in parameters(definition) if n not in ("self", "cls")]
    if not names:
        return
    body: list[ast.AST]
    body = [definition.body] if isinstance(definition, ast.Lambda) else list(definition.body)
    place = lax.context
    if isinstance(definition, ast.FunctionDef):
        place = FunctionContext(lax.context.module, definition)
    for use in Uses(place, body).of(names[0], integer=True):
        if use.kind is Kind.HAZARD and "argument of" not in use.what:
            raise Refused(
                Refusal(
                    "FSC403",
                    f"the index {names[0]} is used as {use.what}: an int32 wraps around, a Python int does not",
                    "Iterate jnp.arange by hand, or keep the fori_loop.",
                    use.node.lineno,
                    use.node.col_offset + 1,
                )
            )
