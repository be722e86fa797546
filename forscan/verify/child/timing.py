"""What each version costs: ahead-of-time stages, the versions in turn, medians."""

from __future__ import annotations

import statistics
import time
from typing import Any

from .program import Program

CHEAP = 0.5  # seconds under which building both is repeated: one figure is noisy
_BUILDS = 3
_RUN_BUDGET = 1.0
_RUNS = range(3, 31)


def costs(old: Program, new: Program) -> tuple[dict[str, Any], dict[str, Any]]:
    """The costs of two programs that were built once, or one of them not at all."""
    if old.estimate or new.estimate:
        return of_one(old), of_one(new)
    if old.stages.first + new.stages.first < CHEAP:
        for _ in range(_BUILDS - 1):
            for program in (old, new):
                program.trace()
                program.compile()
    runs = _interleaved(old, new)
    return _figures(old, runs[0]), _figures(new, runs[1])


def _interleaved(old: Program, new: Program) -> tuple[list[float], list[float]]:
    """Run times of both, in turn and in changing order; the first runs do not count."""
    old.seconds(), new.seconds()
    times: tuple[list[float], list[float]] = ([], [])
    start = time.perf_counter()
    while len(times[0]) < _RUNS.stop - 1:
        if len(times[0]) >= _RUNS.start and time.perf_counter() - start > _RUN_BUDGET:
            break
        order = (0, 1) if len(times[0]) % 2 == 0 else (1, 0)
        for index in order:
            times[index].append((old, new)[index].seconds())
    return times


def _figures(program: Program, runs: list[float]) -> dict[str, Any]:
    return {
        **stage_figures(program),
        **run_figures(runs),
        "equations": program.equations,
        "stablehlo_lines": program.stablehlo_lines,
        "temp_bytes": program.temp_bytes,
    }


def of_one(program: Program) -> dict[str, Any]:
    """The costs of a program beside which no other is run."""
    if program.estimate is None:
        program.seconds()
        return _figures(program, [program.seconds() for _ in range(_RUNS.stop - 1)])
    return {
        "trace_s": statistics.median(program.stages.trace_s),
        "compile_s": program.estimate.seconds,
        "compile_fit": program.estimate.fit,
        "equations": program.equations,
    }


def stage_figures(program: Program) -> dict[str, float]:
    """The median of each stage that was run."""
    stages = program.stages
    return {
        "trace_s": statistics.median(stages.trace_s),
        "lower_s": statistics.median(stages.lower_s),
        "compile_s": statistics.median(stages.compile_s),
    }


def run_figures(runs: list[float]) -> dict[str, float]:
    """The median of some run times, and the distance between their quarters."""
    low, middle, high = statistics.quantiles(runs, n=4)
    return {"run_s": middle, "run_spread_s": high - low}
