"""The control-flow graph of one function, a node for each simple step.

A `for` has two nodes: `head`, where the iterator is asked for the next item, and
`bind`, where the target gets it. What is live on entry to `bind` is what an
iteration needs from before; what is live behind `head`'s other edges is what the
code after the loop needs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from forscan.syntax.names import Activity, activity


@dataclass
class Node:
    """One step.

    Attributes:
      index: its place in the graph.
      syntax: what is evaluated here; empty for joins.
      binds: targets bound without being evaluated here.
    """

    index: int
    syntax: tuple[ast.AST, ...] = ()
    activity: Activity = field(default_factory=Activity)
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ForNodes:
    """The nodes of one `for`: iterable evaluated, next item asked for, target bound."""

    iterable: int
    head: int
    bind: int
    after: int


@dataclass
class Graph:
    nodes: list[Node] = field(default_factory=list)
    loops: dict[ast.For, ForNodes] = field(default_factory=dict)
    statements: dict[ast.stmt, int] = field(default_factory=dict)
    entry: int = 0
    exit: int = 0


class _Builder:
    def __init__(self) -> None:
        self.graph = Graph()
        self.breaks: list[int] = []
        self.continues: list[int] = []
        self.handlers: list[list[int]] = []

    def node(self, *syntax: ast.AST, after: Sequence[int] = ()) -> int:
        node = Node(len(self.graph.nodes), syntax, activity(syntax))
        self.graph.nodes.append(node)
        for index in after:
            self.edge(index, node.index)
        for handlers in self.handlers[-1:]:  # anything may raise
            for handler in handlers:
                self.edge(node.index, handler)
        return node.index

    def edge(self, start: int, end: int) -> None:
        if end not in self.graph.nodes[start].successors:
            self.graph.nodes[start].successors.append(end)
            self.graph.nodes[end].predecessors.append(start)

    def block(self, statements: Sequence[ast.stmt], after: list[int]) -> list[int]:
        """Adds the statements behind the nodes `after`; gives the open ends."""
        for statement in statements:
            after = self.statement(statement, after)
        return after

    def statement(self, node: ast.stmt, after: list[int]) -> list[int]:
        first = len(self.graph.nodes)
        ends = self.dispatch(node, after)
        self.graph.statements[node] = first
        return ends

    def dispatch(self, node: ast.stmt, after: list[int]) -> list[int]:  # noqa: C901
        match node:
            case ast.If():
                test = self.node(node.test, after=after)
                return self.block(node.body, [test]) + self.block(node.orelse, [test])
            case ast.For() | ast.AsyncFor():
                return self.for_loop(node, after)
            case ast.While():
                return self.while_loop(node, after)
            case ast.With() | ast.AsyncWith():
                parts: list[ast.AST] = []
                for item in node.items:
                    parts += [item.context_expr]
                    parts += [item.optional_vars] if item.optional_vars else []
                return self.block(node.body, [self.node(*parts, after=after)])
            case ast.Try() | ast.TryStar():
                return self.try_block(node, after)
            case ast.Match():
                return self.match(node, after)
            case ast.Return() | ast.Raise():
                self.edge(self.node(node, after=after), self.graph.exit)
                return []
            case ast.Break() if self.breaks:
                self.edge(self.node(after=after), self.breaks[-1])
                return []
            case ast.Continue() if self.continues:
                self.edge(self.node(after=after), self.continues[-1])
                return []
            case _:
                return [self.node(node, after=after)]

    def for_loop(self, node: ast.For | ast.AsyncFor, after: list[int]) -> list[int]:
        iterable = self.node(node.iter, after=after)
        head = self.node(after=[iterable])
        bind = self.node(node.target, after=[head])
        end = self.node()
        self.breaks.append(end)
        self.continues.append(head)
        for index in self.block(node.body, [bind]):
            self.edge(index, head)
        self.breaks.pop()
        self.continues.pop()
        otherwise = self.node(after=[head])
        for index in self.block(node.orelse, [otherwise]):
            self.edge(index, end)
        if isinstance(node, ast.For):
            self.graph.loops[node] = ForNodes(iterable, head, bind, otherwise)
        return [end]

    def while_loop(self, node: ast.While, after: list[int]) -> list[int]:
        test = self.node(node.test, after=after)
        end = self.node()
        self.breaks.append(end)
        self.continues.append(test)
        for index in self.block(node.body, [test]):
            self.edge(index, test)
        self.breaks.pop()
        self.continues.pop()
        for index in self.block(node.orelse, [test]):
            self.edge(index, end)
        return [end]

    def try_block(self, node: ast.Try | ast.TryStar, after: list[int]) -> list[int]:
        handlers = [self.node(h.type) if h.type else self.node() for h in node.handlers]
        caught = handlers or [self.node()]
        start = self.node(after=after)
        self.handlers.append(caught)
        for handler in caught:
            self.edge(start, handler)
        ends = self.block(node.body, [start])
        self.handlers.pop()
        ends = self.block(node.orelse, ends)
        for clause, index in zip(node.handlers, handlers, strict=False):
            name = [ast.Name(clause.name, ast.Store())] if clause.name else []
            ends += self.block(clause.body, [self.node(*name, after=[index])])
        if not node.handlers:
            ends += caught
        return self.block(node.finalbody, ends)

    def match(self, node: ast.Match, after: list[int]) -> list[int]:
        subject = self.node(node.subject, after=after)
        ends = [subject]
        for case in node.cases:
            guard: list[ast.AST] = [case.guard] if case.guard else []
            test = self.node(case.pattern, *guard, after=[subject])
            ends += self.block(case.body, [test])
        return ends


def build(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) -> Graph:
    """The graph of a function's body (or of a module's top level)."""
    builder = _Builder()
    graph = builder.graph
    graph.entry = builder.node()
    graph.exit = builder.node()
    for index in builder.block(function.body, [graph.entry]):
        builder.edge(index, graph.exit)
    return graph
