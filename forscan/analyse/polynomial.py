"""Integer expressions as sums of products: `(i + 1) * size` is `i * size + size`."""

from __future__ import annotations

import ast
from collections import Counter

from forscan.analyse.trip_count import literal_int

Polynomial = Counter[tuple[str, ...]]


def polynomial(node: ast.expr) -> Polynomial:
    """How often each product occurs; the number stands under the empty product.

    What is neither a number nor made by `+`, `-` or `*` is a factor, by its text.
    """
    number = literal_int(node)
    if number is not None:
        return Counter({(): number})
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = 1 if isinstance(op, ast.Add) else -1
            return plus(polynomial(left), polynomial(right), sign)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return times(polynomial(left), polynomial(right))
    return Counter({(ast.unparse(node),): 1})


def plus(one: Polynomial, other: Polynomial, sign: int = 1) -> Polynomial:
    found = Counter(one)
    for product, count in other.items():
        found[product] += sign * count
    return _without_zeros(found)


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    found: Polynomial = Counter()
    for left, count in one.items():
        for right, often in other.items():
            found[tuple(sorted(left + right))] += count * often
    return _without_zeros(found)


def _without_zeros(found: Polynomial) -> Polynomial:
    return Counter({product: count for product, count in found.items() if count})
