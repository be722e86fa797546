"""Results: what happened to each loop, and to each file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from forscan.refusal import Refusal


class Status(StrEnum):
    CONVERTED = "converted"
    CONVERTIBLE = "convertible"
    REFUSED = "refused"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Span:
    """A place in a file: lines and columns count from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


_SMALL = Refusal(
    "FSC106",
    "the loop is too short to be worth a word (min-trips, min-ops)",
    "Nothing to do; `forscan convert` converts it all the same.",
)


@dataclass(frozen=True)
class Size:
    """What a loop comes to when it is unrolled, as far as the source shows it.

    Attributes:
      trips: the trip count, where it is a number.
      operations: calls, operators and reads by index in one iteration, those of inner
        loops as often as they run, and those of functions that the module defines; None
        where it calls others.
    """

    trips: int | None
    operations: int | None

    def is_below(self, trips: int, operations: int) -> bool:
        """Whether it surely has fewer iterations, or fewer operations in all."""
        if self.trips is None:
            return False
        known = self.operations is not None
        return self.trips < trips or (known and self.trips * (self.operations or 0) < operations)

    def __str__(self) -> str:
        times = "once for each iteration" if self.trips is None else _times(self.trips)
        said = f"JAX writes the body out {times}"
        if self.operations is None:
            return said
        plural = "s" if self.operations != 1 else ""
        if self.trips is None:
            return f"{said}, {self.operations} operation{plural} each"
        whole = self.trips * self.operations
        return f"{said}: {whole} operations in all ({self.trips} x {self.operations})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _spelled(form: str) -> str:
    return "`for`" if form == "for" else f"`lax.{form}`"


@dataclass(frozen=True)
class Outcome:
    """What became of one loop; every loop that is found has exactly one.

    Attributes:
      file: the path as it was given.
      span: the loop, in the file as it was.
      function: the dotted name of the function around it.
      status: converted, convertible, refused or skipped.
      source, target: the form it has and the form asked for.
      reasons: why it was refused or skipped; all of them.
      assumptions: what a conversion relies on, and says.
      named: whether it was asked for by its line.
      size: of a `for` in traced code.
      small: whether that is too little to be worth a word.
      cell: the number of the cell that it stands in, in a notebook.
    """

    file: str
    span: Span
    function: str
    status: Status
    source: str
    target: str
    reasons: tuple[Refusal, ...] = ()
    assumptions: tuple[str, ...] = ()
    named: bool = False
    size: Size | None = None
    small: bool = False
    cell: int | None = None

    @property
    def place(self) -> str:
        """Where it is: `path:line:column`, or `path:cell N:line:column`."""
        cell = f":cell {self.cell}" if self.cell is not None else ""
        return f"{self.file}{cell}:{self.span.line}:{self.span.column}"

    @property
    def code(self) -> str:
        if self.reasons:
            return self.reasons[0].code
        if self.target == "for":
            return "FSC102"
        return "FSC101" if self.source == "for" else "FSC105"

    @property
    def message(self) -> str:
        if self.reasons:
            return "; ".join(dict.fromkeys(r.message for r in self.reasons))
        source, target = _spelled(self.source), _spelled(self.target)
        converted = self.status is Status.CONVERTED
        if source == target:
            return f"this {source} {'was' if converted else 'can be'} written anew"
        return f"this {source} {'became' if converted else 'can become'} {target}"

    @property
    def help(self) -> str:
        if self.reasons:
            return " ".join(dict.fromkeys(r.help for r in self.reasons))
        return "; ".join(self.assumptions)

    def as_json(self) -> dict[str, object]:
        """The documented keys; in a notebook also the cell, in which the lines count."""
        cell = {} if self.cell is None else {"cell": self.cell}
        return cell | {
            "file": self.file,
            "line": self.span.line,
            "column": self.span.column,
            "end_line": self.span.end_line,
            "end_column": self.span.end_column,
            "function": self.function,
            "code": self.code,
            "status": self.status.value,
            "from": self.source,
            "to": self.target,
            "message": self.message,
            "help": self.help,
        }


@dataclass(frozen=True)
class Selection:
    """Which loops of a file are meant: all, those of a function, or the one at a line.

    Attributes:
      function: the dotted name of a function.
      line: one in the loop.
      touched: lines; of several loops only those that stand on one of them are meant.
      cell: the number of a cell of a notebook, in which the line counts.
      above: the lines of the module that stand above that cell.
    """

    function: str | None = None
    line: int | None = None
    touched: frozenset[int] | None = None
    cell: int | None = None
    above: int = 0

    def no_loop(self, file: str) -> str:
        """That there is no loop at the line that it names."""
        cell = "" if self.cell is None else f" of cell {self.cell}"
        return f"no loop at line {self.line}{cell} in {file}"


@dataclass(frozen=True)
class FileResult:
    """What one file became.

    Attributes:
      path: the file, or the name given for stdin.
      before, after: its bytes; equal when nothing changed.
      outcomes: one for each loop, in the order of the file.
      error: why the file could not be treated, with its place.
      missing: what was asked for by name or line and is not in the file.
      unused: comments that suppress nothing, with their places.
      texts: of the code cells of a notebook, by their numbers.
    """

    path: Path
    before: bytes
    after: bytes
    outcomes: tuple[Outcome, ...] = ()
    error: Refusal | None = None
    missing: tuple[str, ...] = ()
    unused: tuple[Refusal, ...] = ()
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def taken_back(self, reason: Refusal) -> FileResult:
        """The file as it was: what had been converted is refused for that reason."""
        return self._revised(Status.REFUSED, (reason,), after=self.before)

    def tried(self) -> FileResult:
        """The result where nothing is to be written: what was converted is convertible."""
        return self._revised(Status.CONVERTIBLE, (), after=self.after)

    @property
    def converted(self) -> tuple[Outcome, ...]:
        """The loops that were converted."""
        return tuple(o for o in self.outcomes if o.status is Status.CONVERTED)

    def noted(self, lines: Collection[int], note: str) -> FileResult:
        """The result with one more thing said of what was converted, unless on these lines."""
        outcomes = tuple(
            (
                replace(o, assumptions=(*o.assumptions, note))
                if o.status is Status.CONVERTED and o.span.line not in lines
                else o
            )
            for o in self.outcomes
        )
        return replace(self, outcomes=outcomes)

    def quiet(self) -> FileResult:
        """The result of a check: loops that are too small to pay are passed over."""
        outcomes = tuple(
            replace(o, status=Status.SKIPPED, reasons=(_SMALL,)) if o.small and not o.reasons else o
            for o in self.outcomes
        )
        return replace(self, outcomes=outcomes)

    def _revised(self, status: Status, reasons: tuple[Refusal, ...], after: bytes) -> FileResult:
        outcomes = tuple(
            replace(o, status=status, reasons=reasons) if o.status is Status.CONVERTED else o
            for o in self.outcomes
        )
        return replace(self, after=after, outcomes=outcomes)
