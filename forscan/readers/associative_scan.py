"""Calls of `lax.associative_scan`: seen, and never converted."""

from __future__ import annotations

from forscan.find.sites import Site
from forscan.model import Reading, Refusal, Refused


def read(site: Site, copied: bool = False) -> Reading:
    """Says why the call stays.

    Raises:
      Refused: always.
    """
    raise Refused(
        Refusal(
            "FSC208",
            "associative_scan combines whole slices of its elements in a tree, and a `for` would "
            "combine single elements from the first to the last",
            "Write it as lax.scan over the elements first, which needs `fn` for one pair.",
            site.node.lineno,
            site.node.col_offset + 1,
        )
    )
