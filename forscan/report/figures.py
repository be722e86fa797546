"""Figures for people: three digits and a unit."""

from __future__ import annotations


def seconds(value: float | None) -> str:
    """`1.2 s`, `35 ms`, `8 µs`; `?` where it is not known."""
    if value is None:
        return "?"
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}" if value < 1000 else f"{value:,.0f} s"
    return f"{value / 1e-6:.3g} µs"


def count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def size(value: int | None) -> str:
    """`12 B`, `3 KiB`; `?` where it is not known."""
    if value is None:
        return "?"
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value} B"
