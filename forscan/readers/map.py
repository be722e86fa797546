"""Reads a call of `lax.map` into the neutral loop."""

from __future__ import annotations

import ast

from forscan.find.sites import Site
from forscan.model import Reading
from forscan.readers.body import Takes
from forscan.readers.calls import arguments, check_place, stack_results
from forscan.readers.over_xs import OverXs

_PARAMETERS = ("f", "xs", "batch_size")


def read(site: Site, copied: bool = False) -> Reading:
    """The loop of a map: no state, one output. Batches only change how it is computed.

    Args:
      site: the call.
      copied: whether the body of a module function is read as if it stood here.

    Raises:
      Refused: a place or a call form that cannot be read.
    """
    given = arguments(site, _PARAMETERS, 2)
    given.pop("batch_size", None)
    given["init"] = ast.Constant(None)
    check_place(site)
    return OverXs(site, given, stack_results(site), copied, Takes.SLICE).read()
