"""Patterns that take tuples apart, and what stands at each of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from forscan.syntax.code import Code, expression
from forscan.syntax.names import binds, reads
from forscan.syntax.parsing import parse
from forscan.syntax.rename import renamed
from forscan.syntax.source import Edit, Text, apply_edits
from forscan.syntax.walk import walk


def leaves(pattern: ast.expr) -> list[str] | None:
    """The names of a pattern, left to right; None where it is more than tuples of names."""
    if isinstance(pattern, ast.Name):
        return [pattern.id]
    if not isinstance(pattern, ast.Tuple | ast.List):
        return None
    found: list[str] = []
    for item in pattern.elts:
        names = leaves(item)
        if names is None:
            return None
        found += names
    return found


def aligned(pattern: ast.expr, value: ast.expr) -> list[ast.expr] | None:
    """The part of a value for each name of a pattern; None where it is not written apart."""
    if isinstance(pattern, ast.Name):
        return [value]
    assert isinstance(pattern, ast.Tuple | ast.List)
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(pattern.elts):
        return None
    if any(isinstance(e, ast.Starred) for e in value.elts):
        return None
    found: list[ast.expr] = []
    for part, item in zip(pattern.elts, value.elts, strict=True):
        parts = aligned(part, item)
        if parts is None:
            return None
        found += parts
    return found


def packed(pattern: ast.expr, texts: Sequence[str]) -> str:
    """The pattern as an expression, with other texts for its names."""
    return _packed(pattern, iter(texts))


def _packed(pattern: ast.expr, texts: Iterator[str]) -> str:
    if isinstance(pattern, ast.Name):
        return next(texts)
    assert isinstance(pattern, ast.Tuple | ast.List)
    items = [_packed(item, texts) for item in pattern.elts]
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def bare(text: str) -> str:
    """A tuple without the parentheses around it, as an assignment takes it."""
    node = expression(text)
    # `expression` sets parentheses of its own, at column 0.
    if isinstance(node, ast.Tuple) and len(node.elts) > 1 and node.col_offset == 1:
        return text[1:-1].strip()
    return text


def head_unpacking(code: Code, name: str) -> tuple[ast.stmt, ast.expr] | None:
    """`a, (b, c) = name` before anything else binds its names or changes the name.

    Returns:
      The statement and the pattern.
    """
    seen: set[str] = set()
    for statement in code.statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple() as pattern], value=ast.Name(id=value)) if (
                value == name
            ):
                names = leaves(pattern)
                if names is None or len(set(names)) < len(names) or set(names) & seen:
                    return None
                return statement, pattern
        seen |= {*binds(statement), *reads(statement)}
        if name in seen:
            return None
    return None


def reads_in(code: Code, name: str) -> list[ast.stmt]:
    """The statements that read a name."""
    return [s for s in code.statements if name in reads(s)]


def by_index(code: Code, returned: str, name: str, items: Sequence[str]) -> tuple[Code, str] | None:
    """A body that reads `name[0]`, `name[1]`, … only, as one that takes the name apart.

    Args:
      code, returned: its statements, and the expression that it returns.
      name: the tuple.
      items: names for its items.
    """
    if name in binds(code.statements):
        return None
    texts = []
    for text in (code, Text(f"({returned}\n)")):
        edits = []
        tree = parse(text.text)
        known = {}
        for node in walk(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                known[node.value] = node
        for node in walk(tree):
            if isinstance(node, ast.Name) and node.id in items:
                return None
            if isinstance(node, ast.arg) and node.arg in (name, *items):
                return None
            if isinstance(node, ast.Name) and node.id == name:
                read = known.get(node)
                index = read.slice if read is not None else None
                if not isinstance(index, ast.Constant) or index.value not in range(len(items)):
                    return None
                assert read is not None and isinstance(index.value, int)
                edits.append(Edit(text.start(read), text.end(read), items[index.value]))
        texts.append(apply_edits(text.text, edits))
    head = f"{', '.join(items)} = {name}\n"
    return Code(f"{head}{texts[0]}"), texts[1][1:-2]


def unpacked_at_the_end(code: Code, returned: str) -> tuple[Code, str]:
    """Without a tuple that is only made to be returned: `new = (a, b)`, `return new, y`."""
    result: ast.expr = expression(returned)
    read = [n.id for n in walk(result) if isinstance(n, ast.Name)]
    seen: set[str] = set()
    for statement in reversed(code.statements):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() as value) if (
                name in read and name not in seen and not _keeps(code, name)
            ):
                plain = all(isinstance(e, ast.Name | ast.Constant) for e in value.elts)
                last = statement is code.statements[-1] and read.count(name) == 1
                if (last or (plain and not set(reads(value)) & seen)) and _alone(code, statement):
                    text = f"({bare(code.segment(value))})"
                    return _without(code, statement), renamed(returned, {name: text})
        seen |= {*binds(statement), *reads(statement)}
    return code, returned


def _keeps(code: Code, name: str) -> bool:
    """Whether a function in the code may read the name later on."""
    inner = (ast.FunctionDef, ast.Lambda)
    return any(isinstance(n, inner) and name in reads(n) for n in walk(code.tree))


def _alone(code: Code, statement: ast.stmt) -> bool:
    """Whether the statement is one or several whole lines, without a comment."""
    start, end = code.start(statement), code.end(statement)
    around = code.text[code.line_start(start) : start] + code.text[end : code.line_end(end)]
    return not around.strip() and "#" not in code.text[start:end]


def _without(code: Code, statement: ast.stmt) -> Code:
    return Code(code.edited([code.remove(statement)]).text.rstrip("\n"))
