"""Values that are named for one loop only, and go where the loop needs no name for them."""

from __future__ import annotations

import ast

from forscan.analyse.lists import block_of
from forscan.find.sites import Site
from forscan.syntax.names import binds, reads, walk_scope
from forscan.syntax.walk import walk


def own_tuple(site: Site, node: ast.expr) -> tuple[ast.expr, ast.stmt | None]:
    """The tuple that a name stands for, where the loop is its only reader."""
    value, statement = own_value(site, node)
    return (value, statement) if isinstance(value, ast.Tuple) else (node, None)


def own_value(site: Site, node: ast.expr) -> tuple[ast.expr, ast.stmt | None]:
    """What a name stands for, where the loop is its only reader.

    Args:
      site: the loop.
      node: an argument of its call.

    Returns:
      The value and the statement that names it; the node itself where it is no such name.
    """
    context = site.context
    if not isinstance(node, ast.Name) or node.id in context.outside:
        return node, None
    if not is_only_read(site, node):
        return node, None
    block = block_of(site.statement, context)
    later: set[str] = set()
    for statement in reversed(block[: block.index(site.statement)]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == node.id:
                movable = not later & {*reads(value)} and _is_alone(site, statement)
                return (value, statement) if movable else (node, None)
            case ast.FunctionDef(decorator_list=[]) | ast.Assign():
                later |= set(binds(statement))
            case _:
                break
        if node.id in later:
            break
    return node, None


def is_only_read(site: Site, node: ast.Name) -> bool:
    """Whether a read of a name is the only one in the function around the loop."""
    context = site.context
    reads = (
        n
        for n in walk_scope(context.node.body)
        if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Load)
    )
    return node.id not in context.captured and list(reads) == [node]


def _is_alone(site: Site, statement: ast.Assign) -> bool:
    """Whether the statement is whole lines without a comment, and no starred item."""
    source = site.context.source
    start, end = source.start(statement), source.end(statement)
    line = source.text[source.line_start(start) : source.line_end(end)]
    starred = any(isinstance(n, ast.Starred | ast.NamedExpr) for n in walk(statement))
    return line.strip() == source.text[start:end] and "#" not in line and not starred
