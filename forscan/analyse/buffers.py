"""Writes into arrays: `b = b.at[place].set(value)`."""

from __future__ import annotations

import ast

from forscan.find.context import FunctionContext


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


def is_weakly_filled(made: ast.expr, context: FunctionContext) -> bool:
    """Whether a buffer may be weakly typed, as `jnp.full(n, 0.5)` is: its rows are not.

    Of an array `full` has that array's type, but nothing shows one here: a number may
    have a name.
    """
    if not isinstance(made, ast.Call) or context.resolve(made.func) != "jax.numpy.full":
        return False
    return len(made.args) < 3 and not any(k.arg == "dtype" for k in made.keywords)
