"""The standard streams, which may be closed, full, or too narrow for a file's name."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def prepare() -> None:
    """Makes sure that the output can be written, and that a request to stop is one.

    Raises:
      OSError: stdout is closed.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, "stdout is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr is from the start
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A handler needs the main thread; `nohup` has said to ignore the signal.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(ValueError):
                signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """Ends the program as an exception does, so that processes and files are cleared away."""
    raise SystemExit(128 + number)


def read_stdin() -> bytes:
    """All of stdin.

    Raises:
      OSError: it is closed, or no file.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, "stdin is closed")
    return sys.stdin.buffer.read()


def write_stdout(content: bytes) -> None:
    """Writes bytes as they are.

    Raises:
      OSError: they cannot be written.
    """
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def abandon() -> None:
    """Drops what could not be written: at its end the interpreter would try again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
