"""Comments that tell forscan to leave something alone.

`# forscan: ignore` at a loop, `# forscan: ignore[FSC301]` and `# noqa: FSC301` for what
they name, `# forscan: skip-file` anywhere in a file. Only comments count: the same words
in a string are a string.
"""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cached_property

from forscan.diagnostics.codes import REGISTRY
from forscan.syntax.source import Source, SourceError

_SKIP_FILE = re.compile(r"#\s*forscan:\s*skip-file\b")
_IGNORE = re.compile(r"#\s*forscan:\s*ignore\b(?:\[([^\]]*)\])?", re.I)
# As flake8 and ruff read it: codes of any tool up to the first word that is none.
_NOQA = re.compile(r"#\s*noqa\s*:\s*([A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)", re.I)
_CODE = re.compile(r"FSC\d+", re.I)
_ALL = frozenset(REGISTRY)


def skips_file(content: bytes) -> bool:
    """Whether a comment says to pass over the file, which need not be valid Python."""
    if b"skip-file" not in content:
        return False
    try:
        text = Source.decode(content).text
    except SourceError:
        text = content.decode("latin-1")
    return any(_SKIP_FILE.search(comment.string) for comment in _comments(text))


class Suppressions:
    """The comments of one file that suppress codes."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def at(self, first: int, *more: int) -> frozenset[str]:
        """The codes that are suppressed at a loop.

        The comment stands on one of the lines, or in the block of comments directly above
        the first one.
        """
        if not self._codes:
            return frozenset()
        lines = {first, *more}
        while first - 1 in self._codes and self._is_comment(first - 1):
            first -= 1
            lines.add(first)
        return frozenset().union(*(self._codes.get(line, ()) for line in lines))

    def _is_comment(self, line: int) -> bool:
        return self.source.line(line).lstrip().startswith("#")

    @cached_property
    def _codes(self) -> dict[int, frozenset[str]]:
        """Line of each comment -> what it suppresses; empty where none suppresses anything."""
        if not (_IGNORE.search(self.source.text) or _NOQA.search(self.source.text)):
            return {}
        return {c.start[0]: _suppressed(c.string) for c in _comments(self.source.text)}


def _suppressed(comment: str) -> frozenset[str]:
    """The codes that a comment suppresses: those it lists, or all."""
    found: set[str] = set()
    for match in _IGNORE.finditer(comment):
        if match.group(1) is None:
            return _ALL
        found.update(_listed(match.group(1)))
    for match in _NOQA.finditer(comment):
        found.update(_listed(match.group(1)))
    return frozenset(found)


def _listed(codes: str) -> list[str]:
    return [code.upper() for code in _CODE.findall(codes)]


def _comments(text: str) -> Iterator[tokenize.TokenInfo]:
    """The comments; in a text that is not Python those before the fault."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")  # what the tokenizer takes for a line
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(plain).readline):
            if token.type == tokenize.COMMENT:
                yield token
