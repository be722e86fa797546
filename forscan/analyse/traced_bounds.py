"""Trip counts that are traced arguments: such a loop cannot run as it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from forscan.analyse.trip_count import definition, stable
from forscan.find.context import FunctionContext
from forscan.model import Refusal
from forscan.syntax.walk import walk

_STATIC_ATTRIBUTES = {"shape", "ndim", "size", "dtype"}


def check_bounds(
    bounds: Iterable[ast.expr], loop: ast.AST, context: FunctionContext, what: str
) -> Refusal | None:
    """A refusal that names all parameters of the loop's bounds that are traced.

    Args:
      bounds: the expressions that give the trip count.
      loop: the loop; loops inside it have to be able to run as well.
      context: the function it stands in.
      what: what gets the tracer, for the message.
    """
    bounds = list(bounds)
    bad = [n for bound in bounds for n in _traced_names(bound, context)]
    if not bad:
        return None
    needed = list(dict.fromkeys([*bad, *_needed_inside(loop, context)]))
    shown = ", ".join(f'"{n}"' for n in needed)
    listed = shown if len(needed) == 1 else f"({shown})"
    place = bounds[0]
    return Refusal(
        "FSC203",
        f"the trip count depends on {', '.join(dict.fromkeys(bad))}, which is traced: under jit "
        f"{what} gets a tracer and raises, so the loop cannot run as it stands",
        f"Mark as static: `jax.jit(..., static_argnames={listed})`.",
        place.lineno,
        place.col_offset + 1,
    )


def _needed_inside(loop: ast.AST, context: FunctionContext) -> Iterator[str]:
    """Traced parameters that are trip counts of loops inside a loop."""
    for node in walk(loop):
        if isinstance(node, ast.Call):
            path = context.resolve(node.func)
            bounds: list[ast.expr] = []
            if path == "range":
                bounds = node.args
            elif path == "jax.lax.fori_loop":
                bounds = node.args[:2]
            elif path == "jax.lax.scan":
                bounds = [k.value for k in node.keywords if k.arg == "length"] + node.args[3:4]
            for bound in bounds:
                yield from _traced_names(bound, context)


def _traced_names(node: ast.expr, context: FunctionContext, depth: int = 4) -> list[str]:
    """Traced parameters that an expression uses as numbers, through single assignments."""
    traced = traced_parameters(context)
    found: list[str] = []
    for name in numbers_in(node):
        if name.id in traced and stable(name, context):
            found.append(name.id)
        elif depth:
            value = definition(name.id, context)
            if value is not None and value is not node:
                found += _traced_names(value, context, depth - 1)
    return found


def numbers_in(node: ast.AST) -> Iterator[ast.Name]:
    """Names used for their value, not for their shape or length."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.Attribute):
        if node.attr not in _STATIC_ATTRIBUTES and isinstance(node.value, ast.Call):
            yield from numbers_in(node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "abs", "int"):
            for argument in node.args:
                yield from numbers_in(argument)
    elif not isinstance(node, ast.Subscript):
        for child in ast.iter_child_nodes(node):
            yield from numbers_in(child)


def traced_parameters(context: FunctionContext) -> set[str]:
    """Parameters that are surely tracers, of the function and of those around it."""
    traced = context.module.traced
    found = set(traced.traced_parameters(context.node))
    hidden = set(context.parameters) | context.assigned
    scope = context.module.functions.enclosing(context.node)
    while scope is not None:
        around = traced.traced_parameters(scope) - hidden
        found |= around
        if not isinstance(scope, ast.Lambda):
            outer = FunctionContext(context.module, scope)
            hidden |= set(outer.parameters) | outer.assigned
        scope = context.module.functions.enclosing(scope)
    return found
