"""What is asked for: the command line over `[tool.forscan]` over the defaults."""

from __future__ import annotations

import fnmatch
import os
from dataclasses import dataclass, replace
from pathlib import Path

ByPattern = tuple[tuple[str, tuple[str, ...]], ...]


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


@dataclass(frozen=True)
class Config:
    """The settings for the files of one folder.

    Attributes:
      to: the form to convert to: `scan`, `fori` or `for`.
      unroll: the hint written into scans, as Python.
      body: write the body function as `def` or `lambda`; None keeps it.
      params: let the body read loop-invariant values by `closure` or `carry`.
      everything: treat all functions as traced.
      traced: patterns of dotted function names that are traced; with `@` in front, of
        decorators.
      exclude: patterns of paths that are passed over in directories.
      line_length: for the lines that are generated.
      min_trips, min_ops: loops of fewer iterations, and loops that unroll to fewer
        operations, are not worth a word.
      per_file_ignores: patterns of paths -> codes, or beginnings of codes.
      calls: patterns of paths -> calls that verify their functions.
      root: the folder that patterns of paths start from; None without a file.
    """

    to: str = "scan"
    unroll: str | None = None
    body: str | None = None
    params: str | None = None
    everything: bool = False
    traced: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    line_length: int = 88
    min_trips: int = 2
    min_ops: int = 0
    per_file_ignores: ByPattern = ()
    calls: ByPattern = ()
    root: Path | None = None

    @property
    def restyles(self) -> bool:
        """Whether loops that have the target form already are written anew."""
        return any(v is not None for v in (self.unroll, self.body, self.params))

    def excludes(self, path: Path) -> bool:
        """Whether a path is to be passed over."""
        return self.matches(path, self.exclude)

    def excludes_named(self, path: Path) -> bool:
        """Whether a file that is named is passed over, or a folder that holds it."""
        whole = Path(os.path.realpath(path))
        inside = [p for p in (whole, *whole.parents) if self.root and p.is_relative_to(self.root)]
        return any(self.excludes(p) for p in inside)

    def ignores(self, path: Path, code: str) -> bool:
        """Whether a code is not reported in a file."""
        return any(
            code.startswith(codes) and self.matches(path, (pattern,))
            for pattern, codes in self.per_file_ignores
        )

    def calls_of(self, path: Path) -> tuple[str, ...]:
        """The calls that verify the functions of a file."""
        found = [calls for pattern, calls in self.calls if self.matches(path, (pattern,))]
        return tuple(dict.fromkeys(call for calls in found for call in calls))

    def matches(self, path: Path, patterns: tuple[str, ...]) -> bool:
        """Whether a pattern fits the path from the root on, its end, or one of its parts."""
        if self.root is not None and patterns:
            whole = Path(os.path.realpath(path))
            path = whole.relative_to(self.root) if whole.is_relative_to(self.root) else path
        text = path.as_posix()
        return any(
            fnmatch.fnmatch(text, p) or fnmatch.fnmatch(text, f"*/{p}") or p in path.parts
            for p in patterns
        )


def load(start: Path) -> Config:
    """The configuration that holds for files in a folder: the nearest `[tool.forscan]`.

    Args:
      start: the folder, as an absolute path without links.

    Raises:
      ConfigError: unreadable file, unknown key or value of the wrong type.
    """
    path, changes = load_table(start)
    if path is None:
        return Config()
    return replace(Config(root=path.parent), **changes)  # type: ignore[arg-type]


def load_table(start: Path) -> tuple[Path | None, dict[str, object]]:
    """The file whose `[tool.forscan]` holds in a folder, and the fields that it sets.

    Raises:
      ConfigError: unreadable file, unknown key or value of the wrong type.
    """
    for folder in [start, *start.parents]:
        path = folder / "pyproject.toml"
        table = _table(path)
        if table is not None:
            return path, {k.replace("-", "_"): _checked(path, k, v) for k, v in table.items()}
    return None, {}


def _table(path: Path) -> dict[str, object] | None:
    """The table `[tool.forscan]` of a file; None where there is no file or no table."""
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read: {e.strerror}") from None
    if b"forscan" not in content:  # nor is it our affair whether the rest is right
        return None
    import tomllib

    try:
        tool = tomllib.loads(content.decode()).get("tool", {})
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"{path}: {e}") from None
    if not isinstance(tool, dict):
        raise ConfigError(f"{path}: [tool] is not a table")
    table = tool.get("forscan")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.forscan] is not a table")
    return table


def _checked(path: Path, key: str, value: object) -> object:
    from forscan.keys import KEYS, KeyFault

    try:
        if key not in KEYS:
            raise KeyFault.unknown(key)
        return KEYS[key](value)
    except KeyFault as e:
        said = str(e) if key not in KEYS else f"{key} in [tool.forscan] {e}"
        raise ConfigError(f"{path}: {said}") from None
