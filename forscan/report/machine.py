"""Outcomes for programs."""

from __future__ import annotations

import json

from forscan.types import FileResult


def as_json(results: list[FileResult]) -> str:
    """A list with one object for each loop."""
    rows: list[dict[str, object]] = []
    for result in results:
        rows += [o.as_json() for o in result.outcomes]
    return json.dumps(rows, indent=2)
