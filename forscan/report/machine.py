"""Outcomes for programs."""

from __future__ import annotations

import json

from forscan.refusal import Refusal
from forscan.types import FileResult


def as_json(results: list[FileResult]) -> str:
    """A list with one object for each loop, and for each file that could not be treated."""
    rows: list[dict[str, object]] = []
    for result in results:
        rows += [o.as_json() for o in result.outcomes]
        if result.error is not None:
            rows.append(_of_error(str(result.path), result.error))
    return json.dumps(rows, indent=2)


def _of_error(file: str, error: Refusal) -> dict[str, object]:
    """The same keys as for a loop: of a place, and with no form."""
    line, column = error.line or 1, error.column or 1
    return {
        "file": file,
        "line": line,
        "column": column,
        "end_line": line,
        "end_column": column,
        "function": "",
        "code": error.code,
        "status": "error",
        "from": "",
        "to": "",
        "message": error.message,
        "help": error.help,
    }
