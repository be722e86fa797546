"""One function with everything that is known about it, computed when asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Generic, ParamSpec, TypeVar

from forscan.analyse.cfg import Graph, build
from forscan.analyse.dataflow import NameSets, bound_names, live_names
from forscan.facts import NO_FACTS, Value
from forscan.find.functions import Function, local_names
from forscan.find.module import ModuleContext
from forscan.syntax.fresh import Fresh
from forscan.syntax.names import (
    all_names,
    annotations_of,
    binds,
    declared_outside,
    free_names,
    inner_functions,
    parameters,
)
from forscan.syntax.source import Source
from forscan.syntax.walk import children, walk, walk_all

P = ParamSpec("P")
T = TypeVar("T")


class _Shared(Generic[T]):
    """A property that is computed once for all contexts of a function."""

    def __init__(self, compute: Callable[[FunctionContext], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, context: FunctionContext, owner: type) -> T:
        if self not in context.known:
            context.known[self] = self.compute(context)
        value: T = context.known[self]
        context.__dict__[self.compute.__name__] = value  # which is found without us from now on
        return value


def once(analysis: Callable[P, T]) -> Callable[P, T]:
    """An analysis of something in a function, which is done once for all that ask.

    It is called without keywords, and its last argument is the context; the others can be
    hashed. Nobody changes what it gives.
    """

    @wraps(analysis)
    def known(*arguments: P.args, **named: P.kwargs) -> T:
        *of, context = arguments
        assert isinstance(context, FunctionContext)
        key = analysis, *of
        if key not in context.known:
            context.known[key] = analysis(*arguments, **named)
        found: T = context.known[key]
        return found

    return known


@dataclass
class FunctionContext:
    """The function that a loop stands in.

    A context is made wherever somebody asks about a function. What is known about the function
    is kept with the module; only the new names that are given out belong to one context.

    Attributes:
      node: the function, or the module for code outside of functions.
    """

    module: ModuleContext
    node: Function | ast.Module

    @cached_property
    def known(self) -> dict[Any, Any]:
        """What has been found out about the function, by what was asked."""
        return self.module.known.setdefault(self.node, {})

    @property
    def source(self) -> Source:
        return self.module.source

    @property
    def name(self) -> str:
        return self.module.functions.qualified(self.node)

    @cached_property
    def fresh(self) -> Fresh:
        """New names for this function."""
        return Fresh(self.identifiers | self.module.top_level | self.locals, self.reads)

    @_Shared
    def nodes(self) -> list[ast.AST]:
        """All nodes of the suite, those of functions in it as well."""
        return walk_all(self.node.body)

    @_Shared
    def _whole(self) -> list[ast.AST]:
        """All nodes of the function, those of its head as well."""
        suite = set(self.node.body)
        head = [part for part in children(self.node) if part not in suite]
        return [self.node, *walk(*head), *self.nodes]

    @_Shared
    def values(self) -> dict[str, list[ast.expr]]:
        """All expressions that plain assignments give to each name, here and further in."""
        found: dict[str, list[ast.expr]] = {}
        whole = isinstance(self.node, ast.Module)
        for node in self.module.functions.assignments if whole else self.nodes:
            if isinstance(node, ast.Assign):
                given = [pair for target in node.targets for pair in _given(target, node.value)]
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
                given = [(node.target, node.value)]
            else:
                continue
            for target, value in given:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(value)
        return found

    @_Shared
    def starred(self) -> set[str]:
        """The names that get the rest: `first, *rest = items`."""
        stars = (n for n in self.nodes if isinstance(n, ast.Starred))
        named = (n.value for n in stars if isinstance(n.ctx, ast.Store))
        return {value.id for value in named if isinstance(value, ast.Name)}

    @cached_property
    def variadic(self) -> frozenset[str]:
        """The names of `*args` and `**kwargs`: a tuple, and a dict."""
        if isinstance(self.node, ast.Module):
            return frozenset()
        given = (self.node.args.vararg, self.node.args.kwarg)
        return frozenset(a.arg for a in given if a is not None)

    def is_bare(self, name: str) -> bool:
        """Whether nothing shows that a parameter is an array, and no Python number.

        It has no annotation, is never indexed, multiplied as a matrix or asked for a shape.
        """
        if name not in self.parameters or name in self.variadic:
            return False
        assert not isinstance(self.node, ast.Module)
        parents = (self.module.functions.parents[n] for n in self.alike(ast.Name(name, ast.Load())))
        arrays = any(
            isinstance(p, ast.Subscript | ast.Attribute | ast.For)
            or (isinstance(p, ast.BinOp) and isinstance(p.op, ast.MatMult))
            for p in parents
        )
        return name not in annotations_of(self.node.args) and not arrays

    def alike(self, expression: ast.expr) -> list[ast.AST]:
        """The places in the suite where the same is written."""
        kind = type(expression)
        if kind not in self._written:
            places = self._written[kind] = {}
            for node in self.nodes:
                if type(node) is kind:
                    places.setdefault(ast.dump(node), []).append(node)
        return self._written[kind].get(ast.dump(expression), [])

    @_Shared
    def _written(self) -> dict[type[ast.AST], dict[str, list[ast.AST]]]:
        return {}

    @_Shared
    def graph(self) -> Graph:
        return build(self.node)

    @_Shared
    def unit(self) -> str:
        """By what the suite of the function is moved in."""
        first, source = self.node.body[0], self.source
        if isinstance(self.node, ast.Module) or first.lineno == self.node.lineno:
            return "    "
        outer = source.indentation(source.start(self.node))
        return source.indentation(source.start(first)).removeprefix(outer) or "    "

    @_Shared
    def parameters(self) -> list[str]:
        return [] if isinstance(self.node, ast.Module) else parameters(self.node)

    @_Shared
    def locals(self) -> frozenset[str]:
        """Parameters and locals here and in the functions around."""
        inside = self.node.body[0] if self.node.body else self.node
        return local_names(self.module.functions, inside)

    def around(self, name: str) -> FunctionContext | None:
        """The function around this one that a name belongs to, None where it is not its."""
        if name in self.parameters or name in self.assigned:
            return None
        scope = self.module.functions.enclosing(self.node)
        while scope is not None:
            if name in parameters(scope) or name in self._bound_in(scope):
                break
            scope = self.module.functions.enclosing(scope)
        if scope is None or isinstance(scope, ast.Lambda):
            return None
        return FunctionContext(self.module, scope)

    def _bound_in(self, scope: Function | ast.Lambda) -> Collection[str]:
        if isinstance(scope, ast.Lambda):
            return binds(scope.body)
        return FunctionContext(self.module, scope).binds

    @_Shared
    def captured(self) -> dict[str, list[ast.AST]]:
        """Names read by functions defined in here -> those functions."""
        found: dict[str, list[ast.AST]] = {}
        for node in inner_functions(self.node.body, self.module.functions.holding):
            for name in free_names(node):
                found.setdefault(name, []).append(node)
        return found

    @_Shared
    def read_late(self) -> dict[str, list[ast.AST]]:
        """The captured names that may be read later than where the function stands."""
        late = {
            name: [f for f in functions if not self._is_called_at_once(f)]
            for name, functions in self.captured.items()
        }
        return {name: functions for name, functions in late.items() if functions}

    def _is_called_at_once(self, function: ast.AST) -> bool:
        """Whether a function is written where `jax.lax.cond` or its like calls and forgets it."""
        call = self.parent(function)
        if not isinstance(function, ast.Lambda) or not isinstance(call, ast.Call):
            return False
        path = self.resolve(call.func) or ""
        return function in call.args and path.startswith(("jax.lax.", "jax.tree.map"))

    @_Shared
    def outside(self) -> set[str]:
        """Names declared `global` or `nonlocal`."""
        return declared_outside(self.node.body) if self.module.functions.outside else set()

    @_Shared
    def live(self) -> NameSets:
        """Per node of the graph the names live on entry (own flow only)."""
        return live_names(self.graph, frozenset(self.outside))

    @_Shared
    def bound(self) -> NameSets:
        start = frozenset(self.parameters) | (self.identifiers - self.assigned)
        return bound_names(self.graph, start, self.identifiers)

    @_Shared
    def identifiers(self) -> frozenset[str]:
        """Every identifier that occurs, and the builtins."""
        return frozenset(all_names(self._whole))

    @_Shared
    def reads(self) -> frozenset[str]:
        """The names that are read anywhere in it."""
        names = (n for n in self._whole if isinstance(n, ast.Name))
        return frozenset(n.id for n in names if type(n.ctx) is ast.Load)

    @_Shared
    def binds(self) -> frozenset[str]:
        """The names that the suite binds in its own scope."""
        return frozenset(binds(self.node.body))

    @_Shared
    def assigned(self) -> frozenset[str]:
        """The names that the function's own statements bind."""
        names: set[str] = set()
        for node in self.graph.nodes:
            names.update(node.activity.binds)
        return frozenset(names)

    def resolve(self, node: ast.expr) -> str | None:
        """The full dotted name of an expression in this function."""
        return self.module.imports.resolve(node, self.locals)

    def seen(self, node: ast.expr) -> Value | None:
        """The type that an expression had in the calls that were run, if it had one."""
        return self.module.facts.of(self.name, ast.unparse(node)) if self.observed else None

    def seen_item(self, node: ast.expr) -> Value | None:
        """The type of all items of a list, where calls have shown that they have one."""
        value = self.seen(node)
        return value.item if value is not None else None

    def keeps_type(self, name: str) -> bool:
        """Whether the calls that were run have shown that a scan can carry a name."""
        return self.module.facts.keeps_type(self.name, name)

    def settles(self, name: str) -> bool:
        """Whether they have shown that its type changes in the first iteration only."""
        return self.module.facts.settles(self.name, name)

    def changes(self, name: str) -> bool:
        """Whether they have shown that its type changes later on."""
        return self.module.facts.changes(self.name, name)

    @property
    def observed(self) -> bool:
        """Whether calls were run, which are then verified as well."""
        return self.module.facts is not NO_FACTS

    def kept(self, node: ast.expr) -> Iterator[tuple[ast.expr, FunctionContext]]:
        """What the methods of the class keep under `self.name`, each with the method."""
        owner = self.module.functions.class_of(self.node)
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if owner is not None:
                for method, value in self.module.functions.kept_by(owner).get(name, ()):
                    yield value, FunctionContext(self.module, method)

    def parent(self, node: ast.AST) -> ast.AST:
        return self.module.functions.parents[node]


def _given(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment gives to each of its targets: the value, or an item of it."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
    for position, item in enumerate(target.elts):
        if same:
            assert isinstance(value, ast.Tuple | ast.List)
            part = value.elts[position]
        else:
            part = ast.Subscript(value, ast.Constant(position), ast.Load())
            ast.copy_location(part, value)
        yield from _given(item, part)
