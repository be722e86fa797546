"""Where loops are after a plan whose new text takes them along, and where a place was before.

A loop in the body of a converted one, or beside it in the same statement, stands in the
text that is written anew; so it is found again by its place among the others there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from forscan.find.sites import Site
from forscan.plan import Plan
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk


def taken_along(site: Site, plan: Plan, sites: Iterable[Site]) -> list[int]:
    """The starts of the `lax` loops in the text that a plan replaces, in their new order.

    Args:
      site: the loop that is converted; the first edit of its plan takes its place.
      plan: the edits.
      sites: all loops of the file as it is.
    """
    main, *others = plan.edits
    source = site.context.source
    lambdas = [n for n in walk(site.node) if isinstance(n, ast.Lambda)]
    bodies = [*others, *(Edit(source.start(n), source.end(n), "") for n in lambdas)]
    whole = [Edit(site.start, source.end(site.node), "")]
    starts = sorted(s.start for s in sites if isinstance(s.node, ast.Call) and s is not site)
    in_body = [s for s in starts if _inside(s, bodies)]
    in_call = [s for s in starts if _inside(s, whole) and s not in in_body]
    beside = [s for s in starts if _inside(s, [main]) and s not in (*in_body, *in_call)]
    return [*in_call, *in_body, *beside]


def found_again(old: list[int], start: int, end: int, sites: Iterable[Site]) -> dict[int, int]:
    """Old start -> new start of loops that now stand between two offsets."""
    now = [s.start for s in sites if isinstance(s.node, ast.Call) and start <= s.start < end]
    return dict(zip(old, now, strict=True)) if len(old) == len(now) else {}


def place_before(offset: int, edits: Iterable[Edit]) -> int:
    """Where a place of the new text was before edits; what they wrote was where they begin."""
    shift = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        start = edit.start + shift
        if offset < start:
            break
        if offset < start + len(edit.new):
            return edit.start
        shift += len(edit.new) - (edit.end - edit.start)
    return offset - shift


def _inside(offset: int, edits: Iterable[Edit]) -> bool:
    return any(e.start <= offset < e.end for e in edits)
