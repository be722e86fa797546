"""Formats the lines that forscan writes itself; the user's lines stay as they are."""

from __future__ import annotations

import ast
from threading import Lock

from forscan.syntax.code import indent
from forscan.syntax.parsing import parse
from forscan.syntax.source import Edit, Text, apply_edits
from forscan.syntax.walk import walk

_IMPORTING = Lock()
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr | ast.Return


def fit(text: str, width: int, original: str) -> str:
    """Breaks generated statements that are too long, as black would.

    Args:
      text: generated statements, at indentation zero.
      width: how long a line may be.
      original: the file; a statement that stands in it is its author's.
    """
    if all(len(line) <= width for line in text.split("\n")):
        return text
    code = Text(text)
    edits = []
    for statement in walk(parse(text)):
        if not isinstance(statement, _SIMPLE | ast.For):
            continue
        start, end, below = code.start(statement), code.end(statement), ""
        if isinstance(statement, ast.For):
            end, below = text.index(":", code.end(statement.iter)) + 1, "\n    pass"
        segment = text[start:end]
        column = statement.col_offset
        if "\n" in segment or column + len(segment) <= width or segment in original:
            continue
        new = _black(segment + below, width - column).removesuffix(below)
        edits.append(Edit(start, end, indent(new, " " * column).lstrip()))
    return apply_edits(text, edits)


def _black(statement: str, width: int) -> str:
    # Only when a line is too long, since it takes its time; the threads of the language server
    # would otherwise see it half imported.
    with _IMPORTING:
        import black

    try:
        mode = black.Mode(line_length=max(width, 40))
        return black.format_str(statement, mode=mode).rstrip("\n")
    except black.InvalidInput:
        return statement
