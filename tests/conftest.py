"""What the tests share: fixtures as modules, results compared, the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"

os.environ.setdefault("JAX_PLATFORMS", "cpu")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def forscan(tmp_path: Path) -> Run:
    """Runs the command in an empty folder, without colours."""

    def run(
        *arguments: str, stdin: str | bytes | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [sys.executable, "-m", "forscan", *arguments],
            input=given,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT), **environment},
            timeout=180,
            check=False,
        )
        assert "Traceback" not in done.stderr.decode()
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run
