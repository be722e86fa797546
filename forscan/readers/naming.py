"""Names for the variables of a body that becomes part of the function around it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from forscan.find.sites import Site
from forscan.readers.body import Body
from forscan.syntax.code import expression
from forscan.syntax.names import binds, free_names, parameters, walk_scope
from forscan.syntax.walk import walk, walk_all

_STARTS = ("init", "start", "first", "zero", "ones", "empty")


class CannotRename(Exception):
    """A variable must get another name, and is bound by more than assignments."""


class Naming:
    """Chooses names so that nothing around the loop is disturbed.

    Args:
      site: the call.
      body: its body, under its own names.
      sources: names that are read when the loop begins, after its start values are set.
      after: names that the rest of the statement reads.
      written: names that get their value right behind the loop.
    """

    def __init__(
        self,
        site: Site,
        body: Body,
        function: ast.expr,
        sources: Iterable[str],
        after: Iterable[str],
        written: Iterable[str],
    ) -> None:
        self.context = site.context
        self.body = body
        self.sources = set(sources)
        self.written = set(written)
        gone = body.definition or function
        inside = set(walk(gone))
        self.foreign = self._foreign(inside)
        self.captured, self.captured_later = self._captured(site, inside)
        self.live = self._live_after(site) | set(after)
        self.chosen: dict[str, str] = {}

    def _captured(self, site: Site, inside: set[ast.AST]) -> tuple[set[str], set[str]]:
        """Names that other functions read, and those that only functions behind the loop do."""
        end = site.statement.end_lineno or site.statement.lineno
        around = self.context.parent(site.statement) is not self.context.node
        earlier: set[str] = set()
        later: set[str] = set()
        for name, functions in self.context.captured.items():
            others = [f for f in functions if f not in inside]
            if any(around or getattr(f, "lineno", 0) <= end for f in others):
                earlier.add(name)
            elif others:
                later.add(name)
        return earlier, later

    def _foreign(self, inside: set[ast.AST]) -> set[str]:
        """Names that the function reads from around it: they must not become its own."""
        context = self.context
        own = set(parameters(context.node)) if not isinstance(context.node, ast.Module) else set()
        read: set[str] = set()
        for node in walk_scope(context.node.body):
            if node in inside:
                continue
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else own).add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                read.update(free_names(node))
                own.update([] if isinstance(node, ast.Lambda) else [node.name])
        return (read - own) | context.outside

    def _live_after(self, site: Site) -> set[str]:
        if isinstance(self.context.node, ast.Module):  # others may read what a module has
            return set(binds(self.context.node.body))
        graph = self.context.graph
        found: set[str] = set()
        for successor in graph.nodes[graph.statements[site.statement]].successors:
            found |= self.context.live[successor]
        return found

    def clashes(self, name: str, start: ast.expr | None = None) -> bool:
        """Whether giving a value to a name would be seen by other code.

        Args:
          name: the name.
          start: what the name begins with: under its own name nothing changes.
        """
        if name in self.foreign or name in self.captured:
            return True
        own = isinstance(start, ast.Name) and start.id == name
        if name in self.sources and not own:
            return True
        return name in self.live | self.captured_later and name not in self.written

    def choose(
        self, name: str, wishes: Sequence[str | None] = (), start: ast.expr | None = None
    ) -> None:
        """Gives a variable of the body the first of the wished names that is free."""
        for wish in dict.fromkeys([*wishes, name]):
            if wish is None or not wish.isidentifier() or wish in self.chosen.values():
                continue
            if wish != name and (wish == "_" or wish in self.body.names):
                continue
            if not self.clashes(wish, start):
                break
        else:
            stem = name.rstrip("_") or name
            wish = self.context.fresh.name(f"{stem}_i" if len(name) > 1 else name, f"{stem}_in")
        if wish != name:
            self._check(name)
        self.chosen[name] = wish

    def _check(self, name: str) -> None:
        for node in walk_all(self.body.code.statements):
            other = (
                isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler)
                and node.name == name
            )
            imported = isinstance(node, ast.alias) and (node.asname or node.name) == name
            if other or imported:
                raise CannotRename(name)


def names_in(text: str | None) -> list[str]:
    """The names in an expression or pattern."""
    if text is None:
        return []
    return [n.id for n in walk(expression(text)) if isinstance(n, ast.Name)]


def is_start(name: str) -> bool:
    """Whether a name speaks of the start only, so that no loop should change it."""
    return name.startswith(_STARTS) or name.endswith(("0", "_init", "_start"))
