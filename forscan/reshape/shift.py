"""State that looks back: the newest value first, each of the others one step older."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from forscan.syntax.code import Code
from forscan.syntax.source import Edit


def edited_part(body: Code, node: ast.expr, edits: Sequence[Edit]) -> tuple[str | None, list[Edit]]:
    """The source of a part of the body under edits, and the edits that lie elsewhere.

    The source is None where none of the edits touches it.
    """
    start, end = body.start(node), body.end(node)
    inside = [e for e in edits if start <= e.start and e.end <= end]
    rest = [e for e in edits if e not in inside]
    if not inside:
        return None, rest
    moved = [Edit(e.start - start, e.end - start, e.new) for e in inside]
    return Code(body.text[start:end]).edited(moved).text, rest


def shifted(names: Sequence[str], value: str) -> str:
    """The assignment that takes in a new value: `b, a = a, value` for the names a, b."""
    older, newest = names[1:], names[0]
    return f"{', '.join([*older, newest])} = {', '.join([*names[:-1], value])}"
