"""Which files are meant, and how they are written."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
    """A file or a directory, and which of its loops are meant."""

    path: Path
    selection: Selection


_PLACES = tuple(
    re.compile(form)
    for form in (
        r"(?P<path>.+):(?P<line>[0-9]{1,9})",
        r"(?P<path>.+):(?P<line>[0-9]{1,9}):[0-9]{1,9}",
        r"(?P<path>.+):cell (?P<cell>[0-9]{1,9})",
    )
)


def parse_target(text: str) -> Target:
    """`file.py`, `file.py::function`, `file.py:LINE` or a directory.

    A place is taken as it is reported, too: `file.py:LINE:COLUMN`, and in notebooks
    `file.ipynb:cell N:LINE:COLUMN` or `file.ipynb:cell N`.

    Raises:
      TargetError: there is no such file or directory.
    """
    if text == "-":
        raise TargetError("-: stdin is no target here, only for `convert` and `check`, alone")
    if text and _exists(text):
        return Target(Path(text), Selection())
    path, sep, function = text.rpartition("::")
    if sep and _is_file(path):
        if not function:
            raise TargetError(f"{text}: no function is named behind ::")
        return Target(Path(path), Selection(function=function))
    for form in _PLACES:
        match = form.fullmatch(text)
        if match is not None:
            path, selection = _in_cell(match["path"], _place(match))
            if _is_file(path):
                return Target(Path(path), _checked(text, path, selection))
    raise TargetError(f"{text}: {_why_not(text)}")


def _place(match: re.Match[str]) -> Selection:
    line, cell = (match.groupdict().get(name) for name in ("line", "cell"))
    return Selection(line=int(line) if line else None, cell=int(cell) if cell else None)


def _in_cell(path: str, selection: Selection) -> tuple[str, Selection]:
    """A path without the cell behind it, and the place in that cell."""
    match = None if _is_file(path) else _PLACES[-1].fullmatch(path)
    if match is None or selection.line is None:
        return path, selection
    return match["path"], replace(selection, cell=int(match["cell"]))


def _checked(text: str, path: str, selection: Selection) -> Selection:
    is_notebook = path.endswith(".ipynb")
    if is_notebook and selection.cell is None:
        named = f"name one as '{path}:cell N:LINE'"
        raise TargetError(f"{text}: the lines of a notebook count in its cells: {named}")
    if not is_notebook and selection.cell is not None:
        raise TargetError(f"{text}: only a notebook has cells")
    return selection


def _exists(text: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(text).exists()
    return False


def _is_file(text: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(text) and Path(text).is_file()
    return False


def _why_not(text: str) -> str:
    try:
        os.stat(text)  # noqa: PTH116  # Path("") would be the current folder
    except OSError as e:
        return reason(e)
    return "cannot be read"


def reason(error: OSError) -> str:
    """What the system says about a failure, to stand behind a colon."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def python_files(
    folder: Path,
    excluded: Callable[[Path], bool],
    failed: Callable[[OSError], None],
) -> Iterator[Path]:
    """The Python files and notebooks below a folder, in order.

    Args:
      folder: where to start.
      excluded: whether a file or a folder is passed over.
      failed: is told of a folder that cannot be read.
    """
    for name, folders, files in os.walk(folder, onerror=failed):
        here = Path(name)
        folders[:] = sorted(f for f in folders if not _is_skipped(f) and not excluded(here / f))
        for path in (here / f for f in sorted(files) if f.endswith((".py", ".ipynb"))):
            if not excluded(path) and _may_be_read(path):
                yield path


def _is_skipped(folder: str) -> bool:
    return folder.startswith(".") or folder in _SKIPPED_FOLDERS


def _may_be_read(path: Path) -> bool:
    """Whether reading gives a file's content or says why not, but does not wait for it."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:  # a link that leads nowhere
        return False
    except OSError:
        return True


def replace_content(path: Path, before: bytes, after: bytes) -> None:
    """Writes a file that is still what it was when it was read.

    Raises:
      OSError: it is another file by now, or cannot be written.
    """
    if not path.is_file():
        raise OSError(0, "it is not a regular file")
    if path.read_bytes() != before:
        raise OSError(0, "the file has changed in the meantime")
    write_atomically(path, after)


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file by new content, or leaves it as it was.

    A link stays a link: what it points to is replaced. The mode is kept, and the owner
    where we may give files away.

    Raises:
      OSError: the file is read-only or its folder cannot be written.
    """
    real = path.resolve()
    old = real.stat()
    if not os.access(real, os.W_OK):  # replacing it would get round its permissions
        raise PermissionError(13, "the file is read-only", str(path))
    import tempfile

    handle, name = tempfile.mkstemp(dir=real.parent, prefix=".forscan-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _give(Path(name), old)
        Path(name).chmod(stat.S_IMODE(old.st_mode))
        Path(name).replace(real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _give(path: Path, old: os.stat_result) -> None:
    """Gives a file to the owner and the group of the one that it replaces, if we may."""
    if hasattr(os, "chown"):
        for owner in ((old.st_uid, -1), (-1, old.st_gid)):
            with contextlib.suppress(OSError):
                os.chown(path, *owner)
