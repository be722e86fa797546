"""Objects that a loop calls, and what the file shows of how they were made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.arrays import assigned_values
from forscan.find.context import FunctionContext
from forscan.find.functions import Function
from forscan.syntax.names import annotations_of, defaults, dotted

# Their methods give another value each time that they are called.
_STREAMS = {
    "numpy.random.default_rng", "numpy.random.Generator", "numpy.random.RandomState",
    "random.Random", "random.SystemRandom", "flax.nnx.Rngs", "haiku.PRNGSequence", "iter",
}  # fmt: skip


def is_stream(called: ast.expr, context: FunctionContext) -> bool:
    """Whether a call draws from an object that knows what it gave last: `rng.normal`."""
    base = called.value if isinstance(called, ast.Attribute) else called
    while isinstance(base, ast.Subscript | ast.Attribute) and not _is_kept(base):
        base = base.value
    if isinstance(base, ast.Name) and context.module.imports.imported(base.id):
        if base.id not in context.locals:
            return False  # a module or what it has, as in most calls
    for value, place in _origins(base, context):
        maker = value.func if isinstance(value, ast.Call) else value
        path = place.resolve(maker) or ""
        if path in _STREAMS or path.startswith("itertools."):
            return True
    return False


def call_methods(called: ast.expr, context: FunctionContext) -> Iterator[Function]:
    """The `__call__` that an object of one of the module's classes has."""
    functions = context.module.functions
    known = functions.methods.get("__call__", ())
    if known:
        made = {dotted(v.func) for v, _ in _origins(called, context) if isinstance(v, ast.Call)}
        for method in known:
            owner = functions.parents[method]
            if isinstance(owner, ast.ClassDef) and owner.name in made:
                yield method


def _origins(
    node: ast.expr, context: FunctionContext, depth: int = 3
) -> Iterator[tuple[ast.expr, FunctionContext]]:
    """The expressions that an object may come from, each with the function it stands in.

    Of a parameter they are its annotation and its default.
    """
    if depth == 0:
        return
    for value, place in _given(node, context):
        yield value, place
        if isinstance(value, ast.Name):
            yield from _origins(value, place, depth - 1)


def _given(node: ast.expr, context: FunctionContext) -> Iterator[tuple[ast.expr, FunctionContext]]:
    module = context.module
    yield from context.kept(node)
    if isinstance(node, ast.Name):
        place = context.around(node.id) or context
        yield from ((value, place) for value in assigned_values(node.id, place))
        if node.id in place.parameters and not isinstance(place.node, ast.Module):
            for found in (annotations_of(place.node.args), defaults(place.node.args)):
                if node.id in found:
                    yield found[node.id], place
        elif node.id not in place.assigned:
            outermost = FunctionContext(module, module.tree)
            yield from ((value, outermost) for value in assigned_values(node.id, outermost))


def _is_kept(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and dotted(node.value) == "self"
