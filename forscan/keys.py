"""The keys of `[tool.forscan]`, and what each may hold."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from forscan.diagnostics.codes import REGISTRY

TARGETS = ("scan", "fori", "for")


class KeyFault(Exception):
    """What is wrong with a value, to stand behind the name of its key."""

    @staticmethod
    def unknown(key: str) -> KeyFault:
        """The fault of a key that does not exist."""
        near = difflib.get_close_matches(key, KEYS, 1)
        hint = f", did you mean {near[0]!r}?" if near else ""
        known = ", ".join(sorted(KEYS))
        return KeyFault(f"unknown key {key!r} in [tool.forscan]{hint} (known: {known})")


def _target(value: object) -> str:
    if not isinstance(value, str):
        raise KeyFault("must be a str")
    if value not in TARGETS:
        raise KeyFault(f"must be one of {', '.join(TARGETS)}")
    return value


def _number(least: int, most: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise KeyFault("must be an int")
        if not least <= value <= most:
            raise KeyFault(f"must be from {least} to {most}")
        return value

    return check


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise KeyFault("must be a list")
    if not all(isinstance(v, str) for v in value):
        raise KeyFault("must hold strings")
    return tuple(value)


def _codes(value: object) -> tuple[str, ...]:
    codes = _strings(value)
    for code in codes:
        if not code or not any(known.startswith(code) for known in REGISTRY):
            raise KeyFault(f"names {code!r}, which begins no code; codes look like FSC301")
    return codes


def _by_pattern(
    check: Callable[[object], tuple[str, ...]],
) -> Callable[[object], tuple[tuple[str, tuple[str, ...]], ...]]:
    def checked(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if not isinstance(value, dict):
            raise KeyFault("must be a table of lists by path")
        return tuple((pattern, check(listed)) for pattern, listed in value.items())

    return checked


KEYS: dict[str, Callable[[object], object]] = {
    "to": _target,
    "traced": _strings,
    "exclude": _strings,
    "line-length": _number(20, 500),
    "min-trips": _number(0, 10**9),
    "min-ops": _number(0, 10**9),
    "per-file-ignores": _by_pattern(_codes),
    "calls": _by_pattern(_strings),
}

BY_PATTERN = {"per-file-ignores", "calls"}
