"""Reads a call of `lax.fori_loop` into the neutral loop."""

from __future__ import annotations

from forscan.analyse.kinds import NUMBER
from forscan.find.sites import Site
from forscan.model import Counter, Loop, Reading
from forscan.readers.bounds import check_length
from forscan.readers.calls import arguments, check_place, single_result
from forscan.readers.index import check_index
from forscan.readers.lax_loop import LaxLoop
from forscan.readers.parts import Call, names_read
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
    if len(lax.body.own_parameters) == 2:
        check_index(lax, lax.other)
    source = site.context.source
    name = lax.other if lax.uses_other() else "_"
    unroll = given.get("unroll")
    loop = Loop(
        Code(""),
        counter=Counter(name, one_line(source, given["upper"]), one_line(source, given["lower"])),
        unroll=one_line(source, unroll) if unroll is not None else None,
    )
    return lax.reading(loop)
