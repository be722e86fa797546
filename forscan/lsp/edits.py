"""Positions as an editor counts them, and the edits from one text to another."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from lsprotocol import types as lsp

from forscan.syntax.source import Text

_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """The places of one text, in the units that were agreed on with the editor.

    Lines end where the protocol says, which is where Python's do; other characters that
    `str.splitlines` takes for an end of line are part of one here.
    """

    def __init__(self, text: Text, encoding: str) -> None:
        self.text = text
        self._codec, self._width = _WIDTHS[encoding]

    def of(self, offset: int) -> lsp.Position:
        """The position of an offset."""
        line, column = self.text.position(offset)
        before = self.text.text[offset - column + 1 : offset]
        units = len(before.encode(self._codec, errors="surrogatepass")) // self._width
        return lsp.Position(line - 1, units)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.of(start), self.of(end))

    def point(self, line: int, column: int) -> lsp.Range:
        """An empty range at a line and a column that count characters, from 1."""
        offset = self.text.at(line, column)
        return self.range(offset, offset)


def text_edits(positions: Positions, after: str) -> list[lsp.TextEdit]:
    """The edits that turn the text into another one; lines that stay are left alone."""
    old, new = _lines(positions.text), _lines(Text(after))
    starts = [*positions.text.line_starts, len(positions.text.text)]
    return [
        lsp.TextEdit(positions.range(starts[a], starts[b]), "".join(new[c:d]))
        for a, b, c, d in _hunks(old, new)
    ]


def _lines(text: Text) -> list[str]:
    return [text.line(number) for number in range(1, len(text.line_starts) + 1)]


def _hunks(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """The ranges of lines that differ; what both begin and end with is passed over first."""
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    if first is None:
        first = min(len(old), len(new)) - 1
    most = min(len(old), len(new)) - first - 1
    last = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield first + i, first + j, first + k, first + m
