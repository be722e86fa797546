"""A unified diff of one file, for people and for `git apply`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import click

from forscan.syntax.source import Source, SourceError

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def unified(path: Path, before: bytes, after: bytes) -> str:
    """What changed, without a newline behind the last line."""
    old, new = _lines(before), _lines(after)
    lines = difflib.unified_diff(old, new, _name(path), _name(path))
    return "\n".join(part for line in lines for part in _shown(line))


def _lines(content: bytes) -> list[str]:
    """Lines as git has them: other line ends than \\n stay in them."""
    try:
        encoding = Source.decode(content).encoding
    except SourceError:
        encoding = "utf-8"
    lines = content.decode(encoding, errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]


def _name(path: Path) -> str:
    """The name in a header, where a tab ends one with spaces in it."""
    return f"{path}\t" if " " in str(path) else str(path)


def _shown(line: str) -> Iterator[str]:
    text = line.removesuffix("\n")
    header = text.startswith(("+++ ", "--- "))
    yield click.style(text, fg=None if header else _COLOURS.get(text[:1]), bold=header or None)
    if text == line:
        yield "\\ No newline at end of file"
