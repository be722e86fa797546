"""Formats the lines that forscan writes itself; the user's lines stay as they are."""

from __future__ import annotations

import ast

from forscan.syntax.source import Edit, Text, apply_edits


def fit(text: str, width: int) -> str:
    """Breaks generated statements that are too long, as black would.

    Only top-level statements of one line are looked at: headers of body functions
    stay short, and the lines of a body are the user's own.
    """
    if all(len(line) <= width for line in text.split("\n")):
        return text
    code = Text(text)
    edits = []
    for statement in ast.parse(text).body:
        segment = code.segment(statement)
        alone = isinstance(statement, ast.Assign | ast.Expr) and "\n" not in segment
        if alone and len(segment) > width:
            edits.append(Edit(code.start(statement), code.end(statement), _black(segment, width)))
    return apply_edits(text, edits)


def _black(statement: str, width: int) -> str:
    import black  # 0.2 s, so only when a line is too long

    try:
        mode = black.Mode(line_length=max(width, 40))
        return black.format_str(statement, mode=mode).rstrip("\n")
    except black.InvalidInput:
        return statement
