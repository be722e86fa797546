"""Where a loop stands and how it begins, so that nothing can be made of it in any way."""

from __future__ import annotations

import ast

from forscan.find.sites import Site
from forscan.model import Refusal
from forscan.syntax.walk import walk_all

# What Python's own iterables take by position, and by keyword.
_TAKES = {
    "range": (range(1, 4), ()),
    "reversed": (range(1, 2), ()),
    "enumerate": (range(1, 3), ("start",)),
    "zip": (range(1, 256), ("strict",)),
}
IN_CLASS = Refusal(
    "FSC304",
    "the loop stands in the body of a class, where all that it binds becomes an attribute",
    "Put the loop into a function, and give the class what it returns.",
)


def is_in_class(site: Site) -> bool:
    """Whether it stands in the body of a class, and in no method."""
    functions = site.context.module.functions
    owner, function = functions.class_of(site.node), functions.enclosing(site.node)
    return owner is not None and functions.enclosing(owner) is function


def unreadable_head(site: Site) -> Refusal | None:
    """What in the head of a loop has no place in front of another loop; None if nothing."""
    for node in walk_all(_head(site)):
        wrong = _wrong(node, site)
        if wrong is not None:
            assert isinstance(node, ast.expr)
            return Refusal(*wrong, node.lineno, node.col_offset + 1)
    return None


def _wrong(node: ast.AST, site: Site) -> tuple[str, str, str] | None:
    """Code, message and help."""
    match node:
        case ast.NamedExpr() if not _is_kept_whole(site):
            return (
                "FSC304",
                "`:=` in the head of the loop gives a value to a name there",
                "Give the name its value in a statement in front of the loop.",
            )
        case ast.Yield() | ast.YieldFrom() | ast.Await():
            return (
                "FSC301",
                "the head of the loop hands control to another function",
                "Fetch the value in a statement in front of the loop.",
            )
        case ast.Tuple(elts=[], ctx=ast.Store()) | ast.List(elts=[], ctx=ast.Store()):
            return (
                "FSC205",
                "the target is empty, so that every item must be",
                "Use one name as the target.",
            )
        case ast.Call() if isinstance(site.node, ast.For):
            name = site.context.resolve(node.func) or ""
            if name in _TAKES and not _fits(node, *_TAKES[name]):
                return (
                    "FSC201",
                    f"the arguments of `{name}` cannot be read",
                    "Give them one by one, by position.",
                )
    return None


def _is_kept_whole(site: Site) -> bool:
    """Whether what a `for` iterates is one expression, which becomes the xs as it stands."""
    if not isinstance(site.node, ast.For):
        return False
    taken = site.node.iter
    return not (isinstance(taken, ast.Call) and site.context.resolve(taken.func) in _TAKES)


def _head(site: Site) -> list[ast.expr]:
    """What is evaluated where the loop stands, once."""
    if isinstance(site.node, ast.For):
        return [site.node.target, site.node.iter]
    given = [*site.node.args, *(k.value for k in site.node.keywords)]
    return [n for n in given if not isinstance(n, ast.Lambda)]


def _fits(call: ast.Call, counts: range, keywords: tuple[str, ...]) -> bool:
    named = [k.arg for k in call.keywords]
    apart = keywords == ("strict",) or not any(isinstance(a, ast.Starred) for a in call.args)
    whole = len(call.args) + len(named)
    return apart and bool(call.args) and whole in counts and set(named) <= {*keywords}
