"""Outcomes for people: one line each, or with the source and the way out."""

from __future__ import annotations

import difflib
from collections import Counter
from pathlib import Path

import click

from forscan.diagnostics.codes import name_of
from forscan.types import FileResult, Outcome, Status

_COLOURS = {
    Status.CONVERTED: "green",
    Status.CONVERTIBLE: "cyan",
    Status.REFUSED: "yellow",
    Status.SKIPPED: "bright_black",
}


def concise(outcome: Outcome) -> str:
    """`path:line:column: CODE status message`."""
    place = f"{outcome.file}:{outcome.span.line}:{outcome.span.column}"
    status = click.style(outcome.status.value, fg=_COLOURS[outcome.status])
    return f"{place}: {outcome.code} {status} {outcome.message}"


def full(outcome: Outcome, result: FileResult) -> str:
    """The concise line, the lines that it is about, each reason and its way out."""
    lines = [concise_head(outcome)]
    text = result.before.decode(errors="replace").splitlines()
    shown: set[int] = set()
    for line, column, note in _places(outcome):
        if 0 < line <= len(text) and line not in shown:
            shown.add(line)
            width = len(str(line))
            lines.append(f"  {line} | {text[line - 1].rstrip()}")
            lines.append(f"  {' ' * width} | {' ' * (column - 1)}^ {note}".rstrip())
    for help in dict.fromkeys(r.help for r in outcome.reasons):
        lines.append(f"  {click.style('help', bold=True)}: {help}")
    for assumption in outcome.assumptions:
        lines.append(f"  note: {assumption}")
    return "\n".join(lines)


def concise_head(outcome: Outcome) -> str:
    place = f"{outcome.file}:{outcome.span.line}:{outcome.span.column}"
    status = click.style(outcome.status.value, fg=_COLOURS[outcome.status])
    what = f"{outcome.code} {name_of(outcome.code)}"
    if outcome.reasons:
        return f"{place}: {status} [{what}] in {outcome.function}"
    return f"{place}: {status} [{what}] in {outcome.function}: {outcome.message}"


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


def diff(path: Path, before: bytes, after: bytes) -> str:
    """A unified diff of what changed in a file."""
    old, new = (v.decode(errors="replace").splitlines(keepends=True) for v in (before, after))
    lines = []
    for line in difflib.unified_diff(old, new, str(path), str(path)):
        line = line.rstrip("\r\n")
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        bold = line.startswith(("+++", "---"))
        lines.append(click.style(line, fg=None if bold else colour, bold=bold or None))
    return "\n".join(lines)


def summary(results: list[FileResult], verb: str) -> str:
    """`2 loops converted, 1 refused, 3 skipped in 4 files`."""
    counts = Counter(o.status for r in results for o in r.outcomes)
    parts = [f"{counts[s]} {s.value}" for s in Status if counts[s]]
    errors = sum(r.error is not None for r in results)
    parts += [f"{errors} not readable"] if errors else []
    files = f"{len(results)} file{'s' if len(results) != 1 else ''}"
    return f"{verb}: {', '.join(parts) if parts else 'no loops'} in {files}"
