"""Lists that grow by several items at once, or at their front, grow by plain appends."""

from __future__ import annotations

import ast

from forscan.analyse.lists import appends_to, keeps_kind, together
from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import Code, indent
from forscan.syntax.names import names_in
from forscan.syntax.source import Edit


def spread_appends(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with an append for each item, None where nothing is to be done.

    A list that is filled from its front is filled from its end and turned round behind the
    loop; it has to be empty before.
    """
    if loop.node.orelse:
        return None
    body, edits = loop.body, list[Edit]()
    turned: dict[str, str] = {}
    for statement in body.statements:
        several, front = _several(statement), _at_front(statement)
        if several is not None:
            name, items = several
            lines = [f"{name}.append({body.segment(item)})" for item in items]
            edits.append(_replaced(body, statement, lines))
        elif front is not None:
            name, item = front
            empty = _empty(loop, name)
            if empty is None or _grown(body, name) or name in turned:
                return None
            text, is_list = body.segment(item), isinstance(empty, ast.List)
            if not keeps_kind(statement, "list" if is_list else "tuple"):
                return None
            line = f"{name}.append({text})" if is_list else f"{name} += ({text},)"
            edits.append(_replaced(body, statement, [line]))
            turned[name] = f"{name}.reverse()" if is_list else f"{name} = {name}[::-1]"
    if not edits:
        return None
    text = f"{loop.header}\n{indent(body.edited(edits).text, loop.context.unit)}"
    return loop.replaced("\n".join([text, *turned.values()]), 0)


def _replaced(body: Code, statement: ast.stmt, lines: list[str]) -> Edit:
    return Edit(body.start(statement), body.end(statement), "\n".join(lines))


def _several(statement: ast.stmt) -> tuple[str, list[ast.expr]] | None:
    """The list and the items of `out.extend([a, b])` or `out += [a, b]`."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="extend"),
                args=[ast.List(elts=items) | ast.Tuple(elts=items)],
                keywords=[],
            )
        ):
            pass
        case ast.AugAssign(
            target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=[_, _, *_] as items)
        ):
            pass
        case _:
            return None
    plain = bool(items) and not any(isinstance(i, ast.Starred) for i in items)
    return (name, items) if plain and not any(name in names_in(i) for i in items) else None


def _at_front(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The list and the item of `out.insert(0, v)`, `out = [v] + out`, `out = (v, *out)`."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="insert"),
                args=[ast.Constant(value=0), item],
                keywords=[],
            )
        ):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=made):
            match together(made):
                case [item, ast.Starred(value=ast.Name(id=other))] if other == name:
                    pass
                case _:
                    return None
        case _:
            return None
    plain = not isinstance(item, ast.Starred) and name not in names_in(item)
    return (name, item) if plain else None


def _empty(loop: LoopText, name: str) -> ast.List | ast.Tuple | None:
    """What a list starts from, where that has no items."""
    match loop.carries.starts(name):
        case [ast.List(elts=[]) | ast.Tuple(elts=[]) as start]:
            return start
    return None


def _grown(body: Code, name: str) -> bool:
    return any(appends_to(s, name) for s in body.statements)
