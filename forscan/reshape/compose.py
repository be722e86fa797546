"""Edits of a text that was already edited, as edits of the first text."""

from __future__ import annotations

from collections.abc import Sequence

from forscan.syntax.source import Edit, apply_edits


def compose(first: Edit, later: Sequence[Edit]) -> list[Edit]:
    """One edit, and edits of its result, together as edits of the text before.

    Edits that touch what the first one wrote become part of it.
    """
    end = first.start + len(first.new)
    shift = len(first.new) - (first.end - first.start)
    inside: list[Edit] = []
    found: list[Edit] = []
    before, behind = 0, 0  # characters around the first edit that a later one takes away
    for edit in later:
        if edit.end <= first.start:
            found.append(edit)
        elif edit.start >= end:
            found.append(Edit(edit.start - shift, edit.end - shift, edit.new))
        else:
            before = max(before, first.start - edit.start)
            behind = max(behind, edit.end - end)
            low, high = max(edit.start, first.start), min(edit.end, end)
            inside.append(Edit(low - first.start, high - first.start, edit.new))
    new = apply_edits(first.new, inside)
    return [*found, Edit(first.start - before, first.end + behind, new)]
