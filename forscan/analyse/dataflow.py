"""Gen/kill problems on a control-flow graph, solved by one worklist."""

from __future__ import annotations

from collections.abc import Callable

from forscan.analyse.cfg import Graph, Node

Names = frozenset[str]


def solve(
    graph: Graph,
    transfer: Callable[[Node, Names], Names],
    *,
    backward: bool,
    must: bool = False,
    start: Names = frozenset(),
    universe: Names = frozenset(),
) -> tuple[list[Names], list[Names]]:
    """The facts before and after each node, in program order.

    Args:
      graph: the control-flow graph.
      transfer: facts on the far side of a node from those on its near side.
      backward: facts flow against the edges.
      must: meet by intersection (all paths) and not by union (some path).
      start: the facts at the entry, or at the exit when backward.
      universe: all facts, the neutral value of the intersection.
    """
    count = len(graph.nodes)
    near: list[Names] = [universe if must else frozenset()] * count
    far: list[Names] = [universe if must else frozenset()] * count
    origin = graph.exit if backward else graph.entry
    work = list(range(count)) if backward else list(range(count - 1, -1, -1))
    while work:
        index = work.pop()
        node = graph.nodes[index]
        sources = node.successors if backward else node.predecessors
        facts = [far[s] for s in sources] + ([start] if index == origin else [])
        if facts:
            met = facts[0]
            for other in facts[1:]:
                met = met & other if must else met | other
        else:
            met = universe if must else frozenset()
        new = transfer(node, met)
        near[index] = met
        if new != far[index]:
            far[index] = new
            work += node.predecessors if backward else node.successors
    return (far, near) if backward else (near, far)


def live_names(graph: Graph, always: Names) -> list[Names]:
    """For each node the names that may be read from here before they are written.

    Args:
      graph: the control-flow graph.
      always: names that a closure may read at any time.
    """

    def transfer(node: Node, after: Names) -> Names:
        found = node.activity
        written = frozenset(found.binds) | frozenset(found.deletes)
        return (after - written) | frozenset(found.exposed) | always

    before, _ = solve(graph, transfer, backward=True, start=always)
    return before


def bound_names(graph: Graph, start: Names, universe: Names) -> list[Names]:
    """For each node the names that are surely bound when it is reached."""

    def transfer(node: Node, before: Names) -> Names:
        found = node.activity
        return (before | frozenset(found.binds)) - frozenset(found.deletes)

    before, _ = solve(graph, transfer, backward=False, must=True, start=start, universe=universe)
    return before
