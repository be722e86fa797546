"""Integer expressions as sums, to compare them: `x.shape[0] - k + 1` and the like."""

from __future__ import annotations

import ast
from collections import Counter

from forscan.analyse.trip_count import definition, extent, literal_int
from forscan.find.context import FunctionContext


def linear(node: ast.expr, context: FunctionContext, depth: int = 5) -> Counter[str]:
    """How often each term occurs in an expression; the number stands under the empty name."""
    number = literal_int(node)
    if number is not None:
        return Counter({"": number})
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            found = Counter(linear(left, context, depth))
            sign = 1 if isinstance(op, ast.Add) else -1
            for term, count in linear(right, context, depth).items():
                found[term] += sign * count
            return found
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for factor, other in ((left, right), (right, left)):
                times = literal_int(factor)
                if times is not None:
                    terms = linear(other, context, depth)
                    return Counter({t: times * c for t, c in terms.items()})
        case ast.Name(id=name) if depth:
            value = definition(name, context)
            if value is not None:
                return linear(value, context, depth - 1)
    found_extent = extent(node, context)
    return Counter({found_extent.base: 1, "": found_extent.constant})


def difference(a: Counter[str], b: Counter[str]) -> int | None:
    """`a - b` where that is a number."""
    rest = Counter(a)
    for term, count in b.items():
        rest[term] -= count
    if any(count for term, count in rest.items() if term):
        return None
    return rest[""]
