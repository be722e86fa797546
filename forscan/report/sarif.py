"""Outcomes as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import quote

from forscan import __version__
from forscan.diagnostics.codes import REGISTRY, Entry
from forscan.refusal import Refusal
from forscan.report.place import from_here
from forscan.syntax.source import Source, SourceError, Text
from forscan.types import FileResult, Outcome, Status

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Status.CONVERTIBLE: "warning", Status.CONVERTED: "note", Status.REFUSED: "note"}
Json = dict[str, object]
_TOP: Json = {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}


def as_sarif(results: list[FileResult]) -> str:
    """One log with one run: its rules are the codes that it reports."""
    found = [row for result in results for row in _rows(result)]
    used = sorted({str(row["ruleId"]) for row in found})
    for row in found:
        row["ruleIndex"] = used.index(str(row["ruleId"]))
    driver: Json = {
        "name": "forscan",
        "version": __version__,
        "rules": [_rule(REGISTRY[code]) for code in used],
    }
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": all(r.error is None for r in results)}],
        "results": found,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rows(result: FileResult) -> Iterator[Json]:
    source = _source(result)
    for outcome in result.outcomes:
        if outcome.status in _LEVELS:
            yield _row(outcome, source)
    for comment in result.unused:
        yield _found("warning", comment, result, source)
    if result.error is not None:
        yield _found("error", result.error, result, source)


def _row(outcome: Outcome, source: Text) -> Json:
    span = outcome.span
    region: Json = {"startLine": span.line, "startColumn": span.column}
    region |= {"endLine": span.end_line, "endColumn": span.end_column}
    text = " ".join([f"{outcome.message}.", *dict.fromkeys(r.help for r in outcome.reasons)])
    if outcome.cell is not None:  # lines count in the cell there
        text, region = f"Cell {outcome.cell}, line {span.line}: {text}", _TOP
    row = _result(_LEVELS[outcome.status], outcome.code, text, outcome.file, region)
    related = [r for r in outcome.reasons if r.line is not None and outcome.cell is None]
    if related:
        row["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": r.message},
                **_location(outcome.file, _point(r, source)),
            }
            for number, r in enumerate(related)
        ]
    return row


def _found(level: str, found: Refusal, result: FileResult, source: Text) -> Json:
    region = _TOP if result.path.suffix == ".ipynb" else _point(found, source)
    return _result(level, found.code, f"{found.message}.", str(result.path), region)


def _source(result: FileResult) -> Text:
    """The text that places are in; empty where there is none."""
    try:
        return Source.decode(result.before)
    except SourceError:
        return Text("")


def _point(reason: Refusal, source: Text) -> Json:
    """From a place to the end of its line, which is all that is known of the end."""
    line, column = reason.line or 1, reason.column or 1
    known = line <= len(source.line_starts)
    end = len(source.line(line).rstrip("\r\n")) + 1 if known else column
    region: Json = {"startLine": line, "startColumn": column}
    return region | {"endLine": line, "endColumn": max(end, column)}


def _result(level: str, code: str, text: str, file: str, region: Json) -> Json:
    return {
        "ruleId": code,
        "level": level,
        "message": {"text": text},
        "locations": [_location(file, region)],
    }


def _location(file: str, region: Json) -> Json:
    artifact = {"uri": _uri(from_here(file))}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _uri(path: PurePath) -> str:
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _rule(entry: Entry) -> Json:
    # No `helpUri`: the pages are files of this project, whose address is not part of it.
    whole = f"{entry.summary}. {entry.explanation}".strip()
    return {
        "id": entry.code,
        "name": entry.name,
        "shortDescription": {"text": entry.summary},
        "fullDescription": {"text": whole},
        "help": {"text": entry.help, "markdown": _markdown(entry)},
    }


def _markdown(entry: Entry) -> str:
    """What `forscan explain` says, for a page."""
    parts = [f"**{entry.code} {entry.name}**: {entry.summary}.", entry.explanation]
    parts += [f"```python\n{entry.example}\n```"] if entry.example else []
    parts += [f"**What to do:** {entry.help}"]
    return "\n\n".join(filter(None, parts))
