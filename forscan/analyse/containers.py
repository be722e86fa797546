"""Local dicts and lists that the body changes in place, and that nobody else can see.

`d["k"] = v` changes an object. Where the function has made it, and no other name, closure
or call has it, that is the same as giving `d` a new value: it is state like any other.
"""

from __future__ import annotations

import ast

from forscan.analyse.array_words import TREE_MAPS
from forscan.analyse.lists import block_of
from forscan.find.context import FunctionContext, once
from forscan.syntax.walk import walk, walk_all


@once
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
    value = made_before(name, loop, context)
    if value is None or not _only_items(loop, name):
        return False
    keys = _keys(value)
    return keys is None or _written_keys(loop, name) <= keys


def made_before(name: str, statement: ast.stmt, context: FunctionContext) -> ast.expr | None:
    """What makes a container in front of a statement, where only its items are used until there."""
    block = block_of(statement, context)
    if name in context.captured:
        return None
    for before in reversed(block[: block.index(statement)]):
        match before:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return value if _is_new(value, context) else None
            case ast.FunctionDef(decorator_list=[]):
                continue  # it reads no such name from here
        if not _only_items(before, name):
            return None
    return None


def other_name(container: ast.expr, context: FunctionContext) -> str | None:
    """Another name of a dict or a list that the function has made, if it has one."""
    if not isinstance(container, ast.Name):
        return None
    made = (ast.Dict, ast.List, ast.DictComp, ast.ListComp)
    if not any(isinstance(v, made) for v in context.values.get(container.id, ())):
        return None
    for name, values in context.values.items():
        if any(isinstance(v, ast.Name) and v.id == container.id for v in values):
            return name
    return None


def _is_new(value: ast.expr, context: FunctionContext) -> bool:
    """Whether an expression makes a container, with no others in it that anybody else has."""
    match value:
        case ast.Dict() | ast.List():
            return not _holds_containers(value)
        case ast.Call(func=function, args=[ast.Lambda() as same, _], keywords=[]):
            return context.resolve(function) in TREE_MAPS and _is_identity(same)
    return False


def _is_identity(function: ast.Lambda) -> bool:
    match function:
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=ast.Name(id=given)):
            return name == given
    return False


def _keys(value: ast.expr) -> set[object] | None:
    """The keys of a display, as a carry keeps its structure; None where they are not known."""
    if isinstance(value, ast.List):
        return set(range(-len(value.elts), len(value.elts)))
    if isinstance(value, ast.Dict):
        return {k.value for k in value.keys if isinstance(k, ast.Constant)}
    return None


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
