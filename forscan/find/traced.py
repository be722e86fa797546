"""Which functions of a module run under a JAX trace, and why we think so.

A function is traced when it is handed to a transform (by decorator or by call, in
every spelling), is a body of a `lax` loop, is called or passed on by a traced
function of the module, or stands inside one; or when its author says so.
"""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from forscan.find.functions import Function, Functions
from forscan.find.imports import Imports
from forscan.find.transforms import JIT, MODULE_BASES, Transforms
from forscan.syntax.names import defaults, dotted, parameters

# Kinds of expressions that may stand for functions, or for several of them.
CALLABLE = frozenset({ast.Name, ast.Attribute, ast.Call, ast.List, ast.Tuple, ast.Lambda})


@dataclass
class JitInfo:
    """The parameters of a jitted function that are Python values while it is traced."""

    static: set[str] = field(default_factory=set)
    known: bool = True


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
        self.transforms = Transforms(functions.module, imports)
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

    def _by_definition(  # noqa: C901
        self,
        function: Function,
        patterns: Patterns,
        marked_lines: frozenset[int],
        everything: bool,
    ) -> None:
        for decorator in function.decorator_list:
            path = self.transforms.path(decorator)
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
                if bases & MODULE_BASES:
                    self._add(function, "the call of a module")

    def _is_named(self, decorator: ast.expr, patterns: Patterns) -> bool:
        """Whether a pattern `@name` means a decorator, with or without arguments."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        names = (self.imports.resolve(decorator), dotted(decorator))
        return any(patterns.match(f"@{name}") for name in names if name)

    def _by_call(self, node: ast.Call) -> None:
        path = self.transforms.path(node.func)
        if path is None:
            return
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            for function in self.candidates(argument):
                self._add(function, f"handed to {path}")
                if path in JIT:
                    self._note_jit(function, node)

    def candidates(self, node: ast.expr) -> list[Function | ast.Lambda]:
        """The functions of the module that an expression may stand for."""
        if isinstance(node, ast.Name):
            return self.functions.lookup(node.id, node)
        if isinstance(node, ast.Attribute):
            return [*self.method(node)] if node.attr in self.functions.methods else []
        if isinstance(node, ast.Call):
            if node.args:
                is_partial = self.imports.resolve(node.func) == "functools.partial"
                if is_partial or self.transforms.path(node.func):
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
                for callee in self.candidates(expression) if type(expression) in CALLABLE else ():
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
        if path not in JIT or path.startswith(("equinox.", "flax.nnx.")):
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
        named = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
        return named - defaults(a).keys() - info.static
