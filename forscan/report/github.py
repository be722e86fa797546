"""Outcomes as workflow commands, which GitHub shows at the lines that they are about."""

from __future__ import annotations

from collections.abc import Iterator

from forscan.diagnostics.codes import name_of
from forscan.refusal import Refusal
from forscan.report.place import from_here
from forscan.types import FileResult, Outcome, Span, Status

_LEVELS = {Status.CONVERTIBLE: "warning", Status.CONVERTED: "notice", Status.REFUSED: "notice"}


def commands(result: FileResult) -> Iterator[str]:
    """One line for each loop that is worth a word, and for what is wrong with the file."""
    for outcome in result.outcomes:
        if outcome.status in _LEVELS:
            # GitHub knows no cells: what is in one is shown at the top of the file.
            in_file = outcome.cell is None
            span = outcome.span if in_file else Span(1, 1, 1, 1)
            level = _LEVELS[outcome.status]
            yield _command(level, outcome.code, outcome.file, span, _message(outcome))
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
    line, column = found.line or 1, found.column or 1
    if result.path.suffix == ".ipynb":
        line = column = 1
    span = Span(line, column, line, column)
    return _command(level, found.code, str(result.path), span, found.message)


def _command(level: str, code: str, file: str, span: Span, message: str) -> str:
    """GitHub knows columns of one line only, and drops those of a loop over several."""
    name = str(from_here(file))
    properties: dict[str, object] = {
        "title": f"forscan ({code} {name_of(code)})",
        "file": name,
        "line": span.line,
        "endLine": span.end_line,
    }
    if span.line == span.end_line:
        properties |= {"col": span.column, "endColumn": span.end_column}
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = f"{name}:{span.line}:{span.column}: {code} {message}"
    return f"::{level} {given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
