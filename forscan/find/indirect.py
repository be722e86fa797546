"""Uses of `lax` loops that are no plain calls: said, since nothing can be converted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from forscan.find.context import FunctionContext
from forscan.find.functions import Function, local_names
from forscan.find.module import ModuleContext
from forscan.find.sites import LAX_LOOPS
from forscan.model import Refusal

_NAMES = {"scan", "fori_loop"}


@dataclass
class IndirectUse:
    """A name that stands for a loop, or only looks so.

    Attributes:
      form: the loop that it looks like.
      node: the name.
      context: the function that it stands in.
      reason: why there is nothing to convert.
    """

    form: str
    node: ast.Name | ast.Attribute
    context: FunctionContext
    reason: Refusal


def indirect_uses(module: ModuleContext) -> Iterator[IndirectUse]:
    """`scan_fn=jax.lax.scan`, and calls of other functions that are called scan."""
    parents = module.functions.parents
    for node in module.functions.names:
        if type(node.ctx) is not ast.Load:
            continue
        looks_so = isinstance(node, ast.Name) and node.id in _NAMES
        if not looks_so and module.imports.resolve(node) not in LAX_LOOPS:
            continue
        parent = parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        full = module.imports.resolve(node, local_names(module.functions, node))
        if full in LAX_LOOPS and not called and not isinstance(parent, ast.Attribute):
            yield IndirectUse(LAX_LOOPS[full], node, _around(module, node), _indirect(full))
        elif called and isinstance(node, ast.Name) and node.id in _NAMES and full not in LAX_LOOPS:
            yield IndirectUse(node.id, node, _around(module, node), _other(node.id))


def _around(module: ModuleContext, node: ast.expr) -> FunctionContext:
    owner = module.functions.enclosing(node)
    return FunctionContext(module, owner if isinstance(owner, Function) else module.tree)


def _indirect(full: str) -> Refusal:
    return Refusal(
        "FSC306",
        f"an indirect use: {full} is handed on as a value, so there is no call to replace",
        "Call it directly, with its arguments in place.",
    )


def _other(name: str) -> Refusal:
    return Refusal(
        "FSC306",
        f"this {name} is not jax.lax.{name} (not lax), but another function of that name",
        f"Nothing to do; import jax.lax.{name} if that was meant.",
    )
