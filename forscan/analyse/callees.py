"""What the functions that a loop calls do to the world, as far as they are in the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from forscan.analyse.arrays import assigned_values
from forscan.analyse.objects import call_methods, is_stream
from forscan.find.context import FunctionContext, once
from forscan.find.functions import Function
from forscan.syntax.names import binds, dotted, parameters, walk_scope

_HAIKU_STATE = {
    "next_rng_key", "next_rng_keys", "maybe_next_rng_key", "get_parameter", "get_state",
    "set_state",
}  # fmt: skip
MUTATING = {
    "append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "add",
    "discard", "setdefault", "sort", "reverse", "write", "writelines", "appendleft",
    "__setitem__", "setattr", "put", "close", "flush",
}  # fmt: skip
_RUN_ONCE = ("numpy.random.", "random.", "time.", "secrets.", "datetime.", "uuid.")
HOST = (
    "logging.", "warnings.", "sys.", "os.", "tqdm.", "wandb.", "builtins.print",
    "absl.logging.", "jax.profiler.", "shutil.", "subprocess.",
)  # fmt: skip
_MODULES = ("flax.linen.", "haiku.")
HOST_NAMES = {
    "print", "input", "open", "exec", "eval", "breakpoint", "setattr", "delattr",
}  # fmt: skip


def gives_another(called: ast.expr, context: FunctionContext) -> bool:
    """Whether a call gives another value each time."""
    path = context.resolve(called) or ""
    return path == "next" or path.startswith(_RUN_ONCE) or is_stream(called, context)


def in_module(context: FunctionContext) -> bool:
    """Whether a function is a method of a flax or haiku module."""
    decorators = getattr(context.node, "decorator_list", ())
    if any((context.module.imports.resolve(d) or "").endswith(".compact") for d in decorators):
        return True
    owner = context.module.functions.class_of(context.node)
    return owner is not None and _is_module_class(owner, context)


def _is_module_class(owner: ast.ClassDef, context: FunctionContext) -> bool:
    paths = [context.module.imports.resolve(b) or "" for b in owner.bases]
    if any(p.startswith(_MODULES) and p.endswith(".Module") for p in paths):
        return True
    names = {b.id for b in owner.bases if isinstance(b, ast.Name)} - {owner.name}
    inner = (n for n in context.module.tree.body if isinstance(n, ast.ClassDef))
    return any(n.name in names and _is_module_class(n, context) for n in inner)


def is_module(called: ast.expr, context: FunctionContext) -> bool:
    """Whether a name was given a module: `mlp = hk.nets.MLP([3])`."""
    if not isinstance(called, ast.Name):
        return False
    around = context.around(called.id)
    if around is not None:
        return is_module(called, around)
    for value in assigned_values(called.id, context):
        if isinstance(value, ast.Call):
            path = context.resolve(value.func) or ""
            made = (dotted(value.func) or "").rsplit(".", 1)[-1][:1].isupper()
            if made and (path.startswith(("flax.linen.", "haiku.")) or in_module(context)):
                return True
    return False


def meant(expression: ast.expr, context: FunctionContext) -> Iterator[Function | ast.Lambda]:
    """The functions of the module that an expression may be, or may have been made of.

    `step = partial(update, net)` and `network = Network(update_fn=update)` call update.
    """
    yield from context.module.traced.candidates(expression)
    yield from call_methods(expression, context)
    if isinstance(expression, ast.Name):
        constant = context.module.constants.get(expression.id)
        values = [*assigned_values(expression.id, context), *([constant] if constant else [])]
        for value in values:
            if isinstance(value, ast.Call):
                yield from context.module.traced.candidates(value)
                for given in [*value.args, *(k.value for k in value.keywords)]:
                    yield from context.module.traced.candidates(given)


def _hidden_state(path: str, node: ast.Call) -> bool:
    """Whether a call makes or uses parameters or a stream of keys that it does not name."""
    tail = path.rsplit(".", 1)[-1]
    if path.startswith("haiku."):
        return tail[:1].isupper() or tail in _HAIKU_STATE
    if path.startswith(("flax.linen.", "flax.nnx.")):
        return tail[:1].isupper()
    base = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(base, ast.Name | ast.Attribute) and ast.unparse(base).endswith("rngs")


@dataclass(frozen=True)
class Effect:
    """What a function does besides giving back a value.

    Attributes:
      code: the refusal that it means for a loop that calls the function.
      what: a few words that follow the function's name.
      on_argument: whether it changes what the caller has handed over.
    """

    code: str
    what: str
    on_argument: bool = False


@once
def effects_of(function: Function | ast.Lambda, context: FunctionContext) -> tuple[Effect, ...]:
    """What a function does, in order; a lambda is seen from where it stands."""
    return tuple(_effects(context, function, set()))


def _effects(
    context: FunctionContext,
    function: Function | ast.Lambda,
    seen: set[ast.AST],
) -> Iterator[Effect]:
    if function in seen or len(seen) > 40:
        return
    seen.add(function)
    place, suite = context, list[ast.stmt]()
    if isinstance(function, ast.Lambda):
        suite = [ast.Expr(function.body)]
        bound = frozenset(binds(suite))
    else:
        place, suite = FunctionContext(context.module, function), function.body
        bound = place.binds
    given = set(parameters(function))
    local = bound - place.outside - given
    for node in walk_scope(suite):
        yield from _change(node, local, given)
        if isinstance(node, ast.Call):
            yield from _effect_of_call(node, place, local, given)
            yield from _inner_effects(node, place, seen)


def _change(node: ast.AST, local: frozenset[str], given: set[str]) -> Iterator[Effect]:
    """What a node changes that is not the function's own."""
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield Effect("FSC303", f"changes {', '.join(names)} of an outer scope")
        case ast.Attribute(value=ast.Name(id=root), ctx=ast.Store() | ast.Del()):
            if root not in local:
                outside = root in ("self", "cls") or root not in given
                yield Effect("FSC303", f"assigns to {ast.unparse(node)}", not outside)
        case ast.Subscript(value=ast.Name(id=root), ctx=ast.Store() | ast.Del()):
            if root not in local:
                what = f"changes its argument {root}" if root in given else f"changes {root}"
                yield Effect("FSC303", f"{what} in place", root in given)


