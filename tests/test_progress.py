"""What goes on is shown on a terminal, and is gone when there is an answer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run
from tests.samples import DECAY

pty = pytest.importorskip("pty", reason="there are no terminals of this kind on Windows")

CALL = ("--call", "decay(jnp.ones(3), jnp.ones((4, 3)))")
COMMANDS = {
    "verify": ("verify", "a.py", *CALL),
    "convert": ("convert", "a.py", "--check", *CALL),
    "tune": ("tune", "a.py:6", *CALL, "--timeout", "20"),
}


def on_terminal(folder: Path, *arguments: str) -> str:
    """All that a command writes to stderr where that is a terminal."""
    (folder / "a.py").write_text(DECAY)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "forscan", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)},
    ):
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError as e:  # how Linux says that nobody writes any more
                if e.errno != errno.EIO:
                    raise
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return shown.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_stages_take_turns_in_one_line(tmp_path: Path, name: str) -> None:
    shown = on_terminal(tmp_path, *COMMANDS[name])
    head, *stages = shown.split("\r\033[K")
    assert head == ""
    assert len(stages) > 1
    left = stages.pop()  # what stands on the screen in the end
    assert all(stages) and not any("\n" in stage for stage in stages)
    assert not any(stage in left for stage in stages)


def test_the_line_is_cleared_when_time_is_up(tmp_path: Path) -> None:
    shown = on_terminal(tmp_path, "verify", "a.py", *CALL, "--timeout", "0.8")
    assert "no result within" not in shown.rpartition("\r\033[K")[0]


def test_nothing_elsewhere(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DECAY)
    assert forscan(*COMMANDS["verify"]).stderr == ""
