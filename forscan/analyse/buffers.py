"""Writes into arrays: `b = b.at[place].set(value)`."""

from __future__ import annotations

import ast


def written(statement: ast.stmt, name: str) -> tuple[ast.expr, ast.expr] | None:
    """The place and the value of a write into a name, None for anything else."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(
                        value=ast.Attribute(value=ast.Name(id=base), attr="at"), slice=place
                    ),
                    attr="set",
                ),
                args=[value],
                keywords=[],
            ),
        ) if (
            target == base == name
        ):
            return place, value
    return None
