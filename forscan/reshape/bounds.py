"""Bounds of slices that have names are written out: `start = b * size; x[start : start + size]`.

What a window is shows only where both of its bounds are expressions of the index.
"""

from __future__ import annotations

import ast

from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import Code, indent
from forscan.syntax.filled import filled
from forscan.syntax.names import bindings, names_in, reads
from forscan.syntax.walk import walk_all

_PLAIN = (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Name, ast.Load, ast.Constant)


def write_bounds_out(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with expressions of the index for such names; None where it has none."""
    if {r.code for r in reasons} != {"FSC401"} or loop.node.orelse:
        return None
    values = _values(loop)
    body = loop.body
    edits = [
        body.replace(bound, ast.unparse(filled(bound, values)))
        for part in walk_all(body.statements)
        if isinstance(part, ast.Slice)
        for bound in (part.lower, part.upper)
        if bound is not None and names_in(bound) & set(values)
    ]
    if not edits:
        return None
    text = _without_unread(body.edited(edits), set(values)).text
    return loop.replaced(f"{loop.header}\n{indent(text, loop.context.unit)}", 0)


def _values(loop: LoopText) -> dict[str, ast.expr]:
    """What names of the body stand for: sums and products of the index and of what stays."""
    bound = [name for name, _ in bindings(loop.node.body, comprehensions=True)]
    changed = {*bound, *loop.state.targets} - {loop.index}
    found: dict[str, ast.expr] = {}
    if loop.index is None or loop.index in bound:
        return found
    for statement in loop.body.statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known = set(reads(value)) & changed <= set(found)
                local = name in loop.state.local and bound.count(name) == 1
                plain = all(isinstance(n, _PLAIN) for n in ast.walk(value))
                if local and known and plain:
                    found[name] = filled(value, found)
    return {n: v for n, v in found.items() if loop.index in reads(v)}


def _without_unread(body: Code, names: set[str]) -> Code:
    """The body without the statements that give names which nothing reads any more."""
    unread = names - set(reads(body.statements))
    edits = [
        body.remove(s)
        for s in body.statements
        if isinstance(s, ast.Assign) and names_in(s.targets[0]) <= unread
    ]
    return _without_unread(body.edited(edits), names - unread) if edits else body
