"""Other names for the variables of a scope, in its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.syntax.names import free_names
from forscan.syntax.parsing import parse, parse_expression
from forscan.syntax.source import Edit, Text, apply_edits
from forscan.syntax.walk import walk


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with other names, or expressions, for variables of its own scope.

    Nested functions and comprehensions see the new names where they see the old ones.
    """
    names = {old: new for old, new in names.items() if old != new}
    if not names or not text.strip():
        return text
    try:
        code, shift = Text(text), 0
        tree: ast.AST = parse(text)
    except SyntaxError:  # an expression over several lines
        code, shift = Text(f"({text}\n)"), 1
        tree = parse_expression(code.text)
    edits = []
    for node in _own_names(tree, set(names)):
        start, end = code.start(node), code.end(node)
        edits.append(Edit(start - shift, end - shift, names[node.id]))
    return apply_edits(text, edits)


def _own_names(node: ast.AST, wanted: set[str]) -> Iterator[ast.Name]:
    """Names of the scope, and those that inner scopes take from it."""
    if isinstance(node, ast.Name):
        if node.id in wanted:
            yield node
    elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        outer = set(free_names(node))
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        a = node.args
        for default in [*decorators, *a.defaults, *filter(None, a.kw_defaults)]:
            yield from _own_names(default, wanted)
        for part in body:
            yield from _own_names(part, wanted & outer)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        yield from _of_comprehension(node, wanted)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _own_names(child, wanted)


def _of_comprehension(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, wanted: set[str]
) -> Iterator[ast.Name]:
    own = {n.id for g in node.generators for n in walk(g.target) if isinstance(n, ast.Name)}
    yield from _own_names(node.generators[0].iter, wanted)
    rest = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.comprehension)]
    for position, generator in enumerate(node.generators):
        rest += [*generator.ifs, *([generator.iter] if position else [])]
    for part in rest:
        yield from _own_names(part, wanted - own)
