"""Which expressions are arrays of JAX for sure, and no Python numbers.

Both can stand in arithmetic, but Python computes `2 ** i` without bounds, where an array
has the type of its elements.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from forscan.analyse.array_words import ARRAY_METHODS
from forscan.analyse.arrays import (
    Evidence,
    assigned_values,
    evidence,
    gives_an_array,
    has_a_shape,
)
from forscan.analyse.traced_bounds import traced_parameters
from forscan.find.context import FunctionContext
from forscan.syntax.names import is_place, parameters, target_names, walk_scope

_LOOPS = ("jax.lax.scan", "jax.lax.fori_loop")


def is_tracer(  # noqa: C901
    node: ast.expr, context: FunctionContext, state: Collection[str] = (), depth: int = 4
) -> bool:
    """Whether an expression of a traced function is an array of JAX for sure.

    Args:
      node: the expression.
      context: the function.
      state: names that are arrays, or the scan raises.
      depth: how far names and calls are followed.
    """
    if depth == 0:
        return False

    def of(part: ast.expr) -> bool:
        return is_tracer(part, context, state, depth - 1)

    match node:
        case ast.Name(id=name):
            return name in state or _name(node, context, state, depth)
        case ast.BinOp(left=left, right=right):
            return of(left) or of(right)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
            return of(operand)
        case ast.IfExp(body=body, orelse=orelse):
            return of(body) and of(orelse)
        case ast.Subscript(value=base):
            return of(base) or has_a_shape(base, context)
        case ast.Attribute(value=base, attr="T" | "mT" | "real" | "imag"):
            return of(base)
        case ast.Attribute():
            return has_a_shape(node, context)
        case ast.Call(func=ast.Attribute(value=base, attr=method)) if is_place(base):
            return True  # x.at[i].set(…)
        case ast.Call(func=ast.Attribute(value=base, attr=method)) if method in ARRAY_METHODS:
            return gives_an_array(node, context) or of(base)
        case ast.Call():
            return gives_an_array(node, context) or _result(node, context, depth)
    return False


def _name(node: ast.Name, context: FunctionContext, state: Collection[str], depth: int) -> bool:
    name = node.id
    if name in traced_parameters(context) or name in _handed_to_a_loop(context):
        return True
    around = context.around(name)
    if around is not None:
        return is_tracer(node, around, (), depth)
    if has_a_shape(node, context) or _is_row(name, context):
        return True
    if name in context.parameters:
        return False
    values = assigned_values(name, context)
    return bool(values) and all(is_tracer(v, context, state, depth - 1) for v in values)


def _handed_to_a_loop(context: FunctionContext) -> list[str]:
    """The carry and the element, or the index, of a function that is the body of a `lax` loop."""
    if isinstance(context.node, ast.Module):
        return []
    why = context.module.traced.why.get(context.node, "")
    return parameters(context.node)[-2:] if why.endswith(_LOOPS) else []


def _is_row(name: str, context: FunctionContext) -> bool:
    """Whether a name is an element of an array that a `for` iterates."""
    for loop in context.nodes:
        if isinstance(loop, ast.For) and name in target_names(loop.target):
            match loop.iter, loop.target:
                case ast.Call(func=ast.Name(id="enumerate"), args=[rows, *_]), ast.Tuple(
                    elts=[_, target]
                ) if name in target_names(target):
                    iterated = [rows]
                case ast.Call(func=ast.Name(id="zip"), args=arguments), _:
                    iterated = arguments
                case rows, _:
                    iterated = [rows]
            return all(evidence(rows, context) is Evidence.ARRAY for rows in iterated)
    return False


def _result(node: ast.Call, context: FunctionContext, depth: int) -> bool:
    """Whether a function of the module gives back an array whatever it is given."""
    callee = context.module.traced.only(node.func)
    if not isinstance(callee, ast.FunctionDef) or callee.decorator_list:
        return False
    inside = FunctionContext(context.module, callee)
    returns = [n for n in walk_scope(callee.body) if isinstance(n, ast.Return)]
    values = [r.value for r in returns if r.value is not None]
    return bool(values) and all(is_tracer(v, inside, (), depth - 1) for v in values)
