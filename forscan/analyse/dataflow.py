"""Gen/kill problems on a control-flow graph, solved by one worklist."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from forscan.analyse.cfg import Graph, Node

Names = frozenset[str]
Facts = TypeVar("Facts", Names, int)  # a set, or the bits of one


def solve(
    graph: Graph,
    transfer: Callable[[Node, Facts], Facts],
    *,
    backward: bool,
    must: bool = False,
    start: Facts,
    universe: Facts,
) -> list[Facts]:
    """The facts before each node, in program order.

    Args:
      graph: the control-flow graph.
      transfer: facts on the far side of a node from those on its near side.
      backward: facts flow against the edges.
      must: meet by intersection (all paths) and not by union (some path).
      start: the facts at the entry, or at the exit when backward.
      universe: all facts, the neutral value of the intersection; none for a union.
    """
    count = len(graph.nodes)
    near, far = [universe] * count, [universe] * count
    origin = graph.exit if backward else graph.entry
    work = list(range(count)) if backward else list(range(count - 1, -1, -1))
    waiting = [True] * count
    while work:
        index = work.pop()
        waiting[index] = False
        node = graph.nodes[index]
        facts = [far[s] for s in (node.successors if backward else node.predecessors)]
        if index == origin:
            facts.append(start)
        met = facts[0] if facts else universe
        for other in facts[1:]:
            met = met & other if must else met | other
        near[index] = met
        new = transfer(node, met)
        if new != far[index]:
            far[index] = new
            for next_ in node.predecessors if backward else node.successors:
                if not waiting[next_]:
                    waiting[next_] = True
                    work.append(next_)
    return far if backward else near


class NameSets:
    """A set of names for each node of a graph, kept as bits until somebody asks for it."""

    def __init__(self, graph: Graph, rest: Names) -> None:
        """The sets of nodes that have no such names but the rest, which all of them have."""
        activities = [node.activity for node in graph.nodes]
        names = dict.fromkeys(n for a in activities for part in (a.reads, a.binds) for n in part)
        self.names = list(names)
        self.rest = rest.difference(names)
        self.sets = [0] * len(graph.nodes)
        self._bits = {name: 1 << position for position, name in enumerate(self.names)}
        self._asked: dict[int, Names] = {}

    def bits(self, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            found |= self._bits.get(name, 0)
        return found

    def __getitem__(self, node: int) -> Names:
        if node not in self._asked:
            bits = self.sets[node]
            self._asked[node] = self.rest.union(n for n in self.names if self._bits[n] & bits)
        return self._asked[node]


def live_names(graph: Graph, always: Names) -> NameSets:
    """For each node the names that may be read from here before they are written.

    Args:
      graph: the control-flow graph.
      always: names that a closure may read at any time.
    """
    found = NameSets(graph, always)
    start = found.bits(always)
    read, kept = [], []
    for node in graph.nodes:
        read.append(found.bits(node.activity.exposed) | start)
        kept.append(~found.bits((*node.activity.binds, *node.activity.deletes)))

    def transfer(node: Node, after: int) -> int:
        return after & kept[node.index] | read[node.index]

    found.sets = solve(graph, transfer, backward=True, start=start, universe=0)
    return found


def bound_names(graph: Graph, start: Names, universe: Names) -> NameSets:
    """For each node the names that are surely bound when it is reached."""
    found = NameSets(graph, start)
    bound, kept = [], []
    for node in graph.nodes:
        deleted = found.bits(node.activity.deletes)
        bound.append(found.bits(node.activity.binds) & ~deleted)
        kept.append(~deleted)

    def transfer(node: Node, before: int) -> int:
        return before & kept[node.index] | bound[node.index]

    found.sets = solve(
        graph,
        transfer,
        backward=False,
        must=True,
        start=found.bits(start),
        universe=found.bits(universe),
    )
    return found
