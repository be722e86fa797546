"""A verification for people: the verdict, and what each version costs."""

from __future__ import annotations

from collections import Counter

from forscan.verify.result import Cost, Verification, preparation


def format_verification(found: Verification) -> str:
    """The verdict line, the cost table and when the dearer compile has paid back."""
    lines = [_verdict(found)]
    if found.before is not None and found.after is not None:
        lines += _table(found.before, found.after)
        lines.append(_break_even(found))
    return "\n".join(lines)


def _verdict(found: Verification) -> str:
    if found.status != "equal":
        return f"{found.status}: {found.call}: {found.reason}"
    parts = [f"equal ({found.evidence}): {found.call}"]
    if found.evidence == "proved":
        parts.append(f"for every input of {_types(found.types)}")
    if found.max_ulp is not None:
        parts.append(f"outputs within {found.max_ulp:.3g} ULP")
    parts.append(_gradient(found))
    if found.reason:
        parts.append(found.reason)
    return ", ".join(parts)


def _types(types: tuple[str, ...]) -> str:
    """Types such as `float32[3], 2 x float32[4,3]`."""
    counts = Counter(types)
    return ", ".join(t if n == 1 else f"{n} x {t}" for t, n in counts.items()) or "no type at all"


def _gradient(found: Verification) -> str:
    if found.gradient == "none":
        return "no gradient to compare"
    how = " (proved)" if found.gradient_evidence == "proved" else ""
    return f"gradient {found.gradient}{how}"


def _table(before: Cost, after: Cost) -> list[str]:
    rows = [("", "before", "after", "")]
    for name, key in (
        ("trace", "trace_s"),
        ("lower", "lower_s"),
        ("compile", "compile_s"),
        ("run", "run_s"),
    ):
        a, b = getattr(before, key), getattr(after, key)
        rows.append((name, _seconds(a), _seconds(b), _ratio(a, b)))
    rows.append(
        (
            "equations",
            _count(before.equations),
            _count(after.equations),
            _ratio(before.equations, after.equations, "fewer", "more"),
        )
    )
    rows.append(("temp memory", _bytes(before.temp_bytes), _bytes(after.temp_bytes), ""))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in rows
    ]


def _seconds(value: float | None) -> str:
    if value is None:
        return "?"
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _bytes(value: int | None) -> str:
    if value is None:
        return "?"
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value} B"


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


def _break_even(found: Verification) -> str:
    assert found.before is not None and found.after is not None
    calls = found.break_even_calls
    before, after = preparation(found.before), preparation(found.after)
    if before is None or after is None:
        return "  the costs are not complete"
    cheaper, dearer = ("after", "before") if after <= before else ("before", "after")
    if calls is None:
        return (
            f"  {cheaper} is cheaper to prepare and no slower to run: it wins from the first call"
        )
    return f"  {dearer} is dearer to prepare and faster to run: it wins from {calls:,.0f} calls on"
