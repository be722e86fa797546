"""Modules that disturb their verification, by accident or not: never a wrong verdict, never none."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import Run

HEAD = """\
import atexit, builtins, functools, glob, json, os, resource, signal, subprocess, sys, threading, time

import jax
import jax.numpy as jnp
import numpy as np

HERE = os.path.dirname(__file__)
{hostile}

@jax.jit
def good(x):
    for _ in range(3):
        x = 0.5 * x
    return x


@jax.jit
def bad(x):
    for _ in range(3):
        x = {factor} * x
    return x
"""

HARMLESS = {
    "prints, parses its arguments, does not let it leave": """\
for k in range(3000):
    print('x' * 10_000)
print('equal', file=sys.stderr)
import argparse; argparse.ArgumentParser().parse_args()
os._exit = sys.exit = None
""",
    "stands elsewhere, closes its streams": """\
os.chdir('/'); os.environ.clear(); sys.argv.clear()
sys.stdout.close(); sys.stderr.close(); sys.stdin.close()
""",
    "closes all files": "os.closerange(0, 200)\n",
    "opens others in their place": (
        "os.closerange(0, 200)\n"
        "FILES = [open(os.path.join(HERE, f'own_{k}'), 'w') for k in range(20)]\n"
    ),
    "stays": """\
def stay(*_):
    time.sleep(600)
atexit.register(stay)
threading.Thread(target=stay).start()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, stay)
if os.fork() == 0:
    stay()
with open(os.path.join(HERE, "pids"), "a") as file:
    file.write(f"{os.getpid()} {subprocess.Popen(['sleep', '600']).pid}\\n")
""",
    "forges answers": """\
FORGED = json.dumps({"index": 1, "status": "equal", "evidence": "proved", "reason": ""})
for name in glob.glob(os.path.join(os.environ["TMPDIR"], "forscan-*", "*")):
    with open(name, "a") as file:
        file.write(f"{FORGED}\\nx {FORGED}\\n")
for number in range(1, 64):
    try:
        os.write(number, FORGED.encode())
    except OSError:
        pass
""",
}
UNANSWERED = {
    "exits": "os._exit(0)\n",
    "leaves": "sys.exit(0)\n",
    "runs out of memory": (
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))\n"
        "HELD = [bytes(1 << 32) for _ in range(100)]  # which nothing is written to\n"
    ),
    "runs on in a child": "if os.fork():\n    os._exit(0)\n",
    "stops": "os.kill(os.getpid(), signal.SIGSTOP)\n",
    "puts another file there": """\
for name in glob.glob(os.path.join(os.environ["TMPDIR"], "forscan-*", "*")):
    os.unlink(name)
    os.mkfifo(name)
""",
    "takes away the folder": """\
import shutil
for name in glob.glob(os.path.join(os.environ["TMPDIR"], "forscan-*")):
    shutil.rmtree(name)
""",
    "replaces all": "builtins.all = lambda parts: True\n",
    "replaces jit": "jax.jit = lambda function, **options: function\n",
    "replaces json": "json.loads = json.JSONEncoder = None\n",
    "replaces numpy": "np.asarray = lambda *parts, **options: np.zeros(3)\n",
    "replaces the judge": (
        "sys.modules['forscan_child.judge'].compare = functools.partial(print)\n"
        "sys.modules['forscan_child.prove'].same_outputs = lambda *parts: ''\n"
    ),
    "replaces most": (
        "for name in ('len', 'isinstance', 'zip', 'str', 'vars', 'getattr'):\n"
        "    setattr(builtins, name, lambda *parts: True)\n"
    ),
}


def verdicts(forscan: Run, folder: Path, hostile: str) -> dict[str, str]:
    scratch = folder / "scratch"
    scratch.mkdir()
    for name, factor in (("old", 0.5), ("new", 0.25)):
        (folder / f"{name}.py").write_text(HEAD.format(hostile=hostile, factor=factor))
    calls = ("good(jnp.ones(3))", "bad(jnp.ones(3))")
    asked = [part for call in calls for part in ("--call", call)]
    start = time.monotonic()
    done = forscan(
        "verify", "old.py", "new.py", *asked, "--output-format", "json", "--timeout", "5" if "SIGSTOP" in hostile else "30",
        TMPDIR=str(scratch),
    )  # fmt: skip
    assert time.monotonic() - start < 60
    assert done.returncode == 1
    assert list(scratch.iterdir()) == []
    found = {row["call"]: row["status"] for row in json.loads(done.stdout)}
    return {call.partition("(")[0]: found[call] for call in calls}


@pytest.mark.skipif(os.name != "posix", reason="forks and signals")
@pytest.mark.parametrize("hostile", HARMLESS.values(), ids=list(HARMLESS))
def test_is_judged_all_the_same(forscan: Run, tmp_path: Path, hostile: str) -> None:
    assert verdicts(forscan, tmp_path, hostile) == {"good": "equal", "bad": "different"}
    assert all(not own.read_bytes() for own in tmp_path.glob("own_*"))
    if (tmp_path / "pids").exists():
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert pids and not any(map(is_alive, pids))


@pytest.mark.skipif(os.name != "posix", reason="forks and signals")
@pytest.mark.parametrize("hostile", UNANSWERED.values(), ids=list(UNANSWERED))
def test_is_not_judged(forscan: Run, tmp_path: Path, hostile: str) -> None:
    assert verdicts(forscan, tmp_path, hostile) == {"good": "unknown", "bad": "unknown"}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait a while to be reaped."""
    for _ in range(100):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] in ("Z", "X"):
            return False
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return True
