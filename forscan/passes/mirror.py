"""Finds, in the body as it is now, the expressions that were found in the file."""

from __future__ import annotations

import ast

from forscan.passes.draft import Draft
from forscan.syntax.walk import walk_all


def mirror(draft: Draft) -> dict[ast.AST, ast.AST]:
    """Expression in the file -> the equal expression of the body, in order.

    Earlier passes changed other parts of the body, so positions do not help; equal
    expressions keep their order, and what is replaced is known.
    """
    now: dict[str, list[ast.AST]] = {}
    for node in walk_all(draft.loop.body.statements):
        if isinstance(node, ast.expr):
            now.setdefault(ast.dump(node), []).append(node)
    found: dict[ast.AST, ast.AST] = {}
    for node in walk_all(draft.statement.body):
        if isinstance(node, ast.expr) and node not in draft.replaced:
            equal = now.get(ast.dump(node))
            if equal:
                found[node] = equal.pop(0)
    return found
