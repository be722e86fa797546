"""Tuples and lists of Python numbers: what a loop reads of them at its index.

`W = [0.5, 3.0]` becomes an array whose items are tracers. Alone they meet arrays as the
weakly typed numbers that they were. What Python makes of several numbers first, such as
`W[i] * W[i]`, is made in its own integers and in double precision.
"""

from __future__ import annotations

import ast

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.trip_count import definition
from forscan.find.context import FunctionContext


def is_table(base: ast.expr, context: FunctionContext) -> bool:
    """Whether an expression is a sequence of Python numbers."""
    return evidence(base, context) is Evidence.TABLE


def is_of_floats(base: ast.expr, context: FunctionContext) -> bool:
    """Whether all items of a table are surely floats."""
    return _types(base, context) == {float}


def is_mixed(base: ast.expr, context: FunctionContext) -> bool:
    """Whether a table holds integers, or truth values, besides floats."""
    return len(_types(base, context)) > 1


def _types(base: ast.expr, context: FunctionContext) -> set[type]:
    """The types of the items, where they are written down."""
    value = definition(base.id, context) if isinstance(base, ast.Name) else base
    if not isinstance(value, ast.List | ast.Tuple) or not all(map(_is_written, value.elts)):
        return set()
    return {type(item) for item in ast.literal_eval(value)}


def _is_written(item: ast.expr) -> bool:
    if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub):
        item = item.operand
    return isinstance(item, ast.Constant)
