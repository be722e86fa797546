"""Expressions with other expressions in the place of names."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping


def filled(expression: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """A copy of an expression in which names are the values that stand for them."""
    found = _Filled(values).visit(copy.deepcopy(expression))
    assert isinstance(found, ast.expr)
    return found


class _Filled(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.values.get(node.id, node))
