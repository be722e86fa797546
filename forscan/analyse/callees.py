"""What the functions that a loop calls do to the world, as far as they are in the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.arrays import assigned_values
from forscan.find.context import FunctionContext
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
RUN_ONCE = ("numpy.random.", "random.", "time.", "secrets.", "datetime.", "uuid.")
HOST = (
    "logging.", "warnings.", "sys.", "os.", "tqdm.", "wandb.", "builtins.print",
    "absl.logging.", "jax.profiler.", "shutil.", "subprocess.",
)  # fmt: skip
_MODULES = ("flax.linen.", "haiku.")
HOST_NAMES = {
    "print", "input", "open", "exec", "eval", "breakpoint", "setattr", "delattr",
}  # fmt: skip


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


def known_effect(context: FunctionContext, function: Function | ast.Lambda) -> str | None:
    """What a function does, looked into once; a lambda is seen from where it stands."""
    if isinstance(function, ast.Lambda):
        return _effect_of(context, function, set())
    known = context.module.effects
    if function not in known:
        known[function] = _effect_of(context, function, set())
    return known[function]


def _effect_of(
    context: FunctionContext,
    function: Function | ast.Lambda,
    seen: set[ast.AST],
) -> str | None:
    """In a few words what a function of the module does to the world, if anything."""
    if function in seen or len(seen) > 40:
        return None
    seen.add(function)
    place, suite = context, list[ast.stmt]()
    if isinstance(function, ast.Lambda):
        suite = [ast.Expr(function.body)]
        bound = frozenset(binds(suite))
    else:
        place, suite = FunctionContext(context.module, function), function.body
        bound = place.binds
    local = bound - place.outside - set(parameters(function))
    for node in walk_scope(suite):
        found = _change(node, local)
        if found is None and isinstance(node, ast.Call):
            found = _effect_of_call(node, place, local) or _inner_effect(node, place, seen)
        if found is not None:
            return found
    return None


def _change(node: ast.AST, local: frozenset[str]) -> str | None:
    """What a node changes that is not the function's own."""
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return f"changes {', '.join(names)} of an outer scope"
        case ast.Attribute(value=ast.Name(id=root), ctx=ast.Store() | ast.Del()):
            return None if root in local else f"assigns to {ast.unparse(node)}"
        case ast.Subscript(value=ast.Name(id=root), ctx=ast.Store() | ast.Del()):
            return None if root in local else f"changes its argument {root} in place"
    return None


def _effect_of_call(node: ast.Call, place: FunctionContext, local: frozenset[str]) -> str | None:
    path = place.resolve(node.func) or ""
    if path in HOST_NAMES or path.startswith(HOST):
        return f"acts on the host ({ast.unparse(node.func)})"
    if path == "next" or path.startswith(RUN_ONCE):
        return f"reads {ast.unparse(node.func)}, which gives another value each time"
    if _hidden_state(path, node) or is_module(node.func, place):
        return f"keeps hidden state per call ({ast.unparse(node.func)})"
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in MUTATING:
        return None
    base = node.func.value
    root = base.value if isinstance(base, ast.Attribute) else base
    if not isinstance(root, ast.Name) or root.id in local or path.startswith(("jax.", "optax.")):
        return None
    # opt.update(grads, state) gives a new value back; so does no pop.
    alone = isinstance(place.module.functions.parents.get(node), ast.Expr)
    if alone or node.func.attr in ("pop", "popleft", "popitem"):
        return f"changes {ast.unparse(base)}"
    return None


def _inner_effect(node: ast.Call, place: FunctionContext, seen: set[ast.AST]) -> str | None:
    for callee in meant(node.func, place):
        inner = _effect_of(place, callee, seen)
        if inner:
            return f"calls {getattr(callee, 'name', 'a lambda')}, which {inner}"
    return None
