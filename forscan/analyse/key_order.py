"""Dicts as state: a scan hands on their keys sorted, a `for` in the order they were given."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import dotted
from forscan.syntax.walk import walk_all

_VIEWS = {"items", "keys", "popitem", "values"}
_TAKERS = {"enumerate", "iter", "list", "map", "next", "tuple", "zip"}


def key_order(
    values: Iterable[ast.expr | None],
    nodes: Iterable[ast.AST],
    names: Collection[str],
    context: FunctionContext,
) -> Iterator[Refusal]:
    """Refuses what depends on the order of the keys of dicts that are not sorted.

    Args:
      values: what the state may be.
      nodes: where it is looked at.
      names: what it is called there.
      context: the function.
    """
    if not any(value is not None and _is_unsorted(value) for value in values):
        return
    for node in walk_all(nodes):
        if not isinstance(node, ast.expr):
            continue
        if _looks_in_order(node, names) and not _is_rebuilt(node, context):
            yield refuse(
                "FSC405",
                node,
                f"`{ast.unparse(node)}` depends on the order of the keys, which a scan sorts and a "
                "Python loop keeps",
                "Write the keys of the state in sorted order, or read them by name.",
            )
            return


def _is_unsorted(value: ast.expr) -> bool:
    match value:
        case ast.Dict(keys=keys):
            names = [k.value for k in keys if isinstance(k, ast.Constant)]
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            names = [k.arg for k in keywords if k.arg is not None]
        case _:
            return False
    texts = [str(n) for n in names]
    return texts != sorted(texts)


def _looks_in_order(node: ast.expr, names: Collection[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=view)):
            return name in names and view in _VIEWS
        case ast.Call(func=function, args=arguments) if dotted(function) in _TAKERS:
            return any(isinstance(a, ast.Name) and a.id in names for a in arguments)
        case ast.Starred(value=ast.Name(id=name)):
            return name in names
    return False


def _is_rebuilt(node: ast.expr, context: FunctionContext) -> bool:
    """`{k: f(v) for k, v in d.items()}`: the keys keep their values, in whatever order."""
    parents = context.module.functions.parents
    around = (
        parents.get(parents[node]) if isinstance(parents.get(node), ast.comprehension) else None
    )
    return isinstance(around, ast.DictComp)
