"""Definitions that go: a body function that becomes part of the loop, a tuple of starts."""

from __future__ import annotations

import ast

from forscan.syntax.code import removal
from forscan.syntax.source import Edit, Text


def name_of(definition: ast.stmt | None) -> str | None:
    """What a body function that goes was called."""
    if isinstance(definition, ast.FunctionDef):
        return definition.name
    if isinstance(definition, ast.Assign) and isinstance(definition.targets[0], ast.Name):
        return definition.targets[0].id
    return None


def removed(source: Text, node: ast.stmt, loop: ast.stmt) -> Edit:
    """Drops a definition with the blank lines behind it, where that leaves no gap.

    A comment above it is one of the loop, where that comes next.
    """
    edit = removal(source, node)
    if isinstance(node, ast.FunctionDef):  # the comment on its last line moves with the body
        start = source.line_start(source.start(node))
        edit = Edit(start, source.next_line(source.end(node)), "")
    before = source.text[: edit.start].rstrip(" \t")
    end = edit.end
    after_header = before.rstrip().endswith(":")
    blank_before = before.endswith(("\n\n", "\r\n\r\n", "\r\r"))
    comment = before.rstrip("\r\n").rpartition("\n")[2].lstrip().startswith("#")
    start = source.start(loop)
    is_next = end <= start and not source.text[end:start].strip()
    while after_header or blank_before or (comment and is_next):
        line_end = source.line_end(end)
        if source.text[end:line_end].strip() or line_end >= len(source.text):
            break
        end = source.next_line(end)
    return Edit(edit.start, end, edit.new)
