"""Outcomes for people: one line each, or with the source and the way out."""

from __future__ import annotations

import re
from pathlib import Path

import click

from forscan.diagnostics.codes import REGISTRY, name_of
from forscan.refusal import Refusal
from forscan.syntax.source import Source, Text
from forscan.types import FileResult, Outcome, Status

_COLOURS = {
    Status.CONVERTED: "green",
    Status.CONVERTIBLE: "cyan",
    Status.REFUSED: "yellow",
    Status.SKIPPED: "bright_black",
}
_SHORT = 80  # characters of a reason that fits on a line
_CLAUSE = re.compile(r"(?:`[^`]*`|[^`:;]|[:;](?! ))+")


def concise(outcome: Outcome) -> str:
    """`path:line:column: CODE status message`, where `full` has the rest of the message."""
    status = click.style(outcome.status.value, fg=_COLOURS[outcome.status])
    return f"{outcome.place}: {outcome.code} {status} {_short(outcome)}"


def _short(outcome: Outcome) -> str:
    """What was found first, without what follows from it; how many other codes there are."""
    if not outcome.reasons:
        return outcome.message
    found = _clause(outcome.reasons[0].message)
    if len(found) > _SHORT:
        found = REGISTRY[outcome.code].summary
    others = len({r.code for r in outcome.reasons} - {outcome.code})
    return f"{found} (and {others} more)" if others else found


def _clause(message: str) -> str:
    """A message up to its first colon or semicolon that stands in no code."""
    match = _CLAUSE.match(message)
    return match.group() if match else message


def full(outcome: Outcome, result: FileResult) -> str:
    """The head line, the lines that it is about, each reason and its way out.

    A loop that was skipped gets one line: nobody has to do anything about it.
    """
    lines = [_head(outcome)]
    if outcome.status is Status.SKIPPED:
        return lines[0]
    places = _places(outcome)
    source = _source(outcome, result) if places else Text("")
    shown: set[int] = set()
    for line, column, note in places:
        if 0 < line <= len(source.line_starts) and line not in shown:
            shown.add(line)
            width = len(str(line))
            lines.append(f"  {line} | {source.line(line).rstrip()}")
            lines.append(f"  {' ' * width} | {' ' * (column - 1)}^ {note}".rstrip())
    for help in dict.fromkeys(r.help for r in outcome.reasons):
        lines.append(f"  {click.style('help', bold=True)}: {help}")
    if outcome.size is not None and outcome.status is Status.CONVERTIBLE:
        lines.append(f"  note: {outcome.size}")
    for assumption in outcome.assumptions:
        lines.append(f"  note: {assumption}")
    return "\n".join(lines)


def _source(outcome: Outcome, result: FileResult) -> Text:
    """The text that the places of an outcome are in."""
    return (
        Source.decode(result.before) if outcome.cell is None else Text(result.texts[outcome.cell])
    )


def _head(outcome: Outcome) -> str:
    status = click.style(outcome.status.value, fg=_COLOURS[outcome.status])
    what = f"{outcome.code} {name_of(outcome.code)}"
    if outcome.status is Status.REFUSED:
        return f"{outcome.place}: {status} [{what}] in {outcome.function}"
    return f"{outcome.place}: {status} [{what}] in {outcome.function}: {outcome.message}"


def _places(outcome: Outcome) -> list[tuple[int, int, str]]:
    start = (outcome.span.line, outcome.span.column)
    if not outcome.reasons:
        return []
    found = []
    if all(r.line not in (None, start[0]) for r in outcome.reasons):
        found.append((*start, ""))
    for reason in outcome.reasons:
        found.append((reason.line or start[0], reason.column or start[1], reason.message))
    return found


def error(path: Path, found: Refusal) -> str:
    """`path:line:column: CODE message` for a file that could not be treated."""
    return f"{path}:{found.line or 1}:{found.column or 1}: {found.code} {found.message}"
