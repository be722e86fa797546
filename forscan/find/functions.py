"""The functions of a module: what stands in which, and what a name may mean."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from forscan.syntax.names import bindings, binds, bound_in, dotted, own_statements, parameters
from forscan.syntax.walk import walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPE = Function | ast.Lambda
# Kinds of nodes that are asked for together; each kind is in one of them.
_Kinds = tuple[type[ast.AST], ...]
_INSIDE: _Kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Call)
_IMPORTS: _Kinds = (ast.Import, ast.ImportFrom)
_OUTSIDE: _Kinds = (ast.Global, ast.Nonlocal)
_ASSIGN: _Kinds = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
_FOR: _Kinds = (ast.For,)
_BINDING: _Kinds = (ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
_ALL = (_INSIDE, _IMPORTS, _OUTSIDE, _ASSIGN, _FOR, _BINDING)
_GROUPS = {kind: kinds for kinds in _ALL for kind in kinds}


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
    _meant: dict[tuple[str, ast.AST | None], list[Function | ast.Lambda]] = field(
        default_factory=dict
    )
    _kept: dict[ast.ClassDef, dict[str, list[tuple[Function, ast.expr]]]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self.nodes = walk(self.module, parents=self.parents)

    @cached_property
    def _grouped(self) -> dict[_Kinds, list[Any]]:
        """The nodes of the kinds that are asked for, group by group, in their order."""
        found: dict[_Kinds, list[Any]] = {kinds: [] for kinds in _GROUPS.values()}
        for node in [n for n in self.nodes if type(n) in _GROUPS]:
            found[_GROUPS[type(node)]].append(node)
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
    def names(self) -> list[ast.Name | ast.Attribute]:
        return [n for n in self.nodes if type(n) is ast.Name or type(n) is ast.Attribute]

    @cached_property
    def assignments(self) -> list[ast.Assign | ast.AnnAssign | ast.NamedExpr]:
        """All that gives values to names, one statement of the module after the other."""
        turns: dict[ast.AST, int] = {node: turn for turn, node in enumerate(self.module.body)}
        return sorted(self._grouped[_ASSIGN], key=lambda n: turns[self.top_level(n)])

    def top_level(self, node: ast.AST) -> ast.AST:
        """The statement of the module that a node stands in."""
        while (above := self.parents[node]) is not self.module:
            node = above
        return node

    @cached_property
    def scopes(self) -> list[Function | ast.Lambda]:
        return [n for n in self._grouped[_INSIDE] if not isinstance(n, ast.Call)]

    @cached_property
    def all(self) -> list[Function]:
        return [n for n in self.scopes if not isinstance(n, ast.Lambda)]

    @cached_property
    def holding(self) -> set[ast.AST]:
        """The functions, and all nodes around them."""
        found: set[ast.AST] = set()
        for function in self.scopes:
            node: ast.AST | None = function
            while node is not None and node not in found:
                found.add(node)
                node = self.parents.get(node)
        return found

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

    def kept_by(self, owner: ast.ClassDef) -> dict[str, list[tuple[Function, ast.expr]]]:
        """What the methods of a class assign to each attribute of `self`, and which does."""
        if owner not in self._kept:
            found = self._kept[owner] = {}
            for method in owner.body:
                if isinstance(method, ast.FunctionDef):
                    for node in walk(method):
                        for target, value in _attributes(node):
                            if dotted(target.value) == "self":
                                found.setdefault(target.attr, []).append((method, value))
        return self._kept[owner]

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
            if type(node) is ast.Assign and type(node.value) is ast.Lambda:
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
        key = (name, self.enclosing(place))
        if key not in self._meant:
            self._meant[key] = self._lookup(*key)
        return self._meant[key]

    def _lookup(
        self, name: str, scope: Function | ast.Lambda | None
    ) -> list[Function | ast.Lambda]:
        found = self._definitions.get(scope, {}).get(name)
        if found or scope is None:
            return found or []
        if name in parameters(scope) or (name in self._bound and self.bindings(scope)[name]):
            return []
        return self._lookup(name, self.enclosing(scope))

    def bindings(self, scope: Function | ast.Lambda | None) -> Counter[str]:
        """How often a function, or the module, binds each name; `f = jit(f)` does not count."""
        if scope not in self._bindings:
            body = self.module.body if scope is None else scope.body
            bound = bindings(body if isinstance(body, list) else [body], comprehensions=True)
            found = Counter(name for name, node in bound if not self._is_wrapped(name, node))
            self._bindings[scope] = found
        return self._bindings[scope]

    @cached_property
    def _bound(self) -> set[str]:
        """The names that something else than a definition may bind, wherever it stands."""
        found = {n.id for n in self.nodes if type(n) is ast.Name and type(n.ctx) is ast.Store}
        for node in self.imports:
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        for node in self._grouped[_BINDING]:
            name = node.rest if type(node) is ast.MatchMapping else node.name
            if name:
                found.add(name)
        return found

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


def _attributes(node: ast.AST) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    """The attributes that a statement assigns, with their values."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((t, value) for t in targets if isinstance(t, ast.Attribute))
        case ast.AnnAssign(target=ast.Attribute() as target, value=ast.expr() as value):
            yield target, value


def _position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


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
