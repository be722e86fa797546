"""Whether `forscan tune` chooses well: its choice against a sweep of every form and unrolling.

Run as `python -m tests.benchmarks.tune [CASE]...`. For each case `tune` chooses once. Then all
candidates, with many more unrollings than `tune` tries, are measured several times, and what was
chosen is looked up there: how much dearer it is than the best. A sweep measures its candidates in
turn, so a total counts as its ratio to the middle of its sweep, whatever the machine does besides;
of each ratio the median of the sweeps is taken. The least of fifty noisy figures is less than
what it stands for, so the cheapest of the sweep and what was chosen are measured against each other
once more, and these figures count. How far they are apart is shown: it bounds what can be told.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from forscan import tune
from forscan.config import Config
from forscan.types import Selection

CALLS = (1, 100, 10_000)
SWEEPS = 3
FINALS = 5
FINALISTS = 3  # of the sweep, for each number of calls
UNROLLS = (None, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, True)
UNROLLS_OF_SEVERAL = (None, 2, 4, 8, True)
TIMEOUT = 300.0


@dataclass(frozen=True)
class Case:
    body: str
    call: str
    gradient: bool = False


CASES = {
    "tiny body": Case(
        "def f(x):\n    for _ in range(100):\n        x = 0.5 * x + 1.0\n    return x\n",
        "f(jnp.ones(16))",
    ),
    "matmul body": Case(
        "def f(x, w):\n    for _ in range(40):\n        x = jnp.tanh(w @ x)\n    return x\n",
        "f(jnp.ones((128, 32)), jnp.eye(128))",
    ),
    "long loop": Case(
        "def f(x):\n    for _ in range(3000):\n        x = x + 0.01 * jnp.sin(x)\n    return x\n",
        "f(jnp.ones(8))",
    ),
    "nested": Case(
        "def f(x):\n    for _ in range(12):\n        for _ in range(8):\n"
        "            x = x + 0.1 * jnp.cos(x)\n        x = x / 2.0\n    return x\n",
        "f(jnp.ones(32))",
    ),
    "stacked outputs": Case(
        "def f(x, ws):\n    xs = []\n    for i in range(80):\n        x = 0.9 * x + ws[i]\n"
        "        xs.append(x)\n    return jnp.stack(xs)\n",
        "f(jnp.ones(64), jnp.ones((80, 64)))",
    ),
    "gradient": Case(
        "def f(x, w):\n    for _ in range(30):\n        x = jnp.tanh(w @ x)\n    return x\n",
        "f(jnp.ones(64), jnp.eye(64))",
        gradient=True,
    ),
}


def tuned(case: Case) -> tune.Tuning:
    source = f"import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\n{case.body}".encode()
    return tune.tune_source(
        source,
        Path("case.py"),
        case.call,
        CALLS,
        Config(),
        Selection(),
        gradient=case.gradient,
        timeout=TIMEOUT,
    )


def swept(case: Case) -> list[tune.Tuning]:
    with (
        patch.object(tune, "_UNROLLS", UNROLLS),
        patch.object(tune, "_FEW_UNROLLS", UNROLLS_OF_SEVERAL),
        patch.object(tune, "_MOST", 100),
    ):
        return [tuned(case) for _ in range(SWEEPS)]


def finals(case: Case, finalists: list[tune.Candidate]) -> list[tune.Tuning]:
    with patch.object(tune, "candidates", lambda *_: tuple(finalists)):
        return [tuned(case) for _ in range(FINALS)]


def cheapest(found: dict[str, list[float]]) -> list[str]:
    return sorted(found, key=lambda label: statistics.median(found[label]))


def totals(sweeps: list[tune.Tuning], calls: int) -> dict[str, list[float]]:
    """By candidate its total in each sweep, as a ratio to the sweep's median; if in all."""
    found: dict[str, list[float]] = {}
    for sweep in sweeps:
        known = {c.label: t for c in sweep.candidates if (t := c.total(calls)) is not None}
        middle = statistics.median(known.values())
        for label, total in known.items():
            found.setdefault(label, []).append(total / middle)
    return {label: each for label, each in found.items() if len(each) == len(sweeps)}


def main(names: list[str]) -> None:
    print("| case | calls | chosen | cheapest | dearer by | measurements apart |")
    print("| --- | ---: | --- | --- | ---: | ---: |")
    for name in names or CASES:
        chosen, sweeps = tuned(CASES[name]), swept(CASES[name])
        wanted = {best.label for n in CALLS if (best := chosen.best(n))}
        for calls in CALLS:
            wanted.update(cheapest(totals(sweeps, calls))[:FINALISTS])
        finalists = [c for c in sweeps[0].candidates if c.label in wanted]
        last = finals(CASES[name], finalists)
        for calls in CALLS:
            best, found = chosen.best(calls), totals(last, calls)
            if best is None or best.label not in found:
                print(f"| {name} | {calls:,} | {best and best.label} | not measured | | |")
                continue
            middle = {label: statistics.median(each) for label, each in found.items()}
            least = cheapest(found)[0]
            spread = statistics.median(max(e) / min(e) - 1 for e in found.values())
            dearer = middle[best.label] / middle[least] - 1
            print(
                f"| {name} | {calls:,} | {best.label} | {least}, of {len(sweeps[0].candidates)} "
                f"| {dearer:.1%} | {spread:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
