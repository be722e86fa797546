"""What an iteration does to the world around it: each such thing is a refusal."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from forscan.analyse.callees import (
    HOST,
    HOST_NAMES,
    MUTATING,
    Effect,
    effects_of,
    gives_another,
    in_module,
    is_module,
    meant,
)
from forscan.analyse.containers import other_name
from forscan.analyse.lists import appended
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import (
    binds,
    is_place,
    names_in,
)
from forscan.syntax.walk import walk, walk_all

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


# Functions whose calls may stand alone: JAX traces them, or they check and change nothing.
_TRACED = ("jax.", "chex.", "checkify.")
_CHECKS = ("assert", "check", "block_until_ready")


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

    def _statement(self, node: ast.stmt) -> Iterator[Refusal]:  # noqa: C901
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
        if isinstance(node, ast.Expr) and own:
            yield from self._called_for_effect(node.value)
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

    def _called_for_effect(self, call: ast.expr) -> Iterator[Refusal]:
        """A statement that is nothing but a call of what cannot be looked into."""
        if not isinstance(call, ast.Call):
            return
        shown = ast.unparse(call.func)
        path = self.context.resolve(call.func) or shown
        if path.startswith(_TRACED) or path.rsplit(".", 1)[-1].startswith(_CHECKS):
            return
        if next(self._call(call), None) is not None:
            return  # it has a reason of its own
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in MUTATING or self._fresh(call.func.value):
                return
        if next(meant(call.func, self.context), None) is None:
            yield refuse(
                "FSC303",
                call,
                f"`{shown}` is called for what it does, and its result is not used",
                "Give the value back and bind it, or move the call out of the loop.",
            )

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
                        yield self._changed_in_place(node, part.value)

    def _changed_in_place(self, node: ast.stmt, base: ast.expr) -> Refusal:
        shown = ast.unparse(base)
        alias = other_name(base, self.context)
        if alias is not None:
            return refuse(
                "FSC411",
                node,
                f"the body changes {shown} in place, and {alias} is the same object: a scan gives "
                "back a new one",
                f"Rebind {shown} instead (`d = {{**d, key: v}}` for a dict), and read it by one name.",
            )
        return refuse(
            "FSC303",
            node,
            f"the body changes {shown} in place, which other names may see",
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
        if path in _FRAME_NAMES:
            yield refuse(
                "FSC304",
                node,
                f"`{path}()` means another function inside a body function",
                f"Call `{path}()` before the loop and use its result.",
            )
        elif path in HOST_NAMES or (path and path.startswith(HOST)):
            yield refuse(
                "FSC302",
                node,
                f"`{ast.unparse(node.func)}` acts on the host: inside a scan it would run once, with tracers",
                "Use jax.debug.print or jax.debug.callback, or move it out of the loop.",
            )
        elif gives_another(node.func, self.context):
            yield refuse(
                "FSC308",
                node,
                f"`{ast.unparse(node.func)}` gives another value each time, but is read once "
                "when a scan is traced",
                "Draw the values before the loop and iterate them, or carry a jax.random key.",
            )
        elif path and path.startswith("haiku.") and not path.startswith("haiku.switch_"):
            yield refuse(
                "FSC308",
                node,
                f"`{ast.unparse(node.func)}` keeps hidden state per call",
                "Use the lifted loops of haiku (hk.scan, hk.fori_loop).",
            )
        elif isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING:
            yield from self._mutation(node, node.func)
        yield from self._callee(node)
        yield from self._module_call(node)

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

    def _module_call(self, node: ast.Call) -> Iterator[Refusal]:
        """Modules made or called inside a flax or haiku body create parameters."""
        if is_module(node.func, self.context):
            yield refuse(
                "FSC308",
                node,
                f"`{ast.unparse(node.func)}` is a module of flax or haiku, which keeps hidden state "
                "per call",
                "Use the lifted loops of the library (nn.scan, hk.scan).",
            )
            return
        if not in_module(self.context):
            return
        path = self.context.resolve(node.func) or ""
        shown = ast.unparse(node.func)
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

    def _callee(self, node: ast.Call) -> Iterator[Refusal]:
        """Looks into the functions of the module that the body calls."""
        for name, effect in _effects_of_any([node.func, *_given(node)], self.context):
            yield refuse(
                effect.code,
                node,
                f"{name} {effect.what}: inside a scan that happens once, with tracers",
                "Give the value back from the function instead.",
            )
            return


def once_traced(call: ast.Call, context: FunctionContext) -> Iterator[Refusal]:
    """What the body of a `lax` loop does while it is traced, once, and a `for` each time.

    What it prints does not count, and what it does to its own arguments is the state's.
    """
    for name, effect in _effects_of_any(_given(call), context):
        if effect.code != "FSC302" and not effect.on_argument:
            yield refuse(
                effect.code,
                call,
                f"{name} {effect.what}: here that happens once, when it is traced, and "
                "in a `for` in each iteration",
                "Do it before the loop, and hand the result to the body.",
            )
            return


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def _effects_of_any(
    expressions: Iterable[ast.expr], context: FunctionContext
) -> Iterator[tuple[str, Effect]]:
    """What the functions of the module do that expressions may be, with their names."""
    for expression in expressions:
        for callee in meant(expression, context):
            for effect in effects_of(callee, context):
                yield getattr(callee, "name", "the lambda"), effect
