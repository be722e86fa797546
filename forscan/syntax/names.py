"""Which names a piece of syntax reads and binds in the scope it stands in."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from forscan.syntax.walk import SCOPES, children, walk, walk_own

_Node = TypeVar("_Node", bound=ast.AST)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Activity:
    """Names read and bound, in order of appearance (dicts serve as ordered sets).

    `exposed` are the reads that come before any binding in straight-line order.
    """

    reads: dict[str, None] = field(default_factory=dict)
    binds: dict[str, None] = field(default_factory=dict)
    deletes: dict[str, None] = field(default_factory=dict)
    exposed: dict[str, None] = field(default_factory=dict)


class _Collector:
    """Walks in evaluation order; scopes inside contribute their free names only."""

    def __init__(self) -> None:
        self.found = Activity()

    def visit(self, node: ast.AST) -> None:
        kind = type(node)
        if kind is ast.Constant:
            return
        special = _VISITS.get(kind)
        if special is not None:
            special(self, node)
        else:
            for child in children(node):
                self.visit(child)

    def read(self, name: str) -> None:
        self.found.reads[name] = None
        if name not in self.found.binds:
            self.found.exposed[name] = None

    def bind(self, name: str) -> None:
        self.found.binds[name] = None

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.bind(node.id)
        else:
            self.read(node.id)
            self.found.deletes[node.id] = None

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        self.all(node.body)
        self.all(node.orelse)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.all(node.decorator_list)
        self.defaults(node.args)
        for name in free_names(node):
            self.read(name)
        self.bind(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.defaults(node.args)
        for name in free_names(node):
            self.read(name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.all(node.decorator_list)
        self.all(node.bases)
        inner = activity(node.body)
        for name in inner.exposed:
            self.read(name)
        self.bind(node.name)

    def comprehension(self, node: ast.expr) -> None:
        for name in _comprehension_reads(node):
            self.read(name)
        for inner in walk(node):  # a walrus binds in the function around
            if isinstance(inner, ast.NamedExpr):
                self.bind(inner.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = comprehension
    visit_GeneratorExp = comprehension

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.bind((alias.asname or alias.name).split(".")[0])

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type:
            self.visit(node.type)
        if node.name:
            self.bind(node.name)
        self.all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.pattern:
            self.visit(node.pattern)
        if node.name:
            self.bind(node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.all(node.patterns)
        if node.rest:
            self.bind(node.rest)

    def defaults(self, arguments: ast.arguments) -> None:
        self.all(arguments.defaults)
        self.all([d for d in arguments.kw_defaults if d is not None])

    def all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


_VISITS: dict[type[ast.AST], Callable[[_Collector, Any], None]] = {
    getattr(ast, name.removeprefix("visit_")): method
    for name, method in vars(_Collector).items()
    if name.startswith("visit_")
}


def activity(nodes: ast.AST | Iterable[ast.AST]) -> Activity:
    """What the nodes, taken in order, read and bind in their own scope."""
    collector = _Collector()
    collector.all([nodes] if isinstance(nodes, ast.AST) else nodes)
    return collector.found


def reads(nodes: ast.AST | Iterable[ast.AST]) -> dict[str, None]:
    return activity(nodes).reads


def binds(nodes: ast.AST | Iterable[ast.AST]) -> dict[str, None]:
    return activity(nodes).binds


def in_body(loop: ast.For) -> Activity:
    """What the body of a loop reads and binds; everyone who looks at the loop asks for it."""
    if loop not in _BODIES:
        _BODIES[loop] = activity(loop.body)
    return _BODIES[loop]


_BODIES: WeakKeyDictionary[ast.For, Activity] = WeakKeyDictionary()


def bound_in(body: Iterable[ast.AST]) -> set[str]:
    """The names that a scope binds, which is quicker than `binds` and has no order."""
    return {name for name, _ in bindings(body)}


def bindings(
    body: Iterable[ast.AST], comprehensions: bool = False
) -> Iterator[tuple[str, ast.AST]]:
    """Each time that a scope binds a name, and the node that does.

    Args:
      comprehensions: whether their targets count, which are names of their own.
    """
    inner: set[ast.AST] = set()  # the targets of comprehensions
    for node in walk_own(body):
        kind = type(node)
        if kind is ast.Name:
            assert isinstance(node, ast.Name)
            if type(node.ctx) is ast.Store and node not in inner:
                yield node.id, node
        elif kind in _BINDING:
            if isinstance(node, ast.comprehension):
                inner.update(() if comprehensions else walk(node.target))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from (((a.asname or a.name).split(".")[0], node) for a in node.names)
            else:
                name = (
                    node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
                )
                if name:
                    yield name, node


_BINDING = {
    ast.comprehension, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import,
    ast.ImportFrom, ast.ExceptHandler, ast.MatchMapping, ast.MatchAs, ast.MatchStar,
}  # fmt: skip


def parameters(node: FunctionNode) -> list[str]:
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return names + [p.arg for p in (a.vararg, a.kwarg) if p]


def defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The default of each parameter that has one."""
    plain = [p.arg for p in (*arguments.posonlyargs, *arguments.args)]
    found = dict(zip(plain[::-1], arguments.defaults[::-1], strict=False))
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found | {p.arg: default for p, default in named if default is not None}


