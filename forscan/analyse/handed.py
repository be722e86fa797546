"""What a call hands to the function that it calls."""

from __future__ import annotations

import ast

from forscan.find.context import FunctionContext
from forscan.find.functions import Function


def argument(name: str, callee: Function | ast.Lambda, call: ast.Call) -> ast.expr | None:
    """What a call gives for a parameter, None where it is left out or not written out."""
    plain = [p.arg for p in (*callee.args.posonlyargs, *callee.args.args)]
    if isinstance(call.func, ast.Attribute) and plain[:1] in (["self"], ["cls"]):
        plain = plain[1:]
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    by_name = {k.arg: k.value for k in call.keywords}
    return dict(zip(plain, call.args, strict=False)).get(name, by_name.get(name))


def given(
    expression: ast.expr, callee: Function | ast.Lambda, inside: FunctionContext, call: ast.Call
) -> ast.expr | None:
    """The part of a call that an expression of the called function stands for.

    It is a parameter, or what `a, b = parameter` takes out of one.
    """
    match expression:
        case ast.Name(id=name) if name in inside.assigned:
            values = inside.values.get(name, [])
            return given(values[0], callee, inside, call) if len(values) == 1 else None
        case ast.Name(id=name):
            return argument(name, callee, call)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))):
            whole = None if name in inside.assigned else argument(name, callee, call)
            if isinstance(whole, ast.Tuple | ast.List) and place < len(whole.elts):
                return whole.elts[place]
    return None
