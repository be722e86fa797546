"""Suites inside a suite."""

from __future__ import annotations

import ast
from typing import TypeGuard

from forscan.syntax.code import Code, dedent, suite, suite_end


def suite_of(code: Code, statements: list[ast.stmt]) -> Code:
    """The code of a suite that stands in another, with its comments."""
    if not statements:
        return Code("")
    first = statements[0]
    if is_elif(first, code):
        start, indentation = code.start(first), code.indentation(code.start(first))
        text = code.text[start + len("el") : whole_end(code, first)]
        return Code(dedent(indentation + text, indentation))
    line = first.lineno
    if code.text[code.line_start(code.start(first)) : code.start(first)].strip():
        return suite(code, statements, line)
    line -= 1
    while not code.line(line).split("#")[0].rstrip().endswith(":"):
        line -= 1
    return suite(code, statements, line)


def is_elif(statement: ast.stmt, code: Code) -> TypeGuard[ast.If]:
    """Whether a statement is written as a branch of the `if` whose `else` it stands in."""
    start = code.start(statement)
    return isinstance(statement, ast.If) and code.text.startswith("elif", start)


def whole_end(code: Code, statement: ast.If) -> int:
    """Where an `if` ends, with the comments of its last suite."""
    last = (statement.orelse or statement.body)[-1]
    if is_elif(last, code):
        return whole_end(code, last)
    if code.text[code.line_start(code.start(last)) : code.start(last)].strip():
        return code.line_end(code.end(last))
    return suite_end(code, last, code.indentation(code.start(last)))
