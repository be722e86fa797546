"""A suite of statements as a text of its own: what a loop body is to the passes.

The text is dedented, uses `\\n`, and keeps every comment and blank line. A pass
looks at the tree and gives back new text; nothing is ever printed from the tree,
so what is not touched stays as its author wrote it.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from forscan.syntax.parsing import parse, parse_expression
from forscan.syntax.source import Edit, Text, apply_edits


@dataclass(frozen=True)
class Code(Text):
    """Statements at indentation zero."""

    @cached_property
    def tree(self) -> ast.Module:
        return parse(self.text)

    @property
    def statements(self) -> list[ast.stmt]:
        return self.tree.body

    def edited(self, edits: Iterable[Edit]) -> Code:
        return Code(apply_edits(self.text, list(edits)))

    def replace(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        return Edit(self.start(node), self.end(node), new)

    def remove(self, node: ast.stmt) -> Edit:
        """Drop a statement: its whole line where it stands alone, else a `pass`."""
        return removal(self, node)

    def indented(self, indentation: str) -> str:
        return indent(self.text, indentation)


def removal(text: Text, node: ast.stmt) -> Edit:
    start, end = text.start(node), text.end(node)
    before = text.text[text.line_start(start) : start]
    after = text.text[end : text.line_end(end)]
    if not before.strip() and after.lstrip().startswith("#"):
        return Edit(start, end + len(after) - len(after.lstrip()), "")
    if before.strip() or after.strip():
        return Edit(start, end, "pass")
    return Edit(text.line_start(start), text.next_line(end), "")


def without_names(text: Text, made: ast.Assign, names: set[str]) -> Edit:
    """The removal of names from the assignment that makes them, alone or beside others."""
    target, value = made.targets[0], made.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return removal(text, made)
    kept = [
        (text.segment(t), text.segment(v))
        for t, v in zip(target.elts, value.elts, strict=True)
        if not (isinstance(t, ast.Name) and t.id in names)
    ]
    if not kept:
        return removal(text, made)
    left, right = (", ".join(part) for part in zip(*kept, strict=True))
    return Edit(text.start(made), text.end(made), f"{left} = {right}")


def expression(text: str) -> ast.expr:
    """The tree of an expression that may span lines."""
    return parse_expression(f"({text}\n)")


def one_line(text: Text, node: ast.expr) -> str:
    """The source of an expression, set in parentheses when it spans lines."""
    segment = text.segment(node)
    if "\n" not in segment and "\r" not in segment:
        return segment
    head, rest = segment.split("\n", 1) if "\n" in segment else (segment, "")
    if rest and '"""' not in segment and "'''" not in segment:
        segment = f"{head}\n{dedent(rest, text.indentation(text.start(node)))}"
    bracketed = segment[0] in "([{" and not isinstance(node, ast.BinOp)
    single = isinstance(node, ast.Call | ast.Constant | ast.JoinedStr) or bracketed
    return segment if single else f"({segment})"


def _string_lines(text: Text) -> set[int]:
    """The 1-based lines that begin inside a string literal."""
    inside: set[int] = set()
    f_string_start = getattr(tokenize, "FSTRING_START", -1)
    f_string_end = getattr(tokenize, "FSTRING_END", -1)
    starts: list[int] = []
    for token in text.tokens():
        if token.type == tokenize.STRING:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif token.type == f_string_start:
            starts.append(token.start[0])
        elif token.type == f_string_end and starts:
            inside.update(range(starts.pop() + 1, token.end[0] + 1))
    return inside


def indent(text: str, indentation: str) -> str:
    """Every line moved in, but for blank lines and the inside of strings."""
    code = Text(text)
    inside = _string_lines(code) if '"""' in text or "'''" in text else set()
    lines = text.split("\n")
    return "\n".join(
        line if not line.strip() or number in inside else indentation + line
        for number, line in enumerate(lines, 1)
    )


def dedent(text: str, indentation: str) -> str:
    """Every line moved out by the indentation; less indented lines go to the margin.

    A line that is indented with other characters keeps its depth, as Python counts it.
    """
    wrapped = Text(f"if True:\n{text}\n") if indentation else Text(text)
    shift = 1 if indentation else 0
    inside = _string_lines(wrapped) if '"""' in text or "'''" in text else set()
    out = []
    for number, line in enumerate(text.split("\n"), 1 + shift):
        if number in inside:
            out.append(line)
        elif not line.strip():
            out.append("")
        elif line.startswith(indentation):
            out.append(line[len(indentation) :])
        else:
            rest = line.lstrip(" \t\f")
            deeper = _width(line[: len(line) - len(rest)]) - _width(indentation)
            out.append(" " * deeper + rest)
    return "\n".join(out)


def _width(indentation: str) -> int:
    return len(indentation.replace("\f", "").expandtabs())


def ends_with_statement(text: str) -> bool:
    """Whether a text ends with the line of a statement, which a definition keeps apart from."""
    above = text.rstrip("\r\n")
    line = above[max(above.rfind("\n"), above.rfind("\r")) + 1 :].strip()
    gap = text[len(above) :].replace("\r\n", "\n")
    return len(gap) == 1 and not line.endswith(":") and not line.startswith("#")


def suite(text: Text, statements: list[ast.stmt], header_line: int) -> Code:
    """The code of a suite, with the comments before, between and right after.

    Args:
      text: the file.
      statements: the suite, not empty.
      header_line: the line that holds the colon of the compound statement.
    """
    first, last = statements[0], statements[-1]
    if first.lineno == header_line:  # for x in xs: a = 1; b = 2  # comment
        lines = [text.segment(s) for s in statements]
        tail = text.text[text.end(last) : text.line_end(text.end(last))].strip()
        lines[-1] += f"  {tail}" if tail.startswith("#") else ""
        return Code("\n".join(lines))
    start = text.line_starts[header_line]
    indentation = text.indentation(text.start(first))
    end = suite_end(text, last, indentation)
    raw = text.text[start:end]
    if text.text[text.end(last) : end].strip() == "\\":  # that joins a blank line
        raw = raw.rstrip("\\ \t")
    raw = re.sub(r"\r\n?", "\n", raw)
    return Code(dedent(raw, indentation).strip("\n"))


def suite_end(text: Text, last: ast.stmt, indentation: str) -> int:
    """Where a suite ends: after the comments that still have its indentation.

    One that tells forscan something is about the statement below it, wherever it begins.
    """
    end = text.line_end(text.end(last))
    probe = end
    while probe < len(text.text):
        start = text.next_line(probe)
        probe = text.line_end(start)
        line = text.text[start:probe]
        if line.strip() and not (line.startswith(indentation) and line.lstrip().startswith("#")):
            break
        if re.match(r"\s*#\s*forscan:", line):
            break
        if line.strip():
            end = probe
        if probe == len(text.text):
            break
    return end
