"""Integers of NumPy that a loop takes one by one: NumPy computes with them in 64 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.trip_count import definition
from forscan.find.context import FunctionContext
from forscan.model import Element
from forscan.refusal import Refusal, refuse
from forscan.syntax.code import expression
from forscan.syntax.names import names_in
from forscan.syntax.walk import walk, walk_all

_GROWING = (ast.Mult, ast.Pow, ast.LShift)


def numpy_integers(
    loop: ast.For, elements: tuple[Element, ...], context: FunctionContext
) -> Iterator[Refusal]:
    """Refuses products of such integers, which may be too large for the int32 of a scan."""
    for element in elements:
        source = expression(element.source)
        if evidence(source, context) is not Evidence.NUMPY or _are_floats(source, context):
            continue
        own = names_in(expression(element.target))
        for node in walk_all(loop.body):
            if isinstance(node, ast.BinOp) and isinstance(node.op, _GROWING):
                if names_in(node) and names_in(node) <= own:
                    yield refuse(
                        "FSC403",
                        node,
                        f"`{ast.unparse(node)}` is computed by NumPy in 64 bits; inside a scan it is an "
                        "int32, which wraps around",
                        "Compute it before the loop, or with jnp.float32.",
                    )
                    return


def _are_floats(source: ast.expr, context: FunctionContext) -> bool:
    value = definition(source.id, context) if isinstance(source, ast.Name) else source
    parts = walk(value) if value is not None else []
    return any(
        (isinstance(n, ast.Constant) and isinstance(n.value, float))
        or (isinstance(n, ast.Attribute) and n.attr.startswith(("float", "linspace")))
        for n in parts
    )
