"""The settings that hold for a file or a folder, and where each of them comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from forscan.config import Config, load, load_table
from forscan.keys import BY_PATTERN, KEYS


def settings_text(path: Path) -> str:
    """The table `[tool.forscan]` in full, as it could stand in a pyproject.toml.

    Raises:
      ConfigError: the configuration cannot be used.
    """
    folder = Path(os.path.realpath(path if path.is_dir() else path.parent))
    file, given = load_table(folder)
    config = load(folder)
    rows = []
    for key in KEYS:
        field = key.replace("-", "_")
        origin = str(file) if field in given else "default"
        value = getattr(config, field)
        shown = "{}" if key in BY_PATTERN and not value else _toml(value)
        rows.append((f"{key} = {shown}", origin))
    width = max(len(text) for text, _ in rows if len(text) < 60)
    lines = [f"{text:<{width}}  # {origin}" for text, origin in rows]
    about = [] if path.is_dir() else list(_about(path, config))
    return "\n".join(["[tool.forscan]", *lines, *about])


def _about(path: Path, config: Config) -> Iterator[str]:
    """What the patterns come to for one file."""
    if config.excludes_named(path):
        yield f"# {path} is excluded where folders are walked"
    codes = [
        codes for pattern, codes in config.per_file_ignores if config.matches(path, (pattern,))
    ]
    if codes:
        yield f"# in {path} these are not reported: {', '.join(c for cs in codes for c in cs)}"
    for call in config.calls_of(path):
        yield f"# {path} is verified by {call}"


def _toml(value: object) -> str:
    """A value as TOML; pairs of a pattern and a list are an inline table."""
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value) + " }"
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
