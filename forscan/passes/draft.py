"""A `for` on its way to another form: the loop, and what is known around it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.lists import FilledList
from forscan.analyse.state import State
from forscan.analyse.trip_count import Extent
from forscan.analyse.use import Kind, Use
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Loop, Reading, Spelling
from forscan.syntax.fresh import Fresh
from forscan.syntax.source import Edit


@dataclass(frozen=True)
class Draft:
    """What a pass takes and gives.

    Attributes:
      site: where the loop stands.
      target: the form that is wanted, `scan` or `fori_loop`.
      loop: the loop so far.
      state: the classes of the names that it binds.
      lists: lists that it fills.
      index_uses: how the body uses the induction variable.
      trips: the normal form of the trip count.
      invented: names that a pass gave to values.
      replaced: expressions of the file for which the body has something else now.
      edits: changes in the file outside of the loop.
      assumptions: what the conversion relies on, and says.
    """

    site: Site
    target: str
    loop: Loop
    state: State
    spelling: Spelling
    lists: tuple[FilledList, ...] = ()
    index_uses: tuple[Use, ...] = ()
    trips: Extent | None = None
    invented: frozenset[str] = frozenset()
    replaced: frozenset[ast.AST] = frozenset()
    edits: tuple[Edit, ...] = ()
    assumptions: tuple[str, ...] = ()

    @classmethod
    def of_reading(cls, site: Site, target: str, reading: Reading) -> Draft:
        """A loop that was read from a `lax` call, on its way to the other one."""
        state = State((), (), (), (), (), (), frozenset(), frozenset())
        spelling = site.context.module.spelling(site.node)
        return cls(site, target, reading.loop, state, spelling, edits=reading.edits)

    @property
    def weak_index(self) -> bool:
        """Whether the induction variable meets arrays as a number."""
        if not isinstance(self.site.node, ast.For):
            return self.loop.counter is not None and not self.loop.counter.strong
        if self.loop.counter and self.loop.counter.name not in self.state.targets:
            return True  # the index went into a pair: its uses are not known
        left = (u for u in self.index_uses if u.node not in self.replaced)
        return any(u.kind in (Kind.ARITHMETIC, Kind.PASSED) for u in left)

    @property
    def context(self) -> FunctionContext:
        return self.site.context

    @property
    def fresh(self) -> Fresh:
        return self.context.fresh

    @property
    def statement(self) -> ast.For:
        assert isinstance(self.site.node, ast.For)
        return self.site.node

    def with_loop(self, **changes: object) -> Draft:
        return replace(self, loop=replace(self.loop, **changes))  # type: ignore[arg-type]
