"""Which functions of a module run under a JAX trace, and why we think so.

A function is traced when it is handed to a transform (by decorator or by call, in
every spelling), is a body of a `lax` loop, is called or passed on by a traced
function of the module, or stands inside one; or when its author says so.
"""

from __future__ import annotations

import ast
import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from forscan.find.imports import SAME, Imports
from forscan.syntax.names import bindings, binds, bound_in, dotted, own_statements, parameters
from forscan.syntax.walk import walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPE = Function | ast.Lambda
# Kinds of nodes that are asked for together; each kind is in one of them.
_Kinds = tuple[type[ast.AST], ...]
_INSIDE: _Kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Call)
_IMPORTS: _Kinds = (ast.Import, ast.ImportFrom)
_OUTSIDE: _Kinds = (ast.Global, ast.Nonlocal)
_ASSIGN: _Kinds = (ast.Assign,)
_FOR: _Kinds = (ast.For,)
_GROUPS = {k: kinds for kinds in (_INSIDE, _IMPORTS, _OUTSIDE, _ASSIGN, _FOR) for k in kinds}

_JIT = {
    "jax.jit",
    "jax.pmap",
    "equinox.filter_jit",
    "equinox.filter_pmap",
    "flax.nnx.jit",
    "flax.nnx.pmap",
    "flax.linen.jit",
    "flax.jax_utils.pmap",
}
_TRANSFORMS = _JIT | {
    f"jax.{name}"
    for name in [
        "vmap",
        "grad",
        "value_and_grad",
        "jacfwd",
        "jacrev",
        "jacobian",
        "hessian",
        "checkpoint",
        "linearize",
        "jvp",
        "vjp",
        "custom_jvp",
        "custom_vjp",
        "eval_shape",
        "make_jaxpr",
        "shard_map",
        "custom_gradient",
        "closure_convert",
        "linear_transpose",
        "hvp",
        "numpy.vectorize",
        "lax.scan",
        "lax.fori_loop",
        "lax.while_loop",
        "lax.cond",
        "lax.switch",
        "lax.map",
        "lax.associative_scan",
        "lax.custom_root",
        "lax.custom_linear_solve",
        "custom_batching.custom_vmap",
        "experimental.checkify.checkify",
    ]
}
_PREFIXES = ("equinox.filter_", "flax.nnx.", "flax.linen.", "haiku.")
_LIFTED = {
    "jit",
    "vmap",
    "grad",
    "value_and_grad",
    "scan",
    "remat",
    "checkpoint",
    "cond",
    "while_loop",
    "fori_loop",
    "switch",
    "compact",
    "transform",
    "pmap",
    "custom_vjp",
    "transform_with_state",
    "shard_map",
    "eval_shape",
    "jvp",
    "vjp",
    "make_jaxpr",
    "filter_jit",
    "filter_grad",
    "filter_value_and_grad",
    "filter_vmap",
    "filter_jvp",
    "filter_vjp",
    "filter_checkpoint",
    "filter_custom_vjp",
    "filter_shard_map",
    "filter_eval_shape",
    "filter_pmap",
    "nowrap",
} - {"nowrap"}
# How the name of a transform may end; a look at it spares the rest for nearly all calls.
_ENDS = {path.rsplit(".", 1)[-1] for path in (*_TRANSFORMS, *SAME)} | _LIFTED
_MODULE_BASES = {
    "flax.linen.Module",
    "flax.nnx.Module",
    "equinox.Module",
    "haiku.Module",
}


@dataclass
class JitInfo:
    """The parameters of a jitted function that are Python values while it is traced."""

    static: set[str] = field(default_factory=set)
    known: bool = True


