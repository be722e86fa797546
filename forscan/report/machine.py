"""Outcomes for programs."""

from __future__ import annotations

import json
from pathlib import Path

from forscan.refusal import Refusal
from forscan.types import FileResult


def as_json(results: list[FileResult]) -> str:
    """A list with one object for each loop, and for each file or comment with a fault."""
    rows: list[dict[str, object]] = []
    for result in results:
        rows += [o.as_json() for o in result.outcomes]
        rows += [_of_file(result.path, "unused", comment) for comment in result.unused]
        if result.error is not None:
            rows.append(_of_file(result.path, "error", result.error))
    return json.dumps(rows, indent=2)


def _of_file(file: Path, status: str, error: Refusal) -> dict[str, object]:
    """The same keys as for a loop: of a place, and with no form."""
    line, column = error.line or 1, error.column or 1
    return {
        "file": str(file),
        "line": line,
        "column": column,
        "end_line": line,
        "end_column": column,
        "function": "",
        "code": error.code,
        "status": status,
        "from": "",
        "to": "",
        "message": error.message,
        "help": error.help,
    }
