"""What a run of the user's program has shown, read from plain files; nothing is run here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from forscan.config import Config

FOLDER = ".forscan"
FILE = "recording.json"
VERSION = 1

Functions = dict[str, dict[str, Any]]


def with_traced(config: Config, path: Path) -> Config:
    """The settings for a file, in which functions that ran under a trace are traced."""
    ran = tuple(name for name, noted in _functions(path).items() if noted["traced"])
    return replace(config, traced=(*config.traced, *ran)) if ran else config


def recorded_calls(path: Path, functions: Iterable[str]) -> tuple[str, ...]:
    """The calls that were recorded for some functions of a file, as expressions.

    Args:
      functions: dotted names. A function in another one is run by calls of that, if it was
        seen to run within one: the other may only make it.
    """
    recorded = _functions(path)
    wanted = {part for name in functions for part in _around(name, recorded)}
    return tuple(
        expression(name, call)
        for name, noted in recorded.items()
        if name in wanted
        for call in noted["calls"]
        if not call["why"]
    )


def expression(function: str, call: dict[str, Any]) -> str:
    """A recorded call as it can be given to --call."""
    arguments = f"recorded({call['key']!r})"
    named = f", **{arguments}.named" if call["named"] else ""
    return f"{function}(*{arguments}{named})"


def _around(name: str, recorded: Functions) -> Iterator[str]:
    """A dotted name, and those of the functions around it whose calls ran it."""
    yield name
    if name in recorded and recorded[name]["within"]:
        yield from _around(name.rpartition(".")[0], recorded)


def _functions(path: Path) -> Functions:
    """What was recorded for the functions of a file, by the nearest recording above it."""
    file = Path(os.path.realpath(path))
    for folder in file.parents:
        recording = folder / FOLDER / FILE
        try:
            changed = recording.stat().st_mtime_ns
        except OSError:
            continue
        return files_in(recording, changed).get(file.relative_to(folder).as_posix(), {})
    return {}


@lru_cache(maxsize=4)
def files_in(recording: Path, changed: int) -> dict[str, Functions]:
    """The functions in a recording by file; empty where it cannot be used.

    Args:
      changed: when it was written, so that it is read anew.
    """
    try:
        content = json.loads(recording.read_bytes())
        if content["version"] != VERSION:
            return {}
        files: dict[str, Functions] = content["files"]
        for noted in (n for functions in files.values() for n in functions.values()):
            noted["traced"], noted["within"], noted["why"]
            [(c["key"], c["why"], c["positional"], c["named"]) for c in noted["calls"]]
        return files
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
