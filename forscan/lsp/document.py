"""One version of a text in an editor: its loops, and what becomes of each."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from forscan.api import Tentative, convert_bytes, convert_tentatively
from forscan.chosen import LOOPS
from forscan.config import Config
from forscan.find.module import parse_module
from forscan.find.sites import Site, find_sites
from forscan.prefilter import is_quiet
from forscan.syntax.source import Source, SourceError
from forscan.types import FileResult, Outcome, Selection


@dataclass(frozen=True)
class Place:
    """Where a loop stands.

    Attributes:
      form: `for`, `scan` or `fori_loop`.
      line, column: its start, from 1.
      end_line: its last line.
      statement: the first line of the statement that holds it.
      head: offsets of the part that a diagnostic underlines.
    """

    form: str
    line: int
    column: int
    end_line: int
    statement: int
    head: tuple[int, int]


@dataclass(frozen=True)
class Change:
    """What one conversion of one loop comes to.

    Attributes:
      outcome: what was decided; None where the loop has the form and style already.
      text: the whole text behind it.
    """

    outcome: Outcome | None
    text: str


class Document:
    """A text and what is known of it, found when it is asked for and kept.

    Attributes:
      text: as it stands in the editor, saved or not.
      path: the file that it belongs to.
      config: the settings for that file.
    """

    def __init__(self, text: str, path: Path, config: Config) -> None:
        self.text = text
        self.path = path
        self.config = config
        self._offers: dict[tuple[Place, Config], Tentative] = {}
        self._changes: dict[tuple[Place, Config], Change] = {}

    @cached_property
    def source(self) -> Source:
        """The text as the core reads it; empty where it is no text that a file can hold."""
        try:
            return Source.decode(self._content)
        except SourceError:
            return Source("")

    @cached_property
    def _content(self) -> bytes:
        return _encoded(self.text)

    @cached_property
    def checked(self) -> FileResult:
        """What `forscan check` says."""
        return convert_bytes(self._content, self.path, self.config).tried().quiet()

    @cached_property
    def loops(self) -> list[Place]:
        """All loops, in order; none where the text does not parse or speaks of no loop."""
        try:
            if is_quiet(self._content, self.path, replace(self.config, to="for")):
                return []
            module = parse_module(self.source, self.config.traced, self.config.everything)
        except (SourceError, RecursionError):
            return []
        return [_place(site) for site in find_sites(module, LOOPS)]

    def at(self, line: int) -> Place | None:
        """The innermost loop around a line, which counts from 1."""
        around = [p for p in self.loops if p.statement <= line <= p.end_line]
        return around[-1] if around else None

    def outcome(self, place: Place, to: str, **style: str) -> Outcome | None:
        """What a change comes to if its text passes the self-check, which waits until then.

        Args:
          place: one of `loops`.
          to: `scan`, `fori` or `for`.
          style: `body` or `params`.
        """
        return _of_place(self._offer(place, self._styled(to, style)).outcomes, place)

    def change(self, place: Place, to: str, **style: str) -> Change:
        """What becomes of a loop in another form or style; the text has passed the self-check."""
        key = (place, self._styled(to, style))
        if key not in self._changes:
            result = self._offer(*key).checked()
            outcome = _of_place(result.outcomes, place)
            after = self.text if outcome is None else Source.decode(result.after).text
            self._changes[key] = Change(outcome, after)
        return self._changes[key]

    def _styled(self, to: str, style: dict[str, str]) -> Config:
        return replace(self.config, to=to, unroll=None, **style)  # type: ignore[arg-type]

    def _offer(self, place: Place, config: Config) -> Tentative:
        key = (place, config)
        if key not in self._offers:
            selection = Selection(line=place.line)
            found = convert_tentatively(self._content, self.path, config, selection)
            self._offers[key] = found
        return self._offers[key]


def _of_place(outcomes: tuple[Outcome, ...], place: Place) -> Outcome | None:
    span = (place.line, place.column)
    return next((o for o in outcomes if (o.span.line, o.span.column) == span), None)


def _place(site: Site) -> Place:
    source, node = site.context.source, site.node
    line, column = source.position(site.start)
    shown = node.iter if isinstance(node, ast.For) else node.func
    assert node.end_lineno is not None
    head = (site.start, source.end(shown))
    return Place(site.form, line, column, node.end_lineno, site.statement.lineno, head)


def _encoded(text: str) -> bytes:
    """The bytes that an editor would write; those of UTF-8 where it could not."""
    plain = text.encode("utf-8", errors="surrogatepass")
    try:
        return text.encode(tokenize.detect_encoding(io.BytesIO(plain).readline)[0])
    except (SyntaxError, UnicodeError, LookupError):
        return plain
