"""The code cells of a notebook as one module, which is converted, and taken apart again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from json.decoder import JSONDecodeError
from pathlib import Path

from forscan.model import Refusal
from forscan.notebook.cells import Cell, code_cells, written
from forscan.syntax.parsing import check_compiles
from forscan.syntax.source import Edit, Source, SourceError, apply_edits
from forscan.types import FileResult, Outcome, Span

_MARK = "forscan-cell"
_MAGIC = re.compile(r"[ \t]*(?:[%!?]|[\w., \[\]]+=[ \t]*[%!]|[%\w.]+\?{1,2}[ \t]*$)")


def convert_notebook(
    content: bytes, path: Path, convert: Callable[[bytes], FileResult]
) -> FileResult:
    """Converts the loops in the code cells of a notebook.

    Args:
      content: the notebook.
      path: its name.
      convert: how a module is converted.

    Returns:
      As for a module; places are those in a cell, whose number the outcomes have.
    """
    try:
        source = Source.decode(content)
        text = source.text
        cells = code_cells(text)
    except (SourceError, JSONDecodeError, RecursionError) as e:
        error = Refusal("FSC901", f"this is no notebook: {e}", "Correct the file.")
        return FileResult(path, content, content, error=error)
    if not cells:
        return FileResult(path, content, content)
    module = _Module.of(cells)
    result = convert(module.text.encode())
    edits = [
        Edit(cell.start, cell.end, written(text, cell, new))
        for cell, new in zip(cells, module.taken_apart(result.after.decode()), strict=True)
        if new != cell.text
    ]
    after = source.encode(apply_edits(text, edits)) if edits else content
    return module.placed(replace(result, path=path, before=content, after=after))


@dataclass(frozen=True)
class _Module:
    """Attributes:
    cells: as they are in the notebook.
    parts: what stands for each; nothing for those that are no Python.
    firsts: the line of the module at which each part begins.
    text: the parts, with a mark above each.
    """

    cells: list[Cell]
    parts: list[str]
    firsts: list[int]
    text: str

    @staticmethod
    def of(cells: list[Cell]) -> _Module:
        parts = [_as_python(cell.text) for cell in cells]
        text, firsts = "", []
        for number, part in enumerate(parts):
            text += _mark(number)
            firsts.append(text.count("\n") + 1)
            text += part
        return _Module(cells, parts, firsts, f"{text}\n")

    def taken_apart(self, text: str) -> list[str]:
        """The sources of the cells in a converted text."""
        rest, found = text.removesuffix("\n"), []
        above, _, rest = rest.partition(_mark(0))
        for number, (cell, part) in enumerate(zip(self.cells, self.parts, strict=True)):
            new, _, rest = rest.partition(_mark(number + 1))
            found.append(cell.text if new == part else _restored(new, cell.text))
        first = next((i for i, part in enumerate(self.parts) if part), 0)
        # What goes to the top of a module goes to the top of the first cell that is Python.
        return [*found[:first], above + found[first], *found[first + 1 :]]

    def placed(self, result: FileResult) -> FileResult:
        """A result with the places of the notebook instead of those of the module."""
        return replace(
            result,
            outcomes=tuple(self._outcome(outcome, result.path) for outcome in result.outcomes),
            unused=tuple(self._named(comment) for comment in result.unused),
            error=result.error and self._named(result.error),
            texts={cell.number: cell.text for cell in self.cells},
        )

    def _outcome(self, outcome: Outcome, path: Path) -> Outcome:
        span = outcome.span
        place = self._index(span.line)
        first = self.firsts[place] - 1
        moved = Span(span.line - first, span.column, span.end_line - first, span.end_column)
        reasons = tuple(self._reason(r, place) for r in outcome.reasons)
        cell = self.cells[place].number
        return replace(outcome, file=str(path), span=moved, cell=cell, reasons=reasons)

    def _reason(self, reason: Refusal, place: int) -> Refusal:
        """A reason in another cell is told without its place."""
        if reason.line is None or self._index(reason.line) != place:
            return replace(reason, line=None, column=None)
        line = reason.line - self.firsts[place] + 1
        said = self.cells[place].text.split("\n")[line - 1].strip()
        message = reason.message
        if _MAGIC.match(said):
            message = message.replace("`exec`", f"`{said}`")
        return replace(reason, line=line, message=message)

    def _named(self, reason: Refusal) -> Refusal:
        place = self._index(reason.line or 1)
        message = f"cell {self.cells[place].number}: {reason.message}"
        line = (reason.line or 1) - self.firsts[place] + 1
        return replace(reason, message=message, line=max(line, 1))

    def _index(self, line: int) -> int:
        """The cell that a line of the module belongs to."""
        return max((i for i, first in enumerate(self.firsts) if first <= line), default=0)


def _mark(number: int) -> str:
    """Between two cells: a comment that nobody moves, and that is at no loop."""
    gap = "\n\n" if number else ""
    return f"{gap}# {_MARK} {number}\n\n"


def _as_python(text: str) -> str:
    """A cell as Python, line by line: magics act on the host, and so does what stands for them.

    A cell that is none, or that is a magic as a whole, is left out.
    """
    if text.lstrip().startswith("%%") or _MARK in text:
        return ""
    if _compiles(text):
        return text
    lines = [_stand_in(line) if _MAGIC.match(line) else line for line in text.split("\n")]
    masked = "\n".join(lines)
    return masked if _compiles(masked) else ""


def _stand_in(line: str) -> str:
    indentation = line[: len(line) - len(line.lstrip())]
    return f'{indentation}exec("{_MARK}")'


def _restored(new: str, old: str) -> str:
    """The text of a cell with its magics in place of what stood for them, in their order."""
    magics = iter(line for line in old.split("\n") if _MAGIC.match(line))
    stand_in = re.compile(rf'[ \t]*exec\("{_MARK}"\)')
    lines = (next(magics) if stand_in.fullmatch(line) else line for line in new.split("\n"))
    return "\n".join(lines)


def _compiles(text: str) -> bool:
    try:
        check_compiles(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
