"""What earlier checks have found, kept beside the project: `.forscan_cache`.

An answer is known by everything that it depends on: the bytes of the file, its name, its
settings (and with them what other files show to be traced), which loops were meant, the
version of forscan and of Python. So nothing in here can be out of date; what cannot be read
is as good as not there, and the folder may be removed at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from forscan import __version__
from forscan.refusal import Refusal
from forscan.types import FileResult, Outcome, Size, Span, Status

_FOLDER = ".forscan_cache"
_OURS = ("FSC904", "FSC905")  # faults of forscan are looked for again


class Cache:
    """The answers for one set of files.

    Args:
      files: the names of the files that are looked at together.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        name = _digest(*(os.fsencode(path) for path in files))
        self._folder = _root() / _FOLDER
        self._path = self._folder / f"{name}.json"
        self._state = _state()

    def key(self, path: Path, content: bytes, *rest: object) -> str:
        """What an answer about a file depends on."""
        return _digest(self._state, os.fsencode(path), repr(rest).encode(), content)

    def load(self, part: str) -> dict[str, Any]:
        """The answers by key; none where there are none, or none that can be read."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            found = json.loads(self._path.with_suffix(f".{part}").read_bytes())
            if isinstance(found, dict):
                return found
        return {}

    def save(self, part: str, answers: Mapping[str, Any]) -> None:
        """Keeps the answers in place of the earlier ones, if that can be done."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            ignore = self._folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# Made by forscan.\n*\n")
            path = self._path.with_suffix(f".{part}")
            new = path.with_suffix(f".{os.getpid()}")  # which nobody else writes to
            new.write_text(json.dumps(answers, separators=(",", ":")))
            new.replace(path)


def _root() -> Path:
    """The folder of the project that one stands in."""
    here = Path.cwd()
    marks = ("pyproject.toml", ".git")
    found = (f for f in (here, *here.parents) if any((f / mark).exists() for mark in marks))
    return next(found, here)


def _state() -> bytes:
    """The version of forscan, down to the files that it was read from, and of Python."""
    package = Path(__file__).parent
    files = sorted((e.path, e.stat()) for e in _below(str(package)) if e.name.endswith(".py"))
    shown = [(path, stat.st_mtime_ns, stat.st_size) for path, stat in files]
    return repr((__version__, sys.version, sys.getrecursionlimit(), shown)).encode()


def _below(folder: str) -> Iterable[os.DirEntry[str]]:
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _below(entry.path)
        else:
            yield entry


def _digest(*parts: bytes) -> str:
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


def packed(result: FileResult) -> list[Any] | None:
    """The result of a check as JSON; None where it is not to be kept."""
    reasons = [*(r for o in result.outcomes for r in o.reasons)]
    reasons += [result.error] if result.error is not None else []
    if any(r.code in _OURS for r in reasons):
        return None
    return [
        [_packed_outcome(o) for o in result.outcomes],
        _packed_refusals([result.error] if result.error is not None else []),
        list(result.missing),
        _packed_refusals(result.unused),
        [[number, text] for number, text in result.texts.items()],
    ]


def unpacked(found: Any, path: Path, content: bytes) -> FileResult:
    """The result of a check that was kept.

    Raises:
      TypeError, ValueError: somebody has changed it.
    """
    outcomes, error, missing, unused, texts = found
    return FileResult(
        path,
        content,
        content,
        tuple(_outcome(str(path), *fields) for fields in outcomes),
        next(iter(_refusals(error)), None),
        tuple(missing),
        _refusals(unused),
        {int(number): str(text) for number, text in texts},
    )


def _packed_outcome(o: Outcome) -> list[Any]:
    s = o.span
    return [
        [s.line, s.column, s.end_line, s.end_column],
        o.function,
        o.status.value,
        o.source,
        o.target,
        _packed_refusals(o.reasons),
        list(o.assumptions),
        o.named,
        [o.size.trips, o.size.operations] if o.size is not None else None,
        o.small,
        o.cell,
    ]


def _outcome(
    file: str,
    span: Any,
    function: str,
    status: str,
    source: str,
    target: str,
    reasons: Any,
    assumptions: Any,
    named: bool,
    size: Any,
    small: bool,
    cell: int | None,
) -> Outcome:
    return Outcome(
        file,
        Span(*span),
        function,
        Status(status),
        source,
        target,
        _refusals(reasons),
        tuple(assumptions),
        named,
        Size(*size) if size is not None else None,
        small,
        cell,
    )


def _packed_refusals(refusals: Iterable[Refusal]) -> list[Any]:
    return [[r.code, r.message, r.help, r.line, r.column] for r in refusals]


def _refusals(found: Any) -> tuple[Refusal, ...]:
    return tuple(Refusal(*fields) for fields in found)
