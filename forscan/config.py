"""What is asked for: the command line over `[tool.forscan]` over the defaults."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

TARGETS = ("scan", "fori", "for")


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


@dataclass(frozen=True)
class Config:
    """The settings for one file.

    Attributes:
      to: the form to convert to: `scan`, `fori` or `for`.
      unroll: the hint written into scans, as Python.
      body: write the body function as `def` or `lambda`; None keeps it.
      params: let the body read loop-invariant values by `closure` or `carry`.
      everything: treat all functions as traced.
      traced: patterns of dotted function names that are traced.
      exclude: patterns of paths that are passed over in directories.
      line_length: for the lines that are generated.
    """

    to: str = "scan"
    unroll: str | None = None
    body: str | None = None
    params: str | None = None
    everything: bool = False
    traced: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    line_length: int = 88

    @property
    def restyles(self) -> bool:
        """Whether loops that have the target form already are written anew."""
        return any(v is not None for v in (self.unroll, self.body, self.params))


_KEYS = {"to": str, "traced": list, "exclude": list, "line-length": int}
_LINE_LENGTHS = range(20, 501)


def load(start: Path) -> Config:
    """The configuration that holds for files in a folder: the nearest `[tool.forscan]`.

    Raises:
      ConfigError: unreadable file, unknown key or value of the wrong type.
    """
    for folder in [start, *start.parents]:
        path = folder / "pyproject.toml"
        table = _table(path)
        if table is not None:
            changes = {k.replace("-", "_"): _checked(path, k, v) for k, v in table.items()}
            return replace(Config(), **changes)  # type: ignore[arg-type]
    return Config()


def _table(path: Path) -> dict[str, object] | None:
    """The table `[tool.forscan]` of a file; None where there is no file or no table."""
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read: {e.strerror}") from None
    if b"forscan" not in content:  # nor is it our affair whether the rest is right
        return None
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
    kind = _KEYS.get(key)
    if kind is None:
        near = difflib.get_close_matches(key, _KEYS, 1)
        hint = f", did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"{path}: unknown key {key!r} in [tool.forscan]{hint} "
            f"(known: {', '.join(sorted(_KEYS))})"
        )
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ConfigError(f"{path}: {key} in [tool.forscan] must be a {kind.__name__}")
    if isinstance(value, list):
        if not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{path}: {key} in [tool.forscan] must hold strings")
        return tuple(value)
    if isinstance(value, int) and value not in _LINE_LENGTHS:
        bounds = f"from {_LINE_LENGTHS[0]} to {_LINE_LENGTHS[-1]}"
        raise ConfigError(f"{path}: {key} in [tool.forscan] must be {bounds}")
    if key == "to" and value not in TARGETS:
        raise ConfigError(f"{path}: to in [tool.forscan] must be one of {', '.join(TARGETS)}")
    return value
