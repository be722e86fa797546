"""What recording costs: a start of Python, and a call of a function with a loop.

Run as `python -m tests.benchmarks.record`. A call is looked at closely at first, and then
only now and then, so the mean of many calls is shown.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT

CALLS = 200_000
ROUNDS = 7
TIMED = f"""\
import time
import jax.numpy as jnp


def f(x, n):
    for _ in range(n):
        x = x
    return x


x = jnp.ones(1000)
start = time.perf_counter()
for _ in range(100):
    f(x, 1)
first = time.perf_counter() - start
start = time.perf_counter()
for _ in range({CALLS}):
    f(x, 1)
print(first / 100, (time.perf_counter() - start) / {CALLS})
"""


def run(*command: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> None:
    record = (sys.executable, "-m", "forscan", "record", "--")
    show = "import time; print(time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID))"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "timed.py").write_text(TIMED)
        for label, prefix in (("plain", ()), ("recorded", record)):
            starts, firsts, calls = [], [], []
            for _ in range(ROUNDS):
                starts.append(float(run(*prefix, sys.executable, "-c", show, folder=folder)))
                first, call = run(*prefix, sys.executable, "timed.py", folder=folder).split()
                firsts.append(float(first))
                calls.append(float(call))
            print(
                f"{label:9} start {spread(starts, 1e3)} ms, "
                f"one of the first 100 calls {spread(firsts, 1e6)} µs, "
                f"one of {CALLS:,} calls {spread(calls, 1e9)} ns"
            )


def spread(figures: list[float], unit: float) -> str:
    low, middle, high = statistics.quantiles([f * unit for f in figures], n=4)
    return f"{middle:.3g} ± {high - low:.2g}"


if __name__ == "__main__":
    main()