def annotations_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The annotation of each parameter that has one."""
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return {p.arg: p.annotation for p in named if p.annotation is not None}


def free_names(node: FunctionNode) -> dict[str, None]:
    """The names a function reads from the scopes around it (builtins included)."""
    if node not in _FREE:
        _FREE[node] = _free_names(node)
    return _FREE[node]


# A function is asked about for each function around it.
_FREE: WeakKeyDictionary[FunctionNode, dict[str, None]] = WeakKeyDictionary()


def _free_names(node: FunctionNode) -> dict[str, None]:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    inner = activity(body)
    local = {*parameters(node), *inner.binds} - declared_outside(body)
    return {name: None for name in inner.reads if name not in local}


def declared_outside(body: Iterable[ast.AST]) -> set[str]:
    """Names under `global` or `nonlocal` anywhere in the body."""
    return {
        name
        for node in _statements(body, _HOLDING)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }


def _comprehension_reads(node: ast.expr) -> dict[str, None]:
    assert isinstance(node, _COMPREHENSIONS)
    collector = _Collector()
    for generator in node.generators:
        collector.visit(generator.iter)
        collector.visit(generator.target)
        collector.all(generator.ifs)
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    collector.all(parts)
    return collector.found.exposed


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of the scope, not those inside nested functions and classes."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if type(node) not in SCOPES:
            stack.extend(reversed(children(node)))


def own_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, not those inside nested functions and classes."""
    return _statements(body, _COMPOUND)


def _statements(body: Iterable[_Node], opened: Container[type[ast.AST]]) -> Iterator[_Node]:
    """The statements of a suite, and those inside statements of the kinds that are opened."""
    stack = list(body)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if type(node) in opened:
            stack.extend(reversed(_inside(node)))


def _inside(node: ast.AST) -> list[Any]:
    """The statements right in another one."""
    found: list[Any] = []
    for suite in ("body", "handlers", "cases", "orelse", "finalbody"):
        for part in getattr(node, suite, ()):
            found += [part] if isinstance(part, ast.stmt) else part.body
    return found


_COMPOUND = {
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.Match,
}  # fmt: skip
_HOLDING = _COMPOUND | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef}


def inner_functions(
    nodes: Iterable[ast.AST], holding: Container[ast.AST] | None = None
) -> Iterator[FunctionNode]:
    """The functions defined in a scope, not those defined inside them.

    Args:
      nodes: of the scope.
      holding: where it is known, the nodes that are functions or hold any.
    """
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        if holding is not None and node not in holding:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            stack.append(node.args)  # defaults belong to the scope around
            stack += getattr(node, "decorator_list", [])
        else:
            stack.extend(reversed(children(node)))


def all_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Every identifier that occurs in nodes, however it is used, and the builtins.

    They are what a new name must avoid.
    """
    found: set[str] = set(dir(builtins))
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif type(node) not in _NAMED:
            continue
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return found


_NAMED = {
    ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.Global,
    ast.Nonlocal,
}  # fmt: skip


def target_names(target: ast.expr) -> list[str]:
    """The names that an assignment target binds, left to right."""
    return [n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def names_in(node: ast.AST) -> set[str]:
    """All names that occur, read or bound."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def is_place(node: ast.AST) -> bool:
    """Whether a node is `array.at[…]`, the place of a write."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "at"
    )


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` of a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
