"""What the rewritings of a `for` into another `for` have in common."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from forscan.analyse.carries import Carries
from forscan.analyse.state import State, carries_of, state_of
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.readers.for_text import colon_line, region
from forscan.syntax.code import Code, indent, suite
from forscan.syntax.names import dotted, in_body
from forscan.syntax.source import Edit, apply_edits
from forscan.syntax.walk import walk


@dataclass(frozen=True)
class Reshaped:
    """A loop written as another, which is to be converted in its place.

    Attributes:
      edit: the change of the file.
      start: where the `for` stands in the changed file.
      peeled: whether its first iteration stands in front of it.
      inner: the header of a loop inside that the file did not have, empty where there is none.
    """

    edit: Edit
    start: int
    peeled: bool = False
    inner: str = ""


@dataclass
class LoopText:
    """A `for` and its texts.

    Attributes:
      site: the loop.
    """

    site: Site

    @property
    def node(self) -> ast.For:
        assert isinstance(self.site.node, ast.For)
        return self.site.node

    @property
    def context(self) -> FunctionContext:
        return self.site.context

    @cached_property
    def state(self) -> State:
        return state_of(self.node, self.context)

    @property
    def indentation(self) -> str:
        return self.context.source.indentation(self.context.source.start(self.node))

    @cached_property
    def carries(self) -> Carries:
        return carries_of(self.node, self.state, self.context)

    @cached_property
    def header_line(self) -> int:
        """The line of the colon that ends the header."""
        return colon_line(self.context.source, self.node)

    @cached_property
    def header(self) -> str:
        """`for … in …:`, as it is in the file."""
        source = self.context.source
        start = source.start(self.node)
        line_end = source.line_end(source.line_starts[self.header_line - 1])
        first = source.start(self.node.body[0])
        return re.sub(r"\r\n?", "\n", source.text[start : min(line_end, first)]).rstrip()

    @cached_property
    def body(self) -> Code:
        return suite(self.context.source, self.node.body, self.header_line)

    @cached_property
    def index(self) -> str | None:
        """The name of the induction variable, where the loop has one."""
        call, target = self.node.iter, self.node.target
        while isinstance(call, ast.Call) and self.context.resolve(call.func) == "reversed":
            call = call.args[0]
        if not isinstance(call, ast.Call):
            return None
        path = self.context.resolve(call.func)
        if path == "range" and isinstance(target, ast.Name):
            return target.id
        if path == "enumerate" and isinstance(target, ast.Tuple):
            first = target.elts[0]
            return first.id if isinstance(first, ast.Name) else None
        if path == "zip" and isinstance(target, ast.Tuple):
            for item, part in zip(target.elts, call.args, strict=False):
                if isinstance(part, ast.Call) and self.context.resolve(part.func) == "range":
                    return item.id if isinstance(item, ast.Name) else None
        return None

    @cached_property
    def changes_its_range(self) -> bool:
        """Whether an iteration binds a name of what is iterated: later that means something else.

        Of a length it does not count: the state of a scan keeps its shape.
        """
        lengths = {
            part.value if isinstance(part, ast.Attribute) else part.args[0]
            for part in walk(self.node.iter)
            if (isinstance(part, ast.Attribute) and part.attr == "shape")
            or (isinstance(part, ast.Call) and dotted(part.func) == "len" and part.args)
        }
        parts = (n for n in walk(self.node.iter) if isinstance(n, ast.Name) and n not in lengths)
        return not {n.id for n in parts}.isdisjoint(in_body(self.node).binds)

    def replaced(self, text: str, start: int, elsewhere: Sequence[Edit] = ()) -> Reshaped:
        """The loop replaced by a text whose `for` stands at an offset of it.

        Args:
          text: statements at indentation zero.
          start: the offset of the `for` in the text.
          elsewhere: further changes of the file, outside of the loop.
        """
        line, end = region(self.site)
        newline = self.context.source.newline_near(line)
        whole = indent(text, self.indentation).replace("\n", newline)
        lines = text[:start].count("\n")
        shift = len(self.indentation) * (lines + 1) + lines * (len(newline) - 1)
        blank = sum(not s.strip() for s in text[:start].split("\n")[:-1])
        shift -= blank * len(self.indentation)
        edit = Edit(line, end, whole)
        shift += sum(len(e.new) - (e.end - e.start) for e in elsewhere if e.end <= line)
        return Reshaped(self._joined([*elsewhere, edit]), line + start + shift)

    def _joined(self, edits: list[Edit]) -> Edit:
        """One edit that does them all."""
        low, high = min(e.start for e in edits), max(e.end for e in edits)
        text = self.context.source.text[low:high]
        inside = [Edit(e.start - low, e.end - low, e.new) for e in edits]
        return Edit(low, high, apply_edits(text, inside))
