"""A verification for people: the verdict, and what each version costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from forscan.report.figures import count, seconds, size
from forscan.verify.result import Cost, Verification, preparation, run_alike


def format_verification(found: Verification) -> str:
    """The verdict line, the cost table and when the dearer compile has paid back."""
    lines = [verdict(found), *(f"  {line}" for line in _difference(found))]
    if found.before is not None and found.after is not None:
        lines += _table(found.before, found.after)
        lines += [f"  {note}" for note in _fits(found)]
        lines.append(f"  {_break_even(found)}")
        if "fault" in found.environment:
            lines.append(f"  measured with {found.environment}")
    return "\n".join(lines)


def verdict(found: Verification) -> str:
    """The answer in one line, with what it rests on."""
    if found.status != "equal":
        return f"{found.status}: {found.call}: {found.reason}"
    if found.raises:
        return f"equal ({found.evidence}): {found.call}: {found.reason}"
    parts = [f"equal ({_evidence(found)}): {found.call}"]
    if found.evidence == "proved":
        parts.append(f"for every input of {_types(found.types)}")
    if found.max_ulp is not None:
        parts.append(f"outputs within {found.max_ulp:.3g} ULP")
    parts.append(_gradient(found))
    same = [name for name in ("vmap", "jvp") if getattr(found, name) == "equal"]
    if same:
        parts.append(f"equal under {' and '.join(same)}")
    if found.reason:
        parts.append(found.reason)
    return ", ".join(parts)


def _evidence(found: Verification) -> str:
    """What the verdict rests on."""
    cut = "" if found.cut_to is None else f" with loops cut to {found.cut_to} iterations"
    return f"{found.evidence}{cut}"


def _difference(found: Verification) -> list[str]:
    """Where the versions begin to differ, and for what."""
    first = f"the first to differ is {found.first_iteration}" if found.first_iteration else ""
    small = f"the smallest input found: {found.smallest}" if found.smallest else ""
    return [line for line in (first, small) if line]


def _types(types: tuple[str, ...]) -> str:
    """Types such as `float32[3], 2 x float32[4,3]`."""
    counts = Counter(types)
    return ", ".join(t if n == 1 else f"{n} x {t}" for t, n in counts.items()) or "no type at all"


def _gradient(found: Verification) -> str:
    if found.gradient == "none":
        return "no gradient to compare"
    how = " (proved)" if found.gradient_evidence == "proved" else ""
    return f"gradient {found.gradient}{how}"


def format_markdown(found: Verification) -> str:
    """The same for a pull request: the verdict, a table, and the machine's share in it."""
    evidence = f" ({_evidence(found)})" if found.evidence else ""
    lines = [f"**{found.status}**{evidence}"]
    lines = [f"{lines[0]}: `{found.call}`", "", verdict(found).partition(f"{found.call}")[2][2:]]
    lines += [f"\n{line[0].upper()}{line[1:]}." for line in _difference(found)]
    if found.before is not None and found.after is not None:
        head, *rows = _rows(found.before, found.after)
        lines += ["", _cells(head), "| --- | ---: | ---: | --- |", *map(_cells, rows), ""]
        lines += [*_fits(found), _break_even(found)]
        lines.append(f"Measured with {found.environment}.")
    return "\n".join(lines)


def _cells(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


def _table(before: Cost, after: Cost) -> list[str]:
    rows = _rows(before, after)
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in rows
    ]


def _rows(before: Cost, after: Cost) -> list[tuple[str, str, str, str]]:
    """Each figure of both versions, and how they compare."""
    rows = [("", "before", "after", "")]
    for name in ("trace", "lower", "compile"):
        a, b = getattr(before, f"{name}_s"), getattr(after, f"{name}_s")
        rows.append((name, seconds(a), seconds(b), _ratio(a, b)))
    rows.append(("run", _run(before), _run(after), _ratio(before.run_s, after.run_s)))
    for name, key in (("equations", "equations"), ("StableHLO lines", "stablehlo_lines")):
        a, b = getattr(before, key), getattr(after, key)
        rows.append((name, count(a), count(b), _ratio(a, b, "fewer", "more")))
    rows.append(("temp memory", size(before.temp_bytes), size(after.temp_bytes), ""))
    return rows


def _run(cost: Cost) -> str:
    return f"{seconds(cost.run_s)} ± {seconds(cost.run_spread_s)}"


def _ratio(
    before: float | None,
    after: float | None,
    less: str = "cheaper",
    more: str = "dearer",
) -> str:
    if not before or not after:
        return ""
    ratio = before / after
    if 0.9 < ratio < 1.1:
        return "about the same"
    word = less if ratio > 1 else more
    return f"{max(ratio, 1 / ratio):.3g}x {word}"


def _fits(found: Verification) -> list[str]:
    """How the times were found that nobody waited for."""
    versions = (("before", found.before), ("after", found.after))
    return [
        f"{stage} {name} was left out: {fit}"
        for name, c in versions
        for stage, fit in (("tracing", c and c.trace_fit), ("compiling", c and c.compile_fit))
        if fit
    ]


def _break_even(found: Verification) -> str:
    assert found.before is not None and found.after is not None
    calls = found.break_even_calls
    before, after = preparation(found.before), preparation(found.after)
    if before is None or after is None:
        return "the costs are not complete"
    cheaper, dearer = ("after", "before") if after <= before else ("before", "after")
    if run_alike(found.before, found.after):
        return f"{cheaper} is cheaper to prepare; the runs differ by no more than they vary"
    if calls is None:
        return f"{cheaper} is cheaper to prepare and no slower to run: it wins from the first call"
    return f"{dearer} is dearer to prepare and faster to run: it wins from {calls:,.0f} calls on"
