"""Slices whose length follows from that of what they are cut from."""

from __future__ import annotations

import ast

from forscan.syntax.code import expression


def uncut(node: ast.expr) -> tuple[ast.expr, int]:
    """What `x[1:]`, `x[:-2]` and `x[::-1]` are cut from, and how many items they leave out."""
    match node:
        case ast.Subscript(value=whole, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            match lower, upper, step:
                case None, None, None:
                    return whole, 0
                case ast.Constant(value=int(first)), None, None:
                    return whole, first
                case None, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(last))), None:
                    return whole, last
                case None, None, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
                    return whole, 0
    return node, 0


def reversed_of(text: str) -> str | None:
    """`x` for the expression `x[::-1]`, None for any other."""
    turned = text.endswith("[::-1]") and isinstance(expression(text), ast.Subscript)
    return text.removesuffix("[::-1]") if turned else None
