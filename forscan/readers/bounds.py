"""Trip counts of `lax` loops: tracers and thousands are no range for Python."""

from __future__ import annotations

import ast

from forscan.analyse.array_words import TREE_MAPS
from forscan.analyse.arrays import assigned_values
from forscan.analyse.handed import argument
from forscan.analyse.traced_bounds import check_bounds, numbers_in
from forscan.analyse.tracers import is_tracer
from forscan.analyse.trip_count import definition, literal_int
from forscan.find.context import FunctionContext
from forscan.find.sites import LAX_LOOPS, Site
from forscan.model import Refused
from forscan.refusal import refuse
from forscan.syntax.names import parameters
from forscan.syntax.walk import walk

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


def is_integer(node: ast.expr, context: FunctionContext) -> bool:
    """Whether an expression surely is a Python integer: of literals, constants and shapes."""
    if known(node, context) is not None:
        return True
    match node:
        case ast.Call(func=function) if context.resolve(function) == "len":
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=index):
            return not isinstance(index, ast.Slice)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv()):
            return is_integer(node.left, context) and is_integer(node.right, context)
    return False


def check_length(site: Site, node: ast.expr) -> None:
    """Refuses what Python cannot count.

    Raises:
      Refused: the number is traced, or so large that nobody would wait for the compiler.
    """
    context = site.context
    number = known(node, context)
    if number is not None and number > MOST_TRIPS:
        raise Refused(
            refuse(
                "FSC204",
                node,
                f"the trip count is {number}: a `for` of that length would make as many copies of the body, and "
                "compiling them takes minutes to hours",
                "Keep the loop, or set `unroll=` to let the compiler see several iterations.",
            )
        )
    traced = check_bounds([node], site.node, context, "`range`")
    if traced is not None:
        raise Refused(traced)
    array = _array(node, context)
    if array is not None:
        raise Refused(
            refuse(
                "FSC203",
                node,
                f"the trip count depends on {ast.unparse(array)}, which is a tracer: `range` raises",
                "Keep the loop, or make that number static.",
            )
        )
    for name in numbers_in(node):
        form = _carried_by(name, context)
        if form is not None:
            raise Refused(
                refuse(
                    "FSC203",
                    name,
                    f"the trip count depends on {name.id}, which {form} hands to its body as a tracer: `range` raises",
                    f"Convert that {form} as well, or keep both.",
                )
            )


def _array(node: ast.expr, context: FunctionContext) -> ast.expr | None:
    """What makes a number a tracer: a computation, or an argument of a call in the file."""
    if context.module.traced.reason(node) is None or isinstance(context.node, ast.Module):
        return None
    if is_tracer(node, context):
        return node
    functions = context.module.functions
    for name in numbers_in(node):
        values = assigned_values(name.id, context)
        if any(isinstance(v, ast.Call) and context.resolve(v.func) in TREE_MAPS for v in values):
            return name  # an element of a loop that was a scan
        if name.id not in context.parameters:
            continue
        if context.module.traced.why.get(context.node, "").endswith(("jax.vmap", "jax.pmap")):
            return name
        for call in functions.calls_of.get(getattr(context.node, "name", ""), ()):
            caller, given = functions.enclosing(call), argument(name.id, context.node, call)
            if given is not None and isinstance(caller, ast.FunctionDef):
                if is_tracer(given, FunctionContext(context.module, caller)):
                    return name
    return None


def _carried_by(name: ast.Name, context: FunctionContext) -> str | None:
    """The `lax` loop around that calls the function whose parameter a name is."""
    functions = context.module.functions
    scope = functions.enclosing(name)
    while scope is not None and name.id not in parameters(scope):
        scope = functions.enclosing(scope)
    for node in walk(context.module.tree) if scope is not None else ():
        if isinstance(node, ast.Call):
            form = LAX_LOOPS.get(context.module.imports.resolve(node.func) or "")
            given = [*node.args, *(k.value for k in node.keywords)] if form else []
            if any(f is scope for a in given for f in context.module.traced.candidates(a)):
                return form
    return None
