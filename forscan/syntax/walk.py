"""All nodes of a syntax tree, in the order of `ast.walk` and in a fraction of its time.

`ast.walk` asks each node for all its fields, which are names, numbers and contexts for the
most part. Here a kind of node is asked for those fields only that can hold nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

# Fields without nodes, whatever has them.
_PLAIN = {"attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "simple"}
_PLAIN |= {"arg", "kwd_attrs", "rest", "type_comment"}
_LEAVES = (ast.Name, ast.Constant, ast.alias, ast.Global, ast.Nonlocal)


class _Fields(dict[type[Any], tuple[str, ...]]):
    """For each kind of node the fields that can hold nodes; found out when asked for."""

    def __missing__(self, kind: type[Any]) -> tuple[str, ...]:
        plain = kind is type(None) or issubclass(kind, _LEAVES)
        self[kind] = () if plain else tuple(f for f in kind._fields if f not in _PLAIN)
        return self[kind]


_FIELDS = _Fields()
SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})
_FIELDS_OF_SCOPE = _Fields(dict.fromkeys(SCOPES, ()))


def walk(*roots: ast.AST, parents: dict[ast.AST, ast.AST] | None = None) -> list[ast.AST]:
    """The nodes and all below them, level by level; not their contexts (Load, Store).

    Args:
      roots: where to start.
      parents: gets the node above each node.
    """
    return _below([*roots], _FIELDS, parents)


def walk_own(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes and those below them, level by level; nothing in functions and classes."""
    return _below([*nodes], _FIELDS_OF_SCOPE, None)


def _below(
    found: list[Any], fields: _Fields, parents: dict[ast.AST, ast.AST] | None
) -> list[ast.AST]:
    append = found.append
    for node in found:  # which grows meanwhile
        for field in fields[type(node)]:
            value = getattr(node, field, None)
            if type(value) is list:
                found += value
                if parents is not None:
                    for item in value:
                        parents[item] = node
            elif isinstance(value, ast.AST):
                append(value)
                if parents is not None:
                    parents[value] = node
    return [node for node in found if node is not None]  # the key of `**rest` in a dict


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node; not its context (Load, Store)."""
    found: list[Any] = []
    for field in _FIELDS[type(node)]:
        value = getattr(node, field, None)
        if type(value) is list:
            found += value
        else:
            found.append(value)
    return [child for child in found if isinstance(child, ast.AST)]


def walk_all(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes of several trees, one tree after the other."""
    return [node for root in nodes for node in walk(root)]
