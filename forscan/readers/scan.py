"""Reads a call of `lax.scan` into the neutral loop."""

from __future__ import annotations

from forscan.find.sites import Site
from forscan.model import Reading
from forscan.readers.calls import arguments, check_place, pair_results
from forscan.readers.over_xs import OverXs

_PARAMETERS = ("f", "init", "xs", "length", "reverse", "unroll", "_split_transpose")


def read(site: Site, copied: bool = False) -> Reading:
    """The loop of a scan.

    Args:
      site: the call.
      copied: whether the body of a module function is read as if it stood here.

    Raises:
      Refused: a place, a call form or a trip count that cannot be read.
    """
    given = arguments(site, _PARAMETERS, 2)
    check_place(site)
    return OverXs(site, given, pair_results(site), copied).read()
