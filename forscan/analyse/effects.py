"""What an iteration does to the world around it: each such thing is a refusal."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from forscan.analyse.arrays import assigned_values
from forscan.analyse.lists import appended
from forscan.find.context import FunctionContext
from forscan.find.traced import Function
from forscan.model import Refusal
from forscan.syntax.names import (
    binds,
    dotted,
    is_place,
    names_in,
    parameters,
    walk_scope,
)
from forscan.syntax.walk import walk, walk_all

_HAIKU_STATE = {
    "next_rng_key",
    "next_rng_keys",
    "maybe_next_rng_key",
    "get_parameter",
    "get_state",
    "set_state",
}
_MUTATING = {
    "append",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "clear",
    "update",
    "add",
    "discard",
    "setdefault",
    "sort",
    "reverse",
    "write",
    "writelines",
    "appendleft",
    "__setitem__",
    "setattr",
    "put",
    "close",
    "flush",
}
_RUN_ONCE = ("numpy.random.", "random.", "time.", "secrets.", "datetime.", "uuid.")
_HOST = (
    "logging.",
    "warnings.",
    "sys.",
    "os.",
    "tqdm.",
    "wandb.",
    "builtins.print",
    "absl.logging.",
    "jax.profiler.",
    "shutil.",
    "subprocess.",
)
_HOST_NAMES = {
    "print",
    "input",
    "open",
    "exec",
    "eval",
    "breakpoint",
    "setattr",
    "delattr",
}
_FRAME_NAMES = {"locals", "vars", "globals", "super", "dir"}
_SCOPES = {
    "jax.named_scope",
    "jax.ensure_compile_time_eval",
    "jax.default_matmul_precision",
    "jax.disable_jit",
    "jax.numpy_dtype_promotion",
}
_ALLOWED = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.If,
    ast.For,
    ast.Pass,
    ast.FunctionDef,
    ast.Assert,
    ast.Delete,
    ast.With,
    ast.Break,
    ast.Continue,
    ast.Return,
    ast.Import,
    ast.ImportFrom,
    ast.Global,
    ast.Nonlocal,
)


def refuse(code: str, node: ast.expr | ast.stmt, message: str, help: str) -> Refusal:
    return Refusal(code, message, help, node.lineno, node.col_offset + 1)


class Effects:
    """Finds effects in the statements of one loop body.

    Args:
      context: the function around the loop.
      body: the statements of an iteration.
      lists: names of lists whose growth is understood and dealt with elsewhere.
      containers: names of dicts and lists that are state, though changed in place.
    """

    def __init__(
        self,
        context: FunctionContext,
        body: list[ast.stmt],
        lists: Iterable[str] = (),
        containers: Iterable[str] = (),
    ) -> None:
        self.context = context
        self.body = body
        self.lists = set(lists)
        self.containers = set(containers)
        self.inside = set(binds(body))
        # Lists that an iteration makes for itself.
        self.inside_lists = {
            n.targets[0].id
            for n in walk_all(body)
            if isinstance(n, ast.Assign)
            and isinstance(n.targets[0], ast.Name)
            and isinstance(n.value, ast.List | ast.ListComp)
        }
        self.parents = context.module.functions.parents

    def reasons(self) -> Iterator[Refusal]:
        for node in walk_all(self.body):
            if isinstance(node, ast.stmt):
                yield from self._statement(node)
            elif isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
                if self._own(node):
                    yield refuse(
                        "FSC301",
                        node,
                        "the body yields or awaits inside an iteration",
                        "Collect the values and yield them after the loop.",
                    )

    def _own(self, node: ast.AST) -> bool:
        """Whether a node belongs to the loop's function, not to one defined in the body."""
        scope = self.context.module.functions.enclosing(node)
        return scope is self.context.module.functions.enclosing(self.body[0])

    def _in_inner_loop(self, node: ast.AST) -> bool:
        if node in self.body:
            return False
        parent = self.parents.get(node)
        while parent is not None and parent not in self.body:
            if isinstance(parent, ast.For | ast.While):
                return True
            parent = self.parents.get(parent)
        return isinstance(parent, ast.For | ast.While) and node not in self.body

    def _statement(self, node: ast.stmt) -> Iterator[Refusal]:
        own = self._own(node)
        if isinstance(node, ast.Return) and own:
            yield refuse(
                "FSC301",
                node,
                "`return` leaves the loop early, and a scan always runs its whole length",
                "Compute the number of iterations before the loop, or mask the later ones with jnp.where.",
            )
        elif isinstance(node, ast.Break) and own and not self._in_inner_loop(node):
            yield refuse(
                "FSC301",
                node,
                "`break` leaves the loop early, and a scan always runs its whole length",
                "Compute the number of iterations before the loop, or mask the later ones with jnp.where.",
            )
        elif isinstance(node, ast.Continue) and own and not self._in_inner_loop(node):
            yield refuse(
                "FSC402",
                node,
                "`continue` skips the rest of an iteration under a Python branch",
                "Turn the branch round (`if not …:`) or use jnp.where, so that every iteration does the same.",
            )
        elif isinstance(node, ast.Global | ast.Nonlocal) and not own:
            yield refuse(
                "FSC303",
                node,
                f"a function in the body changes {', '.join(node.names)} of an outer scope",
                "Give the value back from the function instead.",
            )
        elif isinstance(node, ast.Try | ast.TryStar):
            yield refuse(
                "FSC304",
                node,
                "`try` decides while tracing, and the body of a scan is traced only once",
                "Move the try out of the loop.",
            )
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield from self._with(node)
        elif isinstance(node, ast.Raise):
            if own and not isinstance(self.parents.get(node), ast.If):
                yield refuse("FSC301", node, "`raise` ends the loop", "Check before the loop.")
        elif not isinstance(node, _ALLOWED) and own:
            kind = type(node).__name__.lower()
            yield refuse(
                "FSC304",
                node,
                f"a `{kind}` statement is nothing that forscan puts into the body of a scan",
                "Move it out of the loop.",
            )
        growth = appended(node)
        if (
            growth is not None
            and node not in self.body
            and growth[0] not in self.inside_lists | self.lists
        ):
            yield refuse(
                "FSC303",
                node,
                f"the list {growth[0]} grows in a branch or an inner loop",
                "Append in every iteration, and select afterwards.",
            )
        yield from self._stores(node)

    def _with(self, node: ast.With | ast.AsyncWith) -> Iterator[Refusal]:
        for item in node.items:
            call = item.context_expr
            path = self.context.resolve(call.func) if isinstance(call, ast.Call) else None
            if path not in _SCOPES:
                shown = ast.unparse(call)
                yield refuse(
                    "FSC302",
                    node,
                    f"`with {shown}` is entered on the host: inside a scan once, not per iteration",
                    "Put the `with` around the loop, or use jax.named_scope.",
                )

    def _stores(self, node: ast.stmt) -> Iterator[Refusal]:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
            targets = [node.target]
        for target in targets:
            for part in walk(target):
                if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
                    yield refuse(
                        "FSC303",
                        node,
                        f"the body assigns to the attribute {ast.unparse(part)}, "
                        "and the object would hold a leaked tracer",
                        "Keep the value in a local name inside the loop and store it afterwards.",
                    )
                elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                    own = isinstance(part.value, ast.Name) and part.value.id in self.containers
                    if not own and not self._fresh(part.value):
                        yield refuse(
                            "FSC303",
                            node,
                            f"the body changes {ast.unparse(part.value)} in place, "
                            "which other names may see",
                            "Rebind it instead: `x = x.at[i].set(v)` for an array, `d = {**d, key: v}` for a dict.",
                        )

    def _fresh(self, node: ast.expr) -> bool:
        """Whether an object is made in this iteration, so that changing it is harmless."""
        if not isinstance(node, ast.Name) or node.id not in self.inside:
            return False
        for statement in self.body:
            if node.id in binds(statement):
                return (
                    isinstance(statement, ast.Assign)
                    and isinstance(
                        statement.value,
                        ast.Dict | ast.List | ast.DictComp | ast.ListComp | ast.Call,
                    )
                    and node.id not in names_in(statement.value)
                )
        return False

    def _call(self, node: ast.Call) -> Iterator[Refusal]:
        path = self.context.resolve(node.func)
        shown = ast.unparse(node.func)
        if path in _FRAME_NAMES:
            yield refuse(
                "FSC304",
                node,
                f"`{path}()` means another function inside a body function",
                f"Call `{path}()` before the loop and use its result.",
            )
        elif path in _HOST_NAMES or (path and path.startswith(_HOST)):
            yield refuse(
                "FSC302",
                node,
                f"`{shown}` acts on the host: inside a scan it would run once, with tracers",
                "Use jax.debug.print or jax.debug.callback, or move it out of the loop.",
            )
        elif path == "next" or (path and path.startswith(_RUN_ONCE)):
            yield refuse(
                "FSC308",
                node,
                f"`{shown}` gives another value each time, but is read once when a scan is traced",
                "Draw the values before the loop and iterate them, or carry a jax.random key.",
            )
        elif path and path.startswith("haiku.") and not path.startswith("haiku.switch_"):
            yield refuse(
                "FSC308",
                node,
                f"`{shown}` keeps hidden state per call",
                "Use the lifted loops of haiku (hk.scan, hk.fori_loop).",
            )
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATING:
            yield from self._mutation(node, node.func)
        yield from self._callee(node, shown)
        yield from self._module_call(node, shown)

    def _mutation(self, node: ast.Call, function: ast.Attribute) -> Iterator[Refusal]:
        base = function.value
        if isinstance(base, ast.Name) and base.id in self.lists:
            return
        if is_place(base):
            return
        if self._fresh(base):
            return
        if self.context.resolve(function) and (self.context.resolve(function) or "").startswith(
            ("jax.", "optax.")
        ):
            return
        if function.attr in ("update", "add", "sort", "reverse") and not isinstance(
            self.parents.get(node), ast.Expr
        ):
            return  # opt.update(grads, state): gives a new value back
        yield refuse(
            "FSC303",
            node,
            f"`{ast.unparse(function)}` changes {ast.unparse(base)}, which outlives the iteration",
            "Keep the value in a local name inside the loop and store it afterwards.",
        )

    def _module_call(self, node: ast.Call, shown: str) -> Iterator[Refusal]:
        """Modules made or called inside a flax or haiku body create parameters."""
        if _is_module(node.func, self.context):
            yield refuse(
                "FSC308",
                node,
                f"`{shown}` is a module of flax or haiku, which keeps hidden state per call",
                "Use the lifted loops of the library (nn.scan, hk.scan).",
            )
            return
        if not _in_module(self.context):
            return
        path = self.context.resolve(node.func) or ""
        on_self = shown.startswith("self.")
        made = path.startswith(("flax.linen.", "haiku.")) or isinstance(node.func, ast.Call)
        if (
            on_self
            or (made and path.rsplit(".", 1)[-1][:1].isupper())
            or isinstance(node.func, ast.Call)
        ):
            yield refuse(
                "FSC308",
                node,
                f"`{shown}` may create parameters or use a key stream, once per call",
                "Use the lifted scan of the library (nn.scan).",
            )

    def _callee(self, node: ast.Call, shown: str) -> Iterator[Refusal]:
        """Looks into the functions of the module that the body calls."""
        for expression in [node.func, *node.args, *(k.value for k in node.keywords)]:
            for callee in _meant(expression, self.context):
                why = _known_effect(self.context, callee)
                if why:
                    name = getattr(callee, "name", "the lambda")
                    yield refuse(
                        _code_of(why),
                        node,
                        f"{name} {why}: inside a scan that happens once, with tracers",
                        "Give the value back from the function instead.",
                    )
                    return


