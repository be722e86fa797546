"""Which files are meant, and how they are written."""

from __future__ import annotations

import fnmatch
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forscan.types import Selection

_SKIPPED_FOLDERS = {
    "__pycache__",
    "node_modules",
    "build",
    "dist",
    "venv",
    "site-packages",
}


class TargetError(Exception):
    """A target on the command line that means no file."""


@dataclass(frozen=True)
class Target:
    """One file, and which of its loops are meant."""

    path: Path
    selection: Selection


def parse_target(text: str) -> Target:
    """`file.py`, `file.py::function`, `file.py:LINE` or a directory.

    Raises:
      TargetError: there is no such file or directory.
    """
    if Path(text).exists():
        return Target(Path(text), Selection())
    path, sep, function = text.rpartition("::")
    if sep and Path(path).is_file():
        if not function:
            raise TargetError(f"{text}: no function is named behind ::")
        return Target(Path(path), Selection(function=function))
    path, sep, line = text.rpartition(":")
    if sep and line.isdigit() and Path(path).is_file():
        return Target(Path(path), Selection(line=int(line)))
    raise TargetError(f"{text}: no such file or directory")


def expand(target: Target, exclude: tuple[str, ...]) -> Iterator[Target]:
    """The files of a target: itself, or the Python files below a directory."""
    if not target.path.is_dir():
        yield target
        return
    for folder, names, files in os.walk(target.path):
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            path = Path(folder) / name
            if name.endswith(".py") and not _excluded(path, exclude):
                yield Target(path, target.selection)


def _excluded(path: Path, patterns: tuple[str, ...]) -> bool:
    text = path.as_posix()
    return any(
        fnmatch.fnmatch(text, p) or fnmatch.fnmatch(text, f"*/{p}") or p in path.parts
        for p in patterns
    )


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file by new content, or leaves it as it was.

    A link stays a link: what it points to is replaced. The mode is kept.

    Raises:
      OSError: the file is read-only or its folder cannot be written.
    """
    real = path.resolve()
    mode = real.stat().st_mode
    if not os.access(real, os.W_OK):  # replacing it would get round its permissions
        raise PermissionError(13, "the file is read-only", str(path))
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(stat.S_IMODE(mode))
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
