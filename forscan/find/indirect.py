"""Uses of `lax` loops that are no plain calls: said, since nothing can be converted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.config import Config
from forscan.find.context import FunctionContext, ModuleContext
from forscan.find.sites import LAX_LOOPS
from forscan.find.traced import Function, local_names
from forscan.model import Refusal
from forscan.types import Outcome, Selection, Span, Status

_NAMES = {"scan", "fori_loop"}


def indirect_uses(
    module: ModuleContext, path: str, config: Config, selection: Selection
) -> Iterator[Outcome]:
    """`scan_fn=jax.lax.scan`, and calls of other functions that are called scan."""
    if config.to != "for" or selection.line is not None:
        return
    parents = module.functions.parents
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        parent = parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        full = module.imports.resolve(node, local_names(module.functions, node))
        if full in LAX_LOOPS and not called and not isinstance(parent, ast.Attribute):
            yield _outcome(module, node, path, LAX_LOOPS[full], _indirect(full))
        elif called and isinstance(node, ast.Name) and node.id in _NAMES and full not in LAX_LOOPS:
            yield _outcome(module, node, path, node.id, _other(node.id))


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


def _outcome(
    module: ModuleContext, node: ast.expr, path: str, form: str, reason: Refusal
) -> Outcome:
    owner = module.functions.enclosing(node)
    context = FunctionContext(module, owner if isinstance(owner, Function) else module.tree)
    start = module.source.position(module.source.start(node))
    end = module.source.position(module.source.end(node))
    return Outcome(path, Span(*start, *end), context.name, Status.REFUSED, form, "for", (reason,))
