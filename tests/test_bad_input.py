"""Input that cannot be read, decoded, parsed or written, and input that is only unusual.

Whatever comes: the right exit code, one clear line on stderr for what went wrong, never a
traceback (the fixture `forscan` looks), and no file changed but by a conversion.
"""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from tests.conftest import ROOT, Run

DECAY = b"""\
import jax


@jax.jit
def decay(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x
"""

DECAY_SCAN = b"""\
import jax


@jax.jit
def decay(x, ws):
    def step(x, ws_i):
        x = 0.5 * x + ws_i
        return x, None

    x, _ = jax.lax.scan(step, x, ws[:4], length=4)
    return x
"""

BOM = b"\xef\xbb\xbf"
SUMMARIES = ("found: ", "converted: ", "would convert: ")


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr without the summary at the end."""
    return [line for line in done.stderr.splitlines() if not line.startswith(SUMMARIES)]


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what was wrong."""
    (line,) = complaints(done)
    return line


# What cannot be read, decoded or parsed.


@pytest.mark.parametrize("command", ["check", "convert"])
@pytest.mark.parametrize(
    "target", ["gone.py", "gone/", "gone.py::f", "gone.py:3", "a.py::", "a.py/b.py", ""]
)
def test_target_that_is_not_there(
    forscan: Run, tmp_path: Path, command: str, target: str
) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    if target == "":
        pytest.xfail("the empty name is taken for the current directory")
    done = forscan(command, target)
    assert done.returncode == 2
    assert complaint(done).startswith(f"forscan: {target}: ")
    assert done.stdout == ""
