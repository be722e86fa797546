"""Bytes of a Python file as text with exact positions, and back to bytes.

All positions are offsets into the text, which keeps its newlines as they are in
the file: whatever is not edited comes back byte for byte.
"""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from forscan.syntax.parsing import check_compiles, parse

_NEWLINE = re.compile(r"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class SourceError(Exception):
    """The file cannot be read as Python source; carries a 1-based line and column."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Text:
    """A text whose `ast` positions can be turned into offsets."""

    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        if "\r" in self.text:
            return [0, *(m.end() for m in _NEWLINE.finditer(self.text))]
        lengths = [len(line) + 1 for line in self.text.split("\n")]
        return [0, *accumulate(lengths[:-1])]

    def line(self, number: int) -> str:
        """The line of that 1-based number, with its newline."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end]

    def offset(self, line: int, column: int) -> int:
        """The offset of an `ast` position: 1-based line, column in UTF-8 bytes."""
        start = self.line_starts[line - 1]
        head = self.line(line)
        if not head.isascii():
            column = len(head.encode()[:column].decode(errors="ignore"))
        return start + column

    def position(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column, in characters, of an offset."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def at(self, line: int, column: int) -> int:
        """The offset of a 1-based line and column, in characters."""
        return self.line_starts[line - 1] + column - 1

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The source of a node; a walrus has its brackets, which it needs anywhere else."""
        text = self.text[self.start(node) : self.end(node)]
        return f"({text})" if isinstance(node, ast.NamedExpr) else text

    def line_start(self, offset: int) -> int:
        """The start of the line that holds the offset."""
        return self.line_starts[bisect.bisect_right(self.line_starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """The end of the line that holds the offset, without its newline."""
        match = _NEWLINE.search(self.text, offset)
        return match.start() if match else len(self.text)

    def next_line(self, offset: int) -> int:
        """The start of the line after the one that holds the offset."""
        match = _NEWLINE.search(self.text, offset)
        return match.end() if match else len(self.text)

    def indentation(self, offset: int) -> str:
        """The white space at the start of the line that holds the offset."""
        head = self.text[self.line_start(offset) : offset]
        return head[: len(head) - len(head.lstrip(" \t\f"))]

    def parse(self) -> ast.Module:
        """The syntax tree.

        Raises:
          SourceError: the text is not Python that this interpreter can parse.
        """
        try:
            return self._tree
        except SyntaxError as e:
            raise SourceError(f"syntax error: {e.msg}", e.lineno or 1, e.offset or 1) from None
        except ValueError as e:
            raise SourceError(str(e)) from None
        except (RecursionError, MemoryError):
            raise SourceError("the code is nested too deeply") from None

    @cached_property
    def _tree(self) -> ast.Module:
        """The tree is asked for several times, and nobody changes it."""
        return parse(self.text)

    def tokens(self) -> list[tokenize.TokenInfo]:
        """All tokens; an empty list where the tokenizer gives up.

        It takes "\\n" alone for the end of a line; Python itself reads the others as that.
        """
        try:
            lines = io.StringIO(self.text, newline=None)
            return list(tokenize.generate_tokens(lines.readline))
        except (tokenize.TokenError, SyntaxError):
            return []

    def comments(self) -> list[str]:
        """The comments; all that looks like one where the tokenizer gives up."""
        if "#" not in self.text:
            return []
        tokens = self.tokens()
        if not tokens:
            return re.findall(r"#[^\r\n]*", self.text)
        return [t.string for t in tokens if t.type == tokenize.COMMENT]


@dataclass(frozen=True)
class Edit:
    """Replace `text[start:end]` by `new`."""

    start: int
    end: int
    new: str


def apply_edits(text: str, edits: list[Edit]) -> str:
    """The text after all edits, which may touch but not overlap."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < done:
            raise ValueError("edits overlap")
        parts += [text[done : edit.start], edit.new]
        done = edit.end
    return "".join([*parts, text[done:]])


@dataclass(frozen=True)
class Source(Text):
    """The decoded text of one file, with what is needed to encode it again.

    Attributes:
      authored: the text of its author, where this one is on its way to another.
    """

    encoding: str = "utf-8"
    bom: bytes = b""
    authored: str | None = None

    @classmethod
    @lru_cache(maxsize=4)  # so that a file that is asked about twice is parsed once
    def decode(cls, data: bytes) -> Source:
        """Raises SourceError when the bytes are not text in their declared encoding."""
        bom = _BOM if data.startswith(_BOM) else b""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            encoding = "utf-8" if bom else encoding
            text = data[len(bom) :].decode(encoding)
            source = cls(text, encoding, bom)
            same = source.encode(text) == data
        except (SyntaxError, UnicodeError, LookupError) as e:
            reason = e.msg if isinstance(e, SyntaxError) else str(e)
            raise SourceError(f"cannot be decoded: {reason}") from None
        if not same:
            raise SourceError("decoding and encoding does not give the same bytes")
        return source

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.encoding)

    def as_there(self, new: str, offset: int) -> str:
        """New text with the ends of lines of the line that holds the offset."""
        return _NEWLINE.sub(self.newline_near(offset), new)

    def newline_near(self, offset: int) -> str:
        """The newline of the line that holds the offset: new lines follow it."""
        match = _NEWLINE.search(self.text, offset) or _NEWLINE.search(self.text)
        return match.group() if match else "\n"


@lru_cache(maxsize=4)
def compiled(source: Source, interactive: bool = False) -> ast.Module:
    """The tree of a file that compiles, which asks for more than parsing does.

    Args:
      source: the file.
      interactive: whether it is made of the cells of a notebook.

    Raises:
      SourceError: it is no module that Python would import.
    """
    try:
        tree = source.parse()
        check_compiles(tree, interactive=interactive)
        return tree
    except SyntaxError as e:
        raise SourceError(f"syntax error: {e.msg}", e.lineno or 1, e.offset or 1) from None
    except ValueError as e:
        raise SourceError(str(e)) from None
