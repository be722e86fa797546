"""`jax.tree.map(lambda leaf: leaf[i], tree)` takes one slice of everything: xs in disguise."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.array_words import TREE_MAPS
from forscan.analyse.use import Use
from forscan.model import Element
from forscan.passes.draft import Draft
from forscan.passes.hoist import only_assigned
from forscan.syntax.code import one_line
from forscan.syntax.fresh import singular
from forscan.syntax.names import parameters, reads
from forscan.syntax.walk import walk_all


def trees_to_xs(draft: Draft) -> Draft:
    """Takes the slices of trees as xs; the other reads of leaves are of arrays as well."""
    counter = draft.loop.counter
    if counter is None or not draft.index_uses:
        return draft
    leaves = {
        node: call
        for call in walk_all(draft.statement.body)
        if isinstance(call, ast.Call) and (node := _leaf_read(draft, call)) is not None
    }
    if draft.target == "scan" and (counter.start, counter.step) == ("0", "1"):
        trees = {ast.dump(call.args[1]): call.args[1] for call in leaves.values()}
        for tree in trees.values():
            if not set(reads(tree)) & _changed(draft):
                draft = _taken(draft, tree)
    uses = tuple(_of_leaf(use) if use.read in leaves else use for use in draft.index_uses)
    return replace(draft, index_uses=uses)


def _of_leaf(use: Use) -> Use:
    """A leaf is an array, which a tracer may index: there is nothing to prove."""
    return replace(use, read=None)


def _changed(draft: Draft) -> set[str]:
    state = draft.state
    return {*state.carried, *state.local, *state.last, *state.targets}


def _leaf_read(draft: Draft, call: ast.Call) -> ast.Subscript | None:
    """The read `leaf[i]` of a map that does nothing else, `lambda leaf, i=i: leaf[i]` included."""
    counter = draft.loop.counter
    if counter is None or draft.context.resolve(call.func) not in TREE_MAPS:
        return None
    match call:
        case ast.Call(
            args=[
                ast.Lambda(
                    body=ast.Subscript(value=ast.Name(id=leaf), slice=ast.Name(id=index)) as read
                ) as function,
                _,
            ],
            keywords=[],
        ):
            names = parameters(function)
            given = [d.id for d in function.args.defaults if isinstance(d, ast.Name)]
            late = index == counter.name and names == [leaf]
            early = names == [leaf, index] and given == [counter.name]
            return read if late or early else None
    return None


def _taken(draft: Draft, tree: ast.expr) -> Draft:
    """The body with an element in place of the maps over one tree."""
    counter = draft.loop.counter
    assert counter is not None
    body, wanted = draft.loop.body, ast.dump(tree)
    calls: list[ast.expr] = [
        n
        for n in walk_all(body.statements)
        if isinstance(n, ast.Call)
        and _leaf_read(draft, n) is not None
        and ast.dump(n.args[1]) == wanted
    ]
    if not calls:
        return draft
    shown = one_line(draft.context.source, tree)
    whole = counter.stop.endswith(f"tree.leaves({shown})[0].shape[0]")
    # A tree whose leaves are longer than the loop is cut; one that is shorter raises.
    source = shown if whole else draft.spelling.sliced_leaves(shown, f":{counter.stop}")
    named = only_assigned(draft, calls)
    if named is not None:
        edits, name = [body.remove(named[0])], named[1]
    else:
        base = shown.rsplit(".", 1)[-1]
        name = draft.fresh.name(*filter(None, [singular(base)]), f"{base}_i", "tree_i")
        edits = [body.replace(call, name) for call in calls]
    element = Element(name, source, is_array=False, gives_length=whole)
    return draft.with_loop(body=body.edited(edits), elements=(*draft.loop.elements, element))
