"""Trip counts of `lax` loops: tracers and thousands are no range for Python."""

from __future__ import annotations

import ast

from forscan.analyse.trip_count import definition, literal_int
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Refusal, Refused

MOST_TRIPS = 2000


def known(node: ast.expr, context: FunctionContext, depth: int = 4) -> int | None:
    """The value of an integer expression of literals and constants."""
    number = literal_int(node)
    if number is not None or depth == 0:
        return number
    if isinstance(node, ast.Name):
        value = definition(node.id, context)
        return known(value, context, depth - 1) if value is not None else None
    if isinstance(node, ast.BinOp):
        left, right = known(node.left, context, depth - 1), known(node.right, context, depth - 1)
        if left is None or right is None:
            return None
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.FloorDiv() if right:
                return left // right
    return None


def check_length(site: Site, node: ast.expr) -> None:
    """Refuses what Python cannot count.

    Raises:
      Refused: the number is traced, or so large that nobody would wait for the compiler.
    """
    context = site.context
    number = known(node, context)
    if number is not None and number > MOST_TRIPS:
        raise Refused(
            Refusal(
                "FSC204",
                f"the trip count is {number}: a `for` of that length would make as many copies of the body, and "
                "compiling them takes minutes to hours",
                "Keep the loop, or set `unroll=` to let the compiler see several iterations.",
                node.lineno,
                node.col_offset + 1,
            )
        )
    bad = sorted(_traced_names(node, context))
    if bad:
        shown = ", ".join(f'"{b}"' for b in bad)
        raise Refused(
            Refusal(
                "FSC203",
                f"the trip count depends on {', '.join(bad)}, which is traced: `range` cannot take a tracer",
                f"Mark it as static: `jax.jit(..., static_argnames={shown if len(bad) == 1 else f'({shown})'})`.",
                node.lineno,
                node.col_offset + 1,
            )
        )


def _traced_names(node: ast.expr, context: FunctionContext, depth: int = 4) -> set[str]:
    traced = context.module.traced.traced_parameters(context.node)
    parents = context.module.functions.parents
    found: set[str] = set()
    for name in ast.walk(node):
        if not isinstance(name, ast.Name):
            continue
        parent = parents.get(name)
        if isinstance(parent, ast.Attribute) or _is_length(parent):
            continue
        if name.id in traced:
            found.add(name.id)
        elif depth:
            value = definition(name.id, context)
            if value is not None and value is not node:
                found |= _traced_names(value, context, depth - 1)
    return found


def _is_length(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