@dataclass
class Functions:
    """All functions of a module and how they hang together.

    Attributes:
      nodes: all of its nodes, level by level.
      parents: node -> the node that holds it.
    """

    module: ast.Module
    nodes: list[ast.AST] = field(default_factory=list)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    local: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    _around: dict[ast.AST, Function | ast.Lambda | None] = field(default_factory=dict)
    _bindings: dict[Function | ast.Lambda | None, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes = walk(self.module, parents=self.parents)

    @cached_property
    def _grouped(self) -> dict[_Kinds, list[Any]]:
        """The nodes of the kinds that are asked for, group by group, in their order."""
        found: dict[_Kinds, list[Any]] = {kinds: [] for kinds in _GROUPS.values()}
        for node in self.nodes:
            kinds = _GROUPS.get(type(node))
            if kinds is not None:
                found[kinds].append(node)
        return found

    @property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        return self._grouped[_IMPORTS]

    @property
    def outside(self) -> list[ast.Global | ast.Nonlocal]:
        """The declarations of names that belong to another scope."""
        return self._grouped[_OUTSIDE]

    @property
    def fors(self) -> list[ast.For]:
        return self._grouped[_FOR]

    @cached_property
    def scopes(self) -> list[Function | ast.Lambda]:
        return [n for n in self._grouped[_INSIDE] if not isinstance(n, ast.Call)]

    @cached_property
    def all(self) -> list[Function]:
        return [n for n in self.scopes if not isinstance(n, ast.Lambda)]

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [n for n in self._grouped[_INSIDE] if type(n) is ast.Call]

    @cached_property
    def inside(self) -> dict[ast.AST | None, list[ast.AST]]:
        """For each function, and the module, the functions and calls right in it."""
        found: dict[ast.AST | None, list[ast.AST]] = {}
        for node in self._grouped[_INSIDE]:
            found.setdefault(self.enclosing(node), []).append(node)
        return found

    @cached_property
    def calls_of(self) -> dict[str, list[ast.Call]]:
        """The calls of each name."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            if isinstance(call.func, ast.Name):
                found.setdefault(call.func.id, []).append(call)
        return found

    @cached_property
    def methods(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for function in self.all:
            if isinstance(self.parents[function], ast.ClassDef):
                found.setdefault(function.name, []).append(function)
        return found

    def enclosing(self, node: ast.AST) -> Function | ast.Lambda | None:
        """The innermost function around a node."""
        above = self.parents.get(node)
        if above is None:
            return None
        if above in self._around:
            return self._around[above]
        between = []
        scope: ast.AST | None = above
        while scope is not None and not isinstance(scope, _SCOPE):
            if scope in self._around:
                scope = self._around[scope]
                break
            between.append(scope)
            scope = self.parents.get(scope)
        assert scope is None or isinstance(scope, _SCOPE)
        self._around.update(dict.fromkeys((above, *between), scope))
        return scope

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        scope = self.parents.get(node)
        while scope is not None and not isinstance(scope, ast.ClassDef):
            scope = self.parents.get(scope)
        return scope

    def qualified(self, node: ast.AST) -> str:
        """`Class.method`, `outer.inner`; `<module>` outside of functions."""
        parts = []
        scope: ast.AST | None = node
        while scope is not None:
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                parts.append(scope.name)
            scope = self.parents.get(scope)
        return ".".join(reversed(parts)) or "<module>"

    @cached_property
    def _definitions(self) -> dict[ast.AST | None, dict[str, list[Function | ast.Lambda]]]:
        """For each function, and the module, the definitions, and lambdas, of each name."""
        found: dict[ast.AST | None, dict[str, list[Function | ast.Lambda]]] = {}
        named: list[tuple[ast.stmt, str, Function | ast.Lambda]]
        named = [(function, function.name, function) for function in self.all]
        for node in self._grouped[_ASSIGN]:
            if type(node.value) is ast.Lambda:
                targets = (t for t in node.targets if isinstance(t, ast.Name))
                named += [(node, target.id, node.value) for target in targets]
        for statement, name, function in sorted(named, key=lambda n: _position(n[0])):
            scope = self.enclosing(statement)
            owner = self.class_of(statement)
            if owner is None or self.enclosing(owner) is not scope:
                found.setdefault(scope, {}).setdefault(name, []).append(function)
        return found

    def lookup(self, name: str, place: ast.AST) -> list[Function | ast.Lambda]:
        """The definitions (or assigned lambdas) that a name may mean at a place."""
        if name not in self._defined:
            return []
        scope: ast.AST | None = place
        while scope is not None:
            scope = self.enclosing(scope)
            found = self._definitions.get(scope, {}).get(name)
            if found:
                return found
            if scope is not None and (name in parameters(scope) or self.bindings(scope)[name]):
                return []
        return []

    def bindings(self, scope: Function | ast.Lambda | None) -> Counter[str]:
        """How often a function, or the module, binds each name; `f = jit(f)` does not count."""
        if scope not in self._bindings:
            body = self.module.body if scope is None else scope.body
            bound = bindings(body if isinstance(body, list) else [body], comprehensions=True)
            found = Counter(name for name, node in bound if not self._is_wrapped(name, node))
            self._bindings[scope] = found
        return self._bindings[scope]

    def _is_wrapped(self, name: str, target: ast.AST) -> bool:
        """Whether a name is the target of `f = jit(f)`, which computes the same."""
        match self.parents.get(target):
            case ast.Assign(value=ast.Call(func=function, args=[ast.Name(id=given), *_])):
                wrapper = (dotted(function) or "").rsplit(".", 1)[-1]
                return name == given and wrapper in ("jit", "checkpoint", "remat")
        return False

    @cached_property
    def _defined(self) -> set[str]:
        return {name for names in self._definitions.values() for name in names}


class Patterns:
    """Names with `*`, `?` and `[…]` in them, as for files; false where there are none."""

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = set(patterns)
        self.wild = [p for p in patterns if not set("*?[").isdisjoint(p)]
        self.plain = patterns.difference(self.wild)

    def __bool__(self) -> bool:
        return bool(self.plain or self.wild)

    def match(self, name: str) -> bool:
        return name in self.plain or any(fnmatch.fnmatchcase(name, p) for p in self.wild)


def _position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


class Traced:
    """The traced functions of a module.

    Attributes:
      why: traced function or lambda -> a few words on how it became so.
      jitted: function -> what is static, for those that are jitted directly.
    """

    def __init__(
        self,
        functions: Functions,
        imports: Imports,
        *,
        named: Iterable[str] = (),
        marked_lines: frozenset[int] = frozenset(),
        everything: bool = False,
    ) -> None:
        self.functions = functions
        self.imports = imports
        self.jitted: dict[ast.AST, JitInfo] = {}
        self._found: dict[ast.AST, str] = {}
        self._work: list[ast.AST] = []
        patterns = Patterns(named)
        for function in functions.all:
            self._by_definition(function, patterns, marked_lines, everything)
        for call in functions.calls:
            self._by_call(call)

    @cached_property
    def why(self) -> dict[ast.AST, str]:
        while self._work:
            self._spread(self._work.pop())
        return self._found

    def _add(self, function: ast.AST, why: str) -> None:
        if function not in self._found:
            self._found[function] = why
            self._work.append(function)

    def reason(self, node: ast.AST) -> str | None:
        """Why the code at a node is traced, None where it is not."""
        scope = self.functions.enclosing(node)
        while scope is not None:
            if scope in self.why:
                return self.why[scope]
            scope = self.functions.enclosing(scope)
        return None

    # How a function is found to be traced.

    def _by_definition(
        self,
        function: Function,
        patterns: Patterns,
        marked_lines: frozenset[int],
        everything: bool,
    ) -> None:
        for decorator in function.decorator_list:
            path = self.transform(decorator)
            if path:
                self._add(function, f"decorated with {path}")
                self._note_jit(function, decorator)
            elif patterns and self._is_named(decorator, patterns):
                self._add(function, "decorated as the configuration says")
        if marked_lines:
            first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
            if marked_lines & {first - 1, function.lineno, *range(first, function.lineno)}:
                self._add(function, "marked as traced")
        if patterns and patterns.match(self.functions.qualified(function)):
            self._add(function, "named as traced in the configuration")
        if everything:
            self._add(function, "all functions were asked for")
        if function.name == "__call__":
            owner = self.functions.parents[function]
            if isinstance(owner, ast.ClassDef):
                bases = {self.imports.resolve(b) for b in owner.bases}
                if bases & _MODULE_BASES:
                    self._add(function, "the call of a module")

    def _is_named(self, decorator: ast.expr, patterns: Patterns) -> bool:
        """Whether a pattern `@name` means a decorator, with or without arguments."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        names = (self.imports.resolve(decorator), dotted(decorator))
        return any(patterns.match(f"@{name}") for name in names if name)

    def _by_call(self, node: ast.Call) -> None:
        path = self.transform(node.func)
        if path is None:
            return
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            for function in self.candidates(argument):
                self._add(function, f"handed to {path}")
                if path in _JIT:
                    self._note_jit(function, node)

    def transform(self, node: ast.expr) -> str | None:
        """The transform that an expression stands for, through calls and partial."""
        if isinstance(node, ast.Attribute):
            if node.attr not in _ENDS:
                return None
        elif isinstance(node, ast.Name):
            if node.id not in self._by_name:
                self._by_name[node.id] = self._transform_named(self.imports.resolve(node))
            return self._by_name[node.id]
        elif isinstance(node, ast.Call):
            path = self.imports.resolve(node.func)
            if path == "functools.partial" and node.args:
                return self.transform(node.args[0])
            return self.transform(node.func)
        else:
            return None
        return self._transform_named(self.imports.resolve(node))

    @cached_property
    def _by_name(self) -> dict[str, str | None]:
        return {}

    def _transform_named(self, path: str | None) -> str | None:
        if path is None or path in _TRANSFORMS:
            return path
        if path.startswith(_PREFIXES) and path.split(".")[-1] in _LIFTED:
            return path
        return self._named_transforms.get(path)

    @cached_property
    def _named_transforms(self) -> dict[str, str]:
        """Module-level names for a transform: `jit_static = partial(jax.jit, …)`."""
        found: dict[str, str] = {}
        for node in self.functions.module.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                call = node.value
                is_partial = self.imports.resolve(call.func) == "functools.partial"
                path = self.imports.resolve(call.args[0]) if is_partial and call.args else None
                if path in _TRANSFORMS:
                    for target in node.targets:
                        if isinstance(target, ast.Name) and path:
                            found[target.id] = path
        return found

    def candidates(self, node: ast.expr) -> list[Function | ast.Lambda]:
        """The functions of the module that an expression may stand for."""
        if isinstance(node, ast.Name):
            return self.functions.lookup(node.id, node)
        if isinstance(node, ast.Attribute):
            return [*self.method(node)] if node.attr in self.functions.methods else []
        if isinstance(node, ast.Call):
            if node.args:
                is_partial = self.imports.resolve(node.func) == "functools.partial"
                if is_partial or self.transform(node.func):
                    return self.candidates(node.args[0])
        elif isinstance(node, ast.List | ast.Tuple):
            return [function for item in node.elts for function in self.candidates(item)]
        elif isinstance(node, ast.Lambda):
            return [node]
        return []

    def only(self, node: ast.expr) -> Function | ast.Lambda | None:
        """The function of the module that an expression stands for, if it can be no other one."""
        found = self.candidates(node)
        if len(found) != 1:
            return None
        if isinstance(node, ast.Name):
            scope = self.functions.enclosing(found[0])
            return found[0] if self.functions.bindings(scope)[node.id] < 2 else None
        return found[0]

    def method(self, node: ast.Attribute) -> Iterator[Function]:
        """Methods of the module's classes that `x.name` may mean."""
        found = self.functions.methods.get(node.attr, ())
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            owner = self.functions.class_of(node)
            own = [f for f in found if self.functions.parents[f] is owner]
            yield from own or found
        else:
            yield from found

    def _spread(self, function: ast.AST) -> None:
        """What a traced function calls, passes on or defines is traced too."""
        name = getattr(function, "name", "a lambda")
        for inner in self.functions.inside.get(function, ()):
            if not isinstance(inner, ast.Call):
                self._add(inner, f"defined in {name}, which is traced")
                continue
            for expression in [inner.func, *inner.args, *(k.value for k in inner.keywords)]:
                for callee in self.candidates(expression):
                    self._add(callee, f"called by {name}, which is traced")

    # What jit was told about the parameters.

    def _note_jit(self, function: ast.AST, call: ast.expr) -> None:
        info = self.jitted.setdefault(function, JitInfo())
        while isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg in ("static_argnums", "static_argnames"):
                    self._note_static(function, keyword.value, info)
                elif keyword.arg is None:
                    info.known = False
            is_partial = self.imports.resolve(call.func) == "functools.partial"
            call = call.args[0] if is_partial and len(call.args) == 1 else call.func
        path = self.imports.resolve(call)  # a name of the module's own may say more
        if path not in _JIT or path.startswith(("equinox.", "flax.nnx.")):
            info.known = False  # for the latter two Python leaves stay Python values

    def _note_static(self, function: ast.AST, value: ast.expr, info: JitInfo) -> None:
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        names = parameters(function)
        try:
            given = ast.literal_eval(value)
        except ValueError:
            info.known = False
            return
        for item in given if isinstance(given, tuple | list | set) else (given,):
            if isinstance(item, str):
                info.static.add(item)
            elif isinstance(item, int) and -len(names) <= item < len(names):
                info.static.add(names[item])

    def traced_parameters(self, function: ast.AST) -> set[str]:
        """Parameters that are surely tracers: jitted, not static, no default left out."""
        info = self.jitted.get(function)
        if info is None or not info.known:
            return set()
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        a = function.args
        plain = [p.arg for p in (*a.posonlyargs, *a.args)]
        with_default = plain[len(plain) - len(a.defaults) :]
        keyword = [p.arg for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is None]
        sure = {p for p in plain if p not in with_default} | set(keyword)
        return sure - info.static


def local_names(functions: Functions, node: ast.AST) -> frozenset[str]:
    """Names that are parameters or locals of any function around a node."""
    scope = functions.enclosing(node)
    if scope is None:
        return frozenset()
    if scope not in functions.local:
        found = set(parameters(scope))
        if not isinstance(scope, ast.Lambda):
            found |= bound_in(scope.body)
            found -= imported_here(scope.body)
        functions.local[scope] = local_names(functions, scope) | found
    return functions.local[scope]


def imported_here(body: list[ast.stmt]) -> set[str]:
    """Names that an import in the scope binds: they mean what the import says."""
    return {
        name
        for node in own_statements(body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in binds(node)
    }