def _effect_of_call(
    node: ast.Call, place: FunctionContext, local: frozenset[str], given: set[str]
) -> Iterator[Effect]:
    path = place.resolve(node.func) or ""
    shown = ast.unparse(node.func)
    if path in HOST_NAMES or path.startswith(HOST):
        yield Effect("FSC302", f"acts on the host ({shown})")
    elif gives_another(node.func, place):
        yield Effect("FSC308", f"reads {shown}, which gives another value each time")
    elif _hidden_state(path, node) or is_module(node.func, place):
        yield Effect("FSC308", f"keeps hidden state per call ({shown})")
    elif isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING:
        base = node.func.value
        root = base.value if isinstance(base, ast.Attribute) else base
        if (
            not isinstance(root, ast.Name)
            or root.id in local
            or path.startswith(("jax.", "optax."))
        ):
            return
        # opt.update(grads, state) gives a new value back; so does no pop.
        alone = isinstance(place.module.functions.parents.get(node), ast.Expr)
        if alone or node.func.attr in ("pop", "popleft", "popitem"):
            own = root.id in given and root.id not in ("self", "cls")
            yield Effect("FSC303", f"changes {ast.unparse(base)}", own)


def _inner_effects(node: ast.Call, place: FunctionContext, seen: set[ast.AST]) -> Iterator[Effect]:
    for callee in meant(node.func, place):
        name = getattr(callee, "name", "a lambda")
        for inner in _effects(place, callee, seen):
            yield replace(inner, what=f"calls {name}, which {inner.what}")
