"""One program laid out in other ways: the same syntax tree, another text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from forscan.syntax.source import Edit, Text, apply_edits

_SIMPLE = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.Return,
    ast.Assert,
    ast.Delete,
    ast.Pass,
    ast.Continue,
    ast.Break,
)


def semicolons(text: str) -> str:
    """Simple statements that follow each other share a line, where no comment is between."""
    code = Text(text)
    edits = []
    for suite in _suites(ast.parse(text)):
        for first, second in pairwise(suite):
            start, end = code.end(first), code.start(second)
            simple = isinstance(first, _SIMPLE) and isinstance(second, _SIMPLE)
            if simple and not code.text[start:end].strip():
                edits.append(Edit(start, end, "; "))
    return apply_edits(text, edits)


def behind_colons(text: str) -> str:
    """A suite of one simple statement stands on the line of its colon."""
    code = Text(text)
    edits = []
    for node in ast.walk(ast.parse(text)):
        for suite in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(suite, list) and len(suite) == 1 and isinstance(suite[0], _SIMPLE):
                end = code.start(suite[0])
                head = code.text[:end].rstrip()
                gap = code.text[len(head) : end]
                if head.endswith(":") and "\n" in gap and "\n\n" not in gap:
                    edits.append(Edit(len(head), end, " "))
    return apply_edits(text, edits)


def brackets(text: str) -> str:
    """Around every value that is given to a name, returned, or looped over."""
    return _around_values(text, "(", ")")


def broken_brackets(text: str) -> str:
    """The same over several lines, without regard to indentation."""
    return _around_values(text, "(\n  ", "\n)")


def continued(text: str) -> str:
    """Lines go on behind every `=`."""
    code = Text(text)
    edits = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign):
            start = code.end(node.targets[-1])
            place = code.text.index("=", start) + 1
            if not code.text[place : code.start(node.value)].strip():
                edits.append(Edit(place, place, " \\\n   "))
    return apply_edits(text, edits)


def tabs(text: str) -> str:
    return re.sub(r"^(?: {4})+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.M)


def narrow(text: str) -> str:
    return re.sub(r"^(?: {4})+", lambda m: " " * (len(m[0]) // 4), text, flags=re.M)


def spaced(text: str) -> str:
    """Empty lines between all statements, with white space in them."""
    code = Text(text)
    starts = {code.line_start(code.start(s)) for suite in _suites(ast.parse(text)) for s in suite}
    return apply_edits(text, [Edit(p, p, "\n   \n") for p in sorted(starts)])


def windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def old_mac(text: str) -> str:
    return text.replace("\n", "\r")


LAYOUTS: tuple[Callable[[str], str], ...] = (
    semicolons,
    behind_colons,
    brackets,
    broken_brackets,
    continued,
    tabs,
    narrow,
    spaced,
    windows,
    old_mac,
)


def _around_values(text: str, before: str, after: str) -> str:
    code = Text(text)
    edits = []
    for node in ast.walk(ast.parse(text)):
        value = node.iter if isinstance(node, ast.For) else getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.Return | ast.For) and value is not None:
            start, end = code.start(value), code.end(value)
            edits += [Edit(start, start, before), Edit(end, end, after)]
    return apply_edits(text, edits)


def _suites(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            suite = getattr(node, field, None)
            if isinstance(suite, list):
                yield suite
