"""Where the loops of a file are: `for` statements and calls of `lax` loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from forscan.find.context import FunctionContext
from forscan.find.functions import Function
from forscan.find.module import ModuleContext

LAX_LOOPS = {
    f"jax.lax.{name}": name
    for name in ("scan", "fori_loop", "map", "while_loop", "associative_scan")
}


@dataclass
class Site:
    """One loop in a file.

    Attributes:
      form: `for`, or what a `lax` loop is called: `scan`, `fori_loop`, `map`, …
      node: the statement, or the call.
      context: the function that it stands in.
    """

    form: str
    node: ast.For | ast.Call
    context: FunctionContext

    @cached_property
    def start(self) -> int:
        return self.context.source.start(self.node)

    @cached_property
    def statement(self) -> ast.stmt:
        """The innermost statement that holds the loop; itself for a `for`."""
        node: ast.AST = self.node
        while not isinstance(node, ast.stmt):
            node = self.context.parent(node)
        return node

    @cached_property
    def depth(self) -> int:
        depth, node = 0, self.context.module.functions.parents.get(self.node)
        while node is not None:
            depth += 1
            node = self.context.module.functions.parents.get(node)
        return depth


def find_sites(module: ModuleContext, forms: tuple[str, ...]) -> Iterator[Site]:
    """All loops of the forms, in the order of the file."""
    contexts: dict[ast.AST, FunctionContext] = {}

    def context(node: ast.AST) -> FunctionContext:
        owner: ast.AST = module.tree
        scope = module.functions.enclosing(node)
        while isinstance(scope, ast.Lambda):  # statements live in the def around it
            scope = module.functions.enclosing(scope)
        owner = scope or module.tree
        if owner not in contexts:
            assert isinstance(owner, Function | ast.Module)
            contexts[owner] = FunctionContext(module, owner)
        return contexts[owner]

    found = []
    for node in module.fors_and_calls:
        if isinstance(node, ast.For):
            if "for" in forms:
                found.append(Site("for", node, context(node)))
        elif _may_be_loop(node.func) and module.imports.resolve(node.func) in LAX_LOOPS:
            place = context(node)
            form = LAX_LOOPS.get(place.resolve(node.func) or "")
            if form in forms:
                found.append(Site(form, node, place))
    yield from sorted(found, key=lambda s: s.start)


def _may_be_loop(function: ast.expr) -> bool:
    """Whether a function may be a `lax` loop, by the end of its name or as an alias."""
    return isinstance(function, ast.Name) or (
        isinstance(function, ast.Attribute) and function.attr in LAX_LOOPS.values()
    )
