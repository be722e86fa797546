"""What the writers of `lax` loops share: packing values into and out of tuples."""

from __future__ import annotations

from forscan.model import Refusal
from forscan.syntax.fresh import Fresh

NO_LAMBDA = Refusal(
    "FSC304",
    "the body has statements, and a lambda holds one expression only",
    "Move the body into a function that the lambda calls, or use `--body def`.",
)


def packed(items: list[str]) -> str:
    """One item bare, several as a tuple, none as None."""
    if len(items) == 1:
        return items[0]
    return f"({', '.join(items)})" if items else "None"


def unpacked(items: list[str]) -> str:
    """A target that takes the items apart, without the outer parentheses."""
    return ", ".join(items)


def parameter(patterns: list[str], fresh: Fresh, *wishes: str) -> tuple[str, list[str]]:
    """A parameter for the patterns, and the statement that takes it apart."""
    if not patterns:
        return "_", []
    if len(patterns) == 1 and patterns[0].isidentifier():
        return patterns[0], []
    name = fresh.name(*wishes)
    return name, [f"{unpacked(patterns)} = {name}"]


def may_forget(fresh: Fresh) -> bool:
    """Whether the name `_` is free to take what nobody needs."""
    return "_" not in fresh.read


def spaced(before: list[str], lines: list[str]) -> list[str]:
    """The lines, with a blank one in front of a definition that follows statements."""
    needs_gap = before and lines and lines[0].startswith(("def ", "@"))
    gap = [""] if needs_gap and not before[-1].startswith("#") else []
    return [*before, *gap, *lines]
