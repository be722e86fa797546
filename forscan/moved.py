"""Where loops are after a plan whose new text takes them along, and where a place was before.

A loop in the body of a converted one, or beside it in the same statement, stands in the
text that is written anew; so it is found again by its place among the others there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import SequenceMatcher

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


def place_behind(offset: int, edits: Iterable[Edit], text: str) -> int:
    """Where a place of a text is behind edits; an edit takes along the lines that it keeps."""
    shift = 0
    for edit in edits:
        if edit.end <= offset:
            shift += len(edit.new) - (edit.end - edit.start)
        elif edit.start < offset:
            start = place_behind(edit.start, edits, text)
            kept = _kept(offset - edit.start, text[edit.start : edit.end], edit.new)
            return offset if kept is None else start + kept
    return offset + shift


def place_before(offset: int, edits: Iterable[Edit], text: str) -> int:
    """Where a place behind edits was in the text; what they wrote was where they begin."""
    shift = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        start = edit.start + shift
        if offset < start:
            break
        if offset < start + len(edit.new):
            old = text[edit.start : edit.end]
            return edit.start + (_kept(offset - start, edit.new, old) or 0)
        shift += len(edit.new) - (edit.end - edit.start)
    return offset - shift


def _kept(offset: int, text: str, other: str) -> int | None:
    """Where a place of a text is in another version of it, if that has the line too."""
    lines, others = text.split("\n"), other.split("\n")
    number = text.count("\n", 0, offset)
    column = offset - sum(len(line) + 1 for line in lines[:number])
    for block in SequenceMatcher(None, lines, others, autojunk=False).get_matching_blocks():
        if block.a <= number < block.a + block.size:
            return sum(len(line) + 1 for line in others[: block.b + number - block.a]) + column
    return None


def _inside(offset: int, edits: Iterable[Edit]) -> bool:
    return any(e.start <= offset < e.end for e in edits)
