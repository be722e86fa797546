"""The last line of a run."""

from __future__ import annotations

from collections import Counter

from forscan.types import FileResult, Status


def summary(results: list[FileResult]) -> str:
    """`6 loops in 4 files: 2 converted, 1 refused, 3 skipped`."""
    counts = Counter(o.status for r in results for o in r.outcomes)
    parts = ", ".join(f"{counts[s]} {s.value}" for s in Status if counts[s])
    loops = _number(counts.total(), "loop") if counts else "no loops"
    errors = sum(r.error is not None for r in results)
    said = f"{loops} in {_number(len(results), 'file')}" + (f": {parts}" if parts else "")
    return said + (f"; {_number(errors, 'file')} with an error" if errors else "")


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
