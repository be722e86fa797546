"""Starts that nobody reads any more, once the loop behind them has been converted."""

from __future__ import annotations

import ast

from forscan.analyse.lists import block_of
from forscan.passes.draft import Draft
from forscan.syntax.names import names_in


def idle_start(draft: Draft, name: str, before: ast.stmt) -> ast.Assign | None:
    """The last statement about a name before another, where it has no effect but on that name."""
    block = block_of(draft.statement, draft.context)
    if before not in block or name in draft.context.captured:
        return None
    mentions = (s for s in reversed(block[: block.index(before)]) if name in names_in(s))
    match next(mentions, None):
        case ast.Assign(targets=[ast.Name(id=target)], value=value) as start:
            if target == name and _has_no_effect(draft, value):
                return start
    return None


def _has_no_effect(draft: Draft, value: ast.expr) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Call(func=maker):
            return (draft.context.resolve(maker) or "").startswith("jax.numpy.")
        case ast.BinOp(left=ast.List(elts=items), op=ast.Mult()) | ast.List(elts=items):
            return all(isinstance(i, ast.Constant | ast.Name) for i in items)
    return False
