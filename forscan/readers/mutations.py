"""The containers that a body changes in place, and has not made itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from forscan.syntax.names import binds, walk_all

_FOR_NOTHING = {"append", "extend", "update", "insert", "clear", "remove", "sort", "reverse"}
"""Methods that return nothing: where their value is used, they are not those of containers."""
_ANYWHERE = {"pop", "popitem", "setdefault"}
_MADE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def changed_containers(nodes: Sequence[ast.AST]) -> list[ast.expr]:
    """The expressions of such containers, in order."""
    found: list[ast.expr] = []
    _suite(nodes, frozenset(), found)
    return found


def _suite(nodes: Sequence[ast.AST], own: frozenset[str], found: list[ast.expr]) -> frozenset[str]:
    """Adds what a suite changes; the names of its own containers behind it."""
    for node in nodes:
        suites = list(_suites(node))
        inside = {n for suite in suites for n in walk_all(suite)}
        for part in walk_all([node]):
            container = _changed(part) if part not in inside else None
            is_own = isinstance(container, ast.Name) and container.id in own
            if container is not None and not is_own:
                found.append(container)
        ends = [_suite(suite, own, found) for suite in suites]
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if isinstance(value, _MADE):
                own |= {name}
            case ast.stmt() if not suites:
                own -= set(binds(node))
        own = own.intersection(*ends)
    return own


def _suites(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The suites of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(node, name, None)
        if isinstance(suite, list) and suite:
            yield suite
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _changed(node: ast.AST) -> ast.expr | None:
    """The container that a node changes in place, if it does."""
    match node:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return value
        case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
            return value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=value, attr=method))):
            return value if method in _FOR_NOTHING else None
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return value if method in _ANYWHERE else None
    return None
