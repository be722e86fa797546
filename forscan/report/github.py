"""Outcomes as workflow commands, which GitHub shows at the lines that they are about."""

from __future__ import annotations

from collections.abc import Iterator

from forscan.diagnostics.codes import name_of
from forscan.refusal import Refusal
from forscan.report.place import from_here
from forscan.types import FileResult, Outcome, Status

_LEVELS = {Status.CONVERTIBLE: "warning", Status.CONVERTED: "notice", Status.REFUSED: "notice"}


def commands(result: FileResult) -> Iterator[str]:
    """One line for each loop that is worth a word, and for what is wrong with the file."""
    for outcome in result.outcomes:
        if outcome.status in _LEVELS:
            # GitHub knows no cells: what is in one is shown at the top of the file.
            in_file = outcome.cell is None
            place = (outcome.span.line, outcome.span.column) if in_file else (1, 1)
            yield _command(
                _LEVELS[outcome.status], outcome.code, outcome.file, place, _message(outcome)
            )
    for comment in result.unused:
        yield _found("warning", comment, result)
    if result.error is not None:
        yield _found("error", result.error, result)


def _message(outcome: Outcome) -> str:
    """What is found, and each way out on a line of its own."""
    helps = dict.fromkeys(r.help for r in outcome.reasons)
    cell = "" if outcome.cell is None else f"(cell {outcome.cell}, line {outcome.span.line}) "
    return "\n".join([f"{cell}{outcome.message}", *helps])


def _found(level: str, found: Refusal, result: FileResult) -> str:
    place = (found.line or 1, found.column or 1)
    return _command(level, found.code, str(result.path), place, found.message)


def _command(level: str, code: str, file: str, place: tuple[int, int], message: str) -> str:
    """A loop spans lines, and columns are for one line: it is shown at its head."""
    name = str(from_here(file))
    properties = {
        "title": f"forscan ({code} {name_of(code)})",
        "file": name,
        "line": place[0],
        "col": place[1],
    }
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = f"{name}:{place[0]}:{place[1]}: {code} {message}"
    return f"::{level} {given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
