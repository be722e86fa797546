"""What the tests share: fixtures as modules, results compared, the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Nothing here is to run fast, and much of it is compiled.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

# Fixtures that use what came into jax behind the oldest version that is supported.
_NEWER = {
    "back/map_rows": (0, 4, 31),  # lax.map has a batch_size
    "carry/dataclass": (0, 4, 36),  # register_dataclass needs no names of fields
    "typed/attribute_of_self": (0, 4, 36),
}


def needs_newer_jax(fixture: Path) -> str:
    """Why a fixture cannot be run with this version of jax; empty where it can."""
    import jax

    name = f"{fixture.parent.name}/{fixture.name.partition('.')[0]}"
    needed = _NEWER.get(name, (0,))
    return f"{name} needs jax {needed}" if jax.__version_info__ < needed else ""


def runnable(fixtures: Iterable[Path]) -> list[Any]:
    """Fixtures as parameters of a test that runs them."""
    return [
        pytest.param(path, marks=pytest.mark.skipif(bool(why), reason=why))
        for path in fixtures
        for why in [needs_newer_jax(path)]
    ]


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
