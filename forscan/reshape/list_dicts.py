"""A dict of lists that a loop fills, `history["loss"].append(v)`, becomes a list for each key."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from forscan.analyse.lists import block_of, given_value
from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import indent
from forscan.syntax.filled import filled
from forscan.syntax.names import names_in
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk, walk_all


@dataclass(frozen=True)
class _Dict:
    """A name for a dict of empty lists, with the names of those.

    Attributes:
      made: the statement that makes it.
    """

    name: str
    made: ast.stmt
    lists: dict[str, str]

    @property
    def literal(self) -> str:
        return "{" + ", ".join(f'"{key}": {name}' for key, name in self.lists.items()) + "}"


def dict_to_lists(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop that fills the lists, where the function uses the dict behind it only."""
    found = _dict(loop) if "FSC303" in {r.code for r in reasons} else None
    if found is None or loop.node.orelse:
        return None
    source, body = loop.context.source, loop.body
    nodes = list(walk_all(body.statements))
    items = [(n, k) for n in nodes if isinstance(n, ast.expr) and (k := _key(n, found))]
    if len(items) != sum(_is(n, found.name) for n in nodes):
        return None
    edits = [body.replace(item, found.lists[key]) for item, key in items]
    lists = f"\n{source.indentation(source.start(found.made))}".join(
        f"{name} = []" for name in found.lists.values()
    )
    made = Edit(source.start(found.made), source.end(found.made), lists)
    try:
        behind = list(_behind(loop, found))
    except _OtherUse:
        return None
    text = f"{loop.header}\n{indent(body.edited(edits).text, loop.context.unit)}"
    return loop.replaced(text, 0, [made, *behind])


class _OtherUse(Exception):
    """The dict is used where its lists cannot take its place."""


def _dict(loop: LoopText) -> _Dict | None:
    """The dict of empty lists that the loop grows, made above it in the same suite."""
    block = block_of(loop.node, loop.context)
    above = [(s, names_in(s)) for s in block[: block.index(loop.node)]]
    for name in dict.fromkeys(n.id for n in walk_all(loop.node.body) if isinstance(n, ast.Name)):
        mentions = [s for s, names in above if name in names]
        made = mentions[-1] if len(mentions) == 1 else None
        value = given_value(made, name) if isinstance(made, ast.Assign) else None
        if made is not None and value is not None and names_in(made) == {name}:
            keys = _keys(value)
            free = name not in loop.context.captured and name not in loop.context.outside
            if free and keys:
                fresh = loop.context.fresh
                return _Dict(name, made, {k: fresh.name(f"{name}_{k}") for k in keys})
    return None


def _keys(value: ast.expr) -> list[str]:
    """The keys of a dict of empty lists, where each can be a part of a name; else none."""
    match value:
        case ast.Dict(keys=keys, values=lists):
            words = [k.value if isinstance(k, ast.Constant) else None for k in keys]
        case _:
            return []
    plain = [w for w in words if isinstance(w, str) and w.isidentifier()]
    empty = all(isinstance(v, ast.List) and not v.elts for v in lists)
    return plain if empty and len(set(plain)) == len(words) else []


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _key(node: ast.AST, found: _Dict) -> str | None:
    """The key that is read of the dict, if a node is such a read."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key), ctx=ast.Load()):
            return key if name == found.name and key in found.lists else None
    return None


def _behind(loop: LoopText, found: _Dict) -> Iterator[Edit]:
    """The uses of the dict behind the loop, with the lists in its place.

    Raises:
      _OtherUse: one is no plain read, or stands elsewhere.
    """
    source, context = loop.context.source, loop.context
    others = {*walk(loop.node), *walk(found.made), *_later(loop, found)}
    for node in walk_all(context.node.body):
        if not _is(node, found.name) or node in others:
            continue
        assert isinstance(node, ast.Name)
        if not isinstance(node.ctx, ast.Load) or source.start(node) < source.end(loop.node):
            raise _OtherUse
        around = context.parent(node)
        whole = _comprehension(loop, around)
        key = _key(around, found)
        if key is not None and isinstance(around, ast.Subscript):
            yield Edit(source.start(around), source.end(around), found.lists[key])
        elif isinstance(around, ast.Subscript) and around.value is node:
            raise _OtherUse
        elif whole is not None and (text := _written_out(whole, found)):
            yield Edit(source.start(whole), source.end(whole), text)
        else:
            yield Edit(source.start(node), source.end(node), found.literal)


def _later(loop: LoopText, found: _Dict) -> Iterator[ast.AST]:
    """What comes when the name has got another value: `history = {…}`."""
    block = block_of(loop.node, loop.context)
    behind = block[block.index(loop.node) + 1 :]
    for place, statement in enumerate(behind):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target]) if name == found.name:
                yield target
                yield from walk_all(behind[place + 1 :])
                return


def _comprehension(loop: LoopText, items: ast.AST) -> ast.DictComp | None:
    """The comprehension that goes through `history.items()`."""
    parents = [items]
    for kind in (ast.Attribute, ast.Call, ast.comprehension):
        if not isinstance(parents[-1], kind):
            return None
        parents.append(loop.context.parent(parents[-1]))
    return parents[-1] if isinstance(parents[-1], ast.DictComp) else None


def _written_out(node: ast.DictComp, found: _Dict) -> str | None:
    """`{k: jnp.stack(v) for k, v in history.items()}` with an item for each key."""
    match node.generators:
        case [
            ast.comprehension(
                target=ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
                iter=ast.Call(func=ast.Attribute(attr="items"), args=[], keywords=[]),
                ifs=[],
            )
        ] if _is(node.key, key):
            items = (
                f'"{k}": {ast.unparse(filled(node.value, {key: ast.Constant(k), value: ast.Name(v)}))}'
                for k, v in found.lists.items()
            )
            return "{" + ", ".join(items) + "}"
    return None
