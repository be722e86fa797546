"""The last line of a run."""

from __future__ import annotations

from collections import Counter

from forscan.types import FileResult, Status


def summary(results: list[FileResult], verb: str) -> str:
    """`2 loops converted, 1 refused, 3 skipped in 4 files`."""
    counts = Counter(o.status for r in results for o in r.outcomes)
    parts = [f"{counts[s]} {s.value}" for s in Status if counts[s]]
    errors = sum(r.error is not None for r in results)
    parts += [f"{errors} not readable"] if errors else []
    files = f"{len(results)} file{'s' if len(results) != 1 else ''}"
    return f"{verb}: {', '.join(parts) if parts else 'no loops'} in {files}"
