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
from dataclasses import dataclass, field
from functools import cached_property

from forscan.refusal import Refusal
from forscan.syntax.source import Source, SourceError

_SKIP_FILE = re.compile(r"#\s*forscan:\s*skip-file\b")
_IGNORE = re.compile(r"#\s*forscan:\s*ignore\b(?:\[([^\]]*)\])?", re.I)
# As flake8 and ruff read it: codes of any tool up to the first word that is none.
_NOQA = re.compile(r"#\s*noqa\s*:\s*([A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)", re.I)
_CODE = re.compile(r"FSC\d+", re.I)


def skips_file(content: bytes) -> bool:
    """Whether a comment says to pass over the file, which need not be valid Python."""
    if b"skip-file" not in content:
        return False
    try:
        text = Source.decode(content).text
    except SourceError:
        text = content.decode("latin-1")
    return any(_SKIP_FILE.search(comment.string) for comment in _comments(text))


@dataclass
class _Comment:
    """A comment that suppresses codes.

    Attributes:
      line, column: where it stands, from 1.
      listed: the codes that it lists; None where it means all.
      ours: whether forscan alone reads it, and not other linters as well.
      judged: whether it stands at a loop that was looked at, or at no loop.
      used: the codes that it has suppressed.
    """

    line: int
    column: int
    listed: frozenset[str] | None
    ours: bool
    judged: bool = True
    used: set[str] = field(default_factory=set)

    def covers(self, code: str) -> bool:
        return self.listed is None or code in self.listed


@dataclass
class Suppressed:
    """What is suppressed at one loop."""

    comments: list[_Comment]

    def covers(self, code: str) -> bool:
        """Whether a code is suppressed there, which is noted."""
        found = [comment for comment in self.comments if comment.covers(code)]
        for comment in found:
            comment.used.add(code)
        return bool(found)

    def leave(self) -> None:
        """Nobody has looked at the loop: whether its comments are of use is not known."""
        for comment in self.comments:
            comment.judged = False


class Suppressions:
    """The comments of one file that suppress codes."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def at(self, first: int, *more: int) -> Suppressed:
        """What is suppressed at a loop.

        The comment stands on one of the lines, or in the block of comments directly above
        the first one.
        """
        if not self._comments:
            return Suppressed([])
        lines = {first, *more}
        while self._is_comment(first - 1):
            first -= 1
            lines.add(first)
        return Suppressed([c for c in self._comments if c.line in lines])

    def unused(self) -> Iterator[Refusal]:
        """The comments of forscan's own that suppress nothing, or a code in vain."""
        for comment in self._comments:
            vain = sorted(c for c in (comment.listed or frozenset()) - comment.used if _is_sure(c))
            if not (comment.ours and comment.judged) or (comment.used and not vain):
                continue
            if comment.listed is not None and not vain:
                continue
            what = ", ".join(vain) or "anything"
            message = f"this comment does not suppress {what} here"
            help = "Remove the comment, or the code from its list."
            yield Refusal("FSC903", message, help, comment.line, comment.column)

    def _is_comment(self, line: int) -> bool:
        return line > 0 and self.source.line(line).lstrip().startswith("#")

    @cached_property
    def _comments(self) -> list[_Comment]:
        text = self.source.text
        if not _IGNORE.search(text) and not (_NOQA.search(text) and _CODE.search(text)):
            return []
        return [c for token in _comments(self.source.text) for c in _suppressing(token)]


def _is_sure(code: str) -> bool:
    """Whether a code would be reported whatever form a run asks for."""
    return not code.startswith(("FSC102", "FSC105", "FSC5"))


def _suppressing(token: tokenize.TokenInfo) -> Iterator[_Comment]:
    line, column = token.start[0], token.start[1] + 1
    for match in _IGNORE.finditer(token.string):
        listed = None if match.group(1) is None else frozenset(_listed(match.group(1)))
        yield _Comment(line, column, listed, ours=True)
    for match in _NOQA.finditer(token.string):
        yield _Comment(line, column, frozenset(_listed(match.group(1))), ours=False)


def _listed(codes: str) -> list[str]:
    return [code.upper() for code in _CODE.findall(codes)]


def _comments(text: str) -> Iterator[tokenize.TokenInfo]:
    """The comments; in a text that is not Python those before the fault."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")  # what the tokenizer takes for a line
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(plain).readline):
            if token.type == tokenize.COMMENT:
                yield token
