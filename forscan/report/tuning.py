"""What tuning found, for people: one line a candidate, the best of each column marked."""

from __future__ import annotations

from collections.abc import Iterable

from forscan.report.figures import seconds
from forscan.tune import Candidate, Tuning
from forscan.verify.result import preparation


def format_tuning(found: Tuning) -> str:
    """A table of what each candidate costs to prepare, to run, and in all."""
    if found.why:
        return f"{found.call}: {found.why}"
    best = {n: found.best(n) for n in found.calls}
    rows = [("", "prepare", "run", "±", *(_calls(n) for n in found.calls))]
    measured = [c for c in found.candidates if c.cost is not None]
    for candidate in measured:
        assert candidate.cost is not None
        totals = (
            seconds(candidate.total(n)) + ("*" if candidate is best[n] else " ")
            for n in found.calls
        )
        ready = preparation(candidate.cost)
        run, spread = candidate.cost.run_s, candidate.cost.run_spread_s
        rows.append((candidate.label, seconds(ready), seconds(run), seconds(spread), *totals))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [found.call]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    lines += _left_out(found.candidates)
    lines.append(_advice(found, best))
    return "\n".join(lines)


def _left_out(candidates: Iterable[Candidate]) -> list[str]:
    """Why some were not measured, each reason once: a short time limit has one for many."""
    labels: dict[str, list[str]] = {}
    for candidate in candidates:
        if candidate.reason:
            labels.setdefault(candidate.reason, []).append(candidate.label)
    return [f"  {', '.join(names)}: {reason}" for reason, names in labels.items()]


def _calls(count: int) -> str:
    return f"{count:,} call{'s' if count != 1 else ''} "


def _advice(found: Tuning, best: dict[int, Candidate | None]) -> str:
    """The best for each count in one sentence, equal ones together."""
    parts: list[tuple[str, list[int]]] = []
    for count, candidate in best.items():
        label = candidate.label if candidate else "nothing"
        if parts and parts[-1][0] == label:
            parts[-1][1].append(count)
        else:
            parts.append((label, [count]))
    return "  best: " + "; ".join(
        f"{label} for {', '.join(f'{n:,}' for n in counts)}" for label, counts in parts
    )
