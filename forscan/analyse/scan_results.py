"""What the outputs in `carry, ys = jax.lax.scan(f, init, xs)` are made of, by what `f` returns."""

from __future__ import annotations

import ast

from forscan.analyse.trip_count import binding_counts
from forscan.find.context import FunctionContext, once
from forscan.syntax.names import walk_scope


def output_of(name: str, context: FunctionContext) -> tuple[ast.expr, FunctionContext] | None:
    """What an iteration gives for a name that holds the outputs of a scan, and where it stands.

    None where the name may stand for something else, or nothing shows it.
    """
    return _outputs(context).get(name)


@once
def _outputs(context: FunctionContext) -> dict[str, tuple[ast.expr, FunctionContext]]:
    found: dict[str, tuple[ast.expr, FunctionContext]] = {}
    counts = binding_counts(context)
    for node in walk_scope(context.node.body):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, ys])],
                value=ast.Call(args=[ast.Name() as f, *_]) as call,
            ) if (
                context.resolve(call.func) == "jax.lax.scan"
            ):
                body = context.module.traced.only(f)
                output = _returned(body) if isinstance(body, ast.FunctionDef) else None
                if output is not None and isinstance(body, ast.FunctionDef):
                    inside = FunctionContext(context.module, body)
                    found |= {n: (value, inside) for n, value in _matched(ys, output)}
    return {n: value for n, value in found.items() if counts[n] == 1}


def _returned(body: ast.FunctionDef) -> ast.expr | None:
    """The second part of the only pair that a body returns."""
    returns = [n for n in walk_scope(body.body) if isinstance(n, ast.Return)]
    match returns:
        case [ast.Return(value=ast.Tuple(elts=[_, output]))] if not body.decorator_list:
            return output
    return None


def _matched(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The names of a pattern with their parts of a value."""
    match target, value:
        case ast.Name(id=name), _:
            return [(name, value)]
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            return [m for t, v in zip(targets, values, strict=True) for m in _matched(t, v)]
    return []
