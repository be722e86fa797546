"""Local dicts and lists that the body changes in place, and that nobody else can see.

`d["k"] = v` changes an object. Where the function has made it, and no other name, closure
or call has it, that is the same as giving `d` a new value: it is state like any other.
"""

from __future__ import annotations

import ast

from forscan.analyse.lists import block_of
from forscan.find.context import FunctionContext
from forscan.syntax.walk import walk, walk_all


def own_containers(loop: ast.For, context: FunctionContext) -> tuple[str, ...]:
    """The names of such containers, in order of their first change."""
    changed = dict.fromkeys(
        node.value.id
        for node in walk_all(loop.body)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.ctx, ast.Store)
    )
    return tuple(n for n in changed if _is_own(n, loop, context))


def _is_own(name: str, loop: ast.For, context: FunctionContext) -> bool:
    block = block_of(loop, context)
    position = block.index(loop)
    for start in range(position - 1, -1, -1):
        match block[start]:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                if not isinstance(value, ast.Dict | ast.List) or _holds_containers(value):
                    return False
                seen = [*block[start + 1 : position], loop]
                if name in context.captured or not all(_only_items(s, name) for s in seen):
                    return False
                return _written_keys(loop, name) <= _keys(value)
        if any(isinstance(n, ast.Name) and n.id == name for n in walk(block[start])):
            if not _only_items(block[start], name):
                return False
    return False


def _keys(value: ast.Dict | ast.List) -> set[object]:
    """The keys of a display: a carry keeps its structure."""
    if isinstance(value, ast.List):
        return set(range(-len(value.elts), len(value.elts)))
    return {k.value for k in value.keys if isinstance(k, ast.Constant)}


def _written_keys(loop: ast.For, name: str) -> set[object]:
    return {
        node.slice.value
        for node in walk_all(loop.body)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
    }


def _holds_containers(value: ast.Dict | ast.List) -> bool:
    """Whether a display holds other containers, which others may have as well."""
    if isinstance(value, ast.Dict) and None in value.keys:
        return False  # {**d}: a new dict, whose values are those of d
    inner = value.values if isinstance(value, ast.Dict) else value.elts
    return any(isinstance(v, ast.Dict | ast.List | ast.Starred) for v in inner)


def _only_items(statement: ast.stmt, name: str) -> bool:
    """Whether a statement only reads and writes items under constant keys."""
    mentions = sum(isinstance(n, ast.Name) and n.id == name for n in walk(statement))
    items = sum(
        isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        and isinstance(n.slice, ast.Constant)
        for n in walk(statement)
    )
    return mentions == items
