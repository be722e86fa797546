"""The code cells of a notebook as one module, which is converted, and taken apart again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from json.decoder import JSONDecodeError
from pathlib import Path

from forscan.model import Refusal
from forscan.notebook.cells import Cell, code_cells, lines_in_file, written
from forscan.notebook.magics import MARK, Part, as_python
from forscan.syntax.source import Edit, Source, SourceError, apply_edits
from forscan.types import FileResult, Outcome, Selection, Span


def convert_notebook(
    content: bytes,
    path: Path,
    selections: tuple[Selection, ...],
    convert: Callable[[bytes, tuple[Selection, ...]], FileResult],
    passed_over: Callable[[bytes], bool],
) -> FileResult:
    """Converts the loops in the code cells of a notebook.

    Args:
      content: the notebook.
      path: its name.
      selections: which loops; those of all cells without any.
      convert: how the loops of a module that are meant are converted.
      passed_over: whether a module is not looked at; of one that is not, nobody says what is
        wrong with a cell.

    Returns:
      As for a module; places are those in a cell, whose number the outcomes have. A cell that
      cannot be parsed is an error, and the others are done all the same.
    """
    try:
        source = Source.decode(content)
        cells = code_cells(source.text)
    except (SourceError, JSONDecodeError, RecursionError) as e:
        return FileResult(path, content, content, error=_no_notebook(e))
    module = _Module.of(cells)
    missing = tuple(said for s in selections if (said := module.missing(s, path)))
    if not cells:
        return FileResult(path, content, content, missing=missing)
    chosen = tuple(module.selection(s, source.text) for s in selections)
    result = convert(module.text.encode(), chosen)
    result = replace(result, missing=(*missing, *result.missing))
    edits = [
        Edit(cell.start, cell.end, written(source.text, cell, new))
        for cell, new in zip(cells, module.taken_apart(result.after.decode()), strict=True)
        if new != cell.text
    ]
    after = source.encode(apply_edits(source.text, edits)) if edits else content
    result = module.placed(replace(result, path=path, before=content, after=after))
    if result.error is None and not passed_over(_whole(cells)):
        result = replace(result, error=module.error())
    return result


def fault_of(content: bytes) -> Refusal | None:
    """What is wrong with a notebook, or with its cells."""
    try:
        cells = code_cells(Source.decode(content).text)
    except (SourceError, JSONDecodeError, RecursionError) as e:
        return _no_notebook(e)
    return _Module.of(cells).error()


def _no_notebook(error: Exception) -> Refusal:
    return Refusal("FSC901", f"this is no notebook: {error}", "Correct the file.")


def _whole(cells: list[Cell]) -> bytes:
    """The text of all cells, for a look at the words in it."""
    return "\n".join(cell.text for cell in cells).encode(errors="replace")


@dataclass(frozen=True)
class _Module:
    """Attributes:
    cells: as they are in the notebook.
    parts: what stands for each.
    firsts: the line of the module at which each part begins.
    text: the parts, with a mark above each.
    """

    cells: list[Cell]
    parts: list[Part]
    firsts: list[int]
    text: str

    @staticmethod
    def of(cells: list[Cell]) -> _Module:
        parts: list[Part] = []
        for cell in cells:
            parts.append(as_python(cell.text, later=any(part.text for part in parts)))
        text, firsts = "", []
        for number, part in enumerate(parts):
            text += _mark(number)
            firsts.append(text.count("\n") + 1)
            text += part.text
        return _Module(cells, parts, firsts, f"{text}\n")

    def taken_apart(self, text: str) -> list[str]:
        """The sources of the cells in a converted text."""
        rest, found = text.removesuffix("\n"), []
        above, _, rest = rest.partition(_mark(0))
        for number, (cell, part) in enumerate(zip(self.cells, self.parts, strict=True)):
            new, _, rest = rest.partition(_mark(number + 1))
            found.append(cell.text if new == part.text else part.restored(new))
        first = next((i for i, part in enumerate(self.parts) if part.text), 0)
        # What goes to the top of a module goes to the top of the first cell that is Python.
        return [*found[:first], above + found[first], *found[first + 1 :]]

    def missing(self, selection: Selection, path: Path) -> str:
        """What is not there of the cell that a selection names, in words."""
        place = self._place(selection)
        if selection.cell is not None and place is None:
            return f"no code cell {selection.cell} in {path}"
        if selection.function is not None and not self.cells:
            return f"no function {selection.function} in {path}"
        if selection.line is not None and place is not None:
            if not 0 < selection.line <= self._count(place):
                return selection.no_loop(str(path))
        return ""

    def selection(self, selection: Selection, text: str) -> Selection:
        """A selection in the notebook with that text as one in the module."""
        touched = selection.touched
        if touched is not None:
            pairs = (
                (first, lines)
                for first, cell in zip(self.firsts, self.cells, strict=True)
                for lines in lines_in_file(text, cell)
            )
            touched = frozenset(first + n - 1 for first, (m, n) in pairs if m in touched)
        if selection.cell is None:
            return replace(selection, touched=touched)
        place = self._place(selection)
        if place is None:
            return Selection(touched=frozenset())
        first, count = self.firsts[place], self._count(place)
        if selection.line is None:
            inside = frozenset(range(first, first + count))
            return Selection(touched=inside if touched is None else inside & touched)
        if not 0 < selection.line <= count:  # it would be one of another cell
            return Selection(touched=frozenset())
        return replace(selection, above=first - 1)

    def _place(self, selection: Selection) -> int | None:
        numbers = [cell.number for cell in self.cells]
        return numbers.index(selection.cell) if selection.cell in numbers else None

    def _count(self, place: int) -> int:
        return self.cells[place].text.count("\n") + 1

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
        part = self.parts[place]
        said = part.stand_ins.get(part.text.split("\n")[line - 1])
        message = reason.message
        if said is not None:
            message = message.replace("`exec`", f"`{said.strip()}`")
        return replace(reason, line=line, message=message)

    def error(self) -> Refusal | None:
        """What is wrong with the first cell that cannot be parsed, and the numbers of more."""
        bad = [(c.number, p.error) for c, p in zip(self.cells, self.parts, strict=True) if p.error]
        if not bad:
            return None
        (number, error), *others = bad
        more = f" (nor can cell {', '.join(str(n) for n, _ in others)} be parsed)" if others else ""
        message = f"cell {number}: {error.message}{more}"
        return Refusal("FSC901", message, "Correct the cell.", error.line, error.column)

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
    return f"{gap}# {MARK} {number}\n\n"
