"""The containers that a body changes in place, and has not made itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from forscan.syntax.names import binds, parameters
from forscan.syntax.walk import walk_all

_FOR_NOTHING = {"append", "extend", "update", "insert", "clear", "remove", "sort", "reverse"}
"""Methods that return nothing: where their value is used, they are not those of containers."""
_ANYWHERE = {"pop", "popitem", "setdefault"}
_MADE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


Callees = Callable[[ast.expr], Iterable[ast.AST]]


def changed_containers(
    nodes: Sequence[ast.AST], callees: Callees, depth: int = 3
) -> list[ast.expr]:
    """The expressions of such containers, in order.

    Args:
      nodes: the statements of a function, or the expression of a lambda.
      callees: gives the functions of the module that an expression may stand for.
      depth: how far calls are looked into.
    """
    search = _Search(callees, depth)
    search.suite(nodes, frozenset())
    return search.found


class _Search:
    def __init__(self, callees: Callees, depth: int) -> None:
        self.callees, self.depth = callees, depth
        self.found: list[ast.expr] = []

    def suite(self, nodes: Sequence[ast.AST], own: frozenset[str]) -> frozenset[str]:
        """Adds what a suite changes; the names of its own containers behind it."""
        for node in nodes:
            suites = list(_suites(node))
            inside = {n for suite in suites for n in walk_all(suite)}
            parts = [p for p in walk_all([node]) if p not in inside]
            for container in (c for part in parts for c in self.changed(part)):
                if not (isinstance(container, ast.Name) and container.id in own):
                    self.found.append(container)
            ends = [self.suite(suite, own) for suite in suites]
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=v) if isinstance(v, _MADE):
                    own |= {name}
                case ast.stmt() if not suites:
                    own -= set(binds(node))
            own = own.intersection(*ends)
        return own

    def changed(self, node: ast.AST) -> Iterator[ast.expr]:
        """The containers that a node changes in place."""
        container = _changed(node)
        if container is not None:
            yield container
        if not isinstance(node, ast.Call) or self.depth == 0:
            return
        for callee in self.callees(node.func):
            if isinstance(callee, ast.FunctionDef):
                names = [n for n in parameters(callee) if n not in ("self", "cls")]
                inside = changed_containers(callee.body, self.callees, self.depth - 1)
                roots = {_root(c) for c in inside}
                yield from (a for n, a in zip(names, node.args, strict=False) if n in roots)
                yield from (k.value for k in node.keywords if k.arg in roots)


def _root(container: ast.expr) -> str | None:
    """The name that an expression begins with."""
    while isinstance(container, ast.Subscript | ast.Attribute):
        container = container.value
    return container.id if isinstance(container, ast.Name) else None


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
