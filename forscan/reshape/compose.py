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
    for edit in later:
        if edit.end <= first.start:
            found.append(edit)
        elif edit.start >= end:
            found.append(Edit(edit.start - shift, edit.end - shift, edit.new))
        else:
            inside.append(Edit(edit.start - first.start, edit.end - first.start, edit.new))
    return [*found, Edit(first.start, first.end, apply_edits(first.new, inside))]