def _in_module(context: FunctionContext) -> bool:
    """Whether a function is a method of a flax or haiku module."""
    owner = context.module.functions.class_of(context.node)
    bases = {context.module.imports.resolve(b) for b in owner.bases} if owner else set()
    return bool(bases & {"flax.linen.Module", "haiku.Module"})


def _is_module(called: ast.expr, context: FunctionContext) -> bool:
    """Whether a name was given a module: `mlp = hk.nets.MLP([3])`."""
    if not isinstance(called, ast.Name):
        return False
    around = context.around(called.id)
    if around is not None:
        return _is_module(called, around)
    for value in assigned_values(called.id, context):
        if isinstance(value, ast.Call):
            path = context.resolve(value.func) or ""
            made = (dotted(value.func) or "").rsplit(".", 1)[-1][:1].isupper()
            if made and (path.startswith(("flax.linen.", "haiku.")) or _in_module(context)):
                return True
    return False


def _code_of(why: str) -> str:
    if "another value" in why or "hidden state" in why:
        return "FSC308"
    return "FSC302" if "host" in why else "FSC303"


def _meant(expression: ast.expr, context: FunctionContext) -> Iterator[Function | ast.Lambda]:
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


def _known_effect(context: FunctionContext, function: Function | ast.Lambda) -> str | None:
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
    else:
        place, suite = FunctionContext(context.module, function), function.body
    local = set(binds(suite)) - place.outside
    given = set(parameters(function))
    for node in walk_scope(suite):
        if isinstance(node, ast.Global | ast.Nonlocal):
            return f"changes {', '.join(node.names)} of an outer scope"
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            root = node.value
            if isinstance(root, ast.Name) and (root.id in given or root.id not in local):
                return f"assigns to {ast.unparse(node)}"
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = node.value
            if isinstance(root, ast.Name) and (root.id in given or root.id not in local):
                return f"changes its argument {root.id} in place"
        if not isinstance(node, ast.Call):
            continue
        path = place.resolve(node.func) or ""
        if path in _HOST_NAMES or path.startswith(_HOST):
            return f"acts on the host ({ast.unparse(node.func)})"
        if path == "next" or path.startswith(_RUN_ONCE):
            return f"reads {ast.unparse(node.func)}, which gives another value each time"
        if _hidden_state(path, node) or _is_module(node.func, place):
            return f"keeps hidden state per call ({ast.unparse(node.func)})"
        if isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATING:
            base = node.func.value
            root = base.value if isinstance(base, ast.Attribute) else base
            statement = isinstance(context.module.functions.parents.get(node), ast.Expr)
            if (
                (statement or node.func.attr in ("pop", "popleft", "popitem"))
                and isinstance(root, ast.Name)
                and (root.id in given or root.id not in local)
            ):
                if not path.startswith(("jax.", "optax.")):
                    return f"changes {ast.unparse(base)}"
        for callee in _meant(node.func, place):
            inner = _effect_of(context, callee, seen)
            if inner:
                return f"calls {getattr(callee, 'name', 'a lambda')}, which {inner}"
    return None
