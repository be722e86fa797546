"""What each version costs to trace, lower, compile and run.

Ahead-of-time stages, the two versions in turn, `block_until_ready`, medians. The
first trace of a process pays for JAX's own start, so one goes before and is not
counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
from call import Program, copied, is_jitted

_CHEAP = 0.3  # seconds under which a stage is repeated
_RUN_BUDGET = 1.0
_MOST_RUNS = 30


def costs(old: Program, new: Program) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The costs of both versions; None where a stage fails."""
    try:
        new.trace()  # warm-up of the cheaper one
        stages = [_stages(p) for p in (old, new)]
        for figures, program in zip(stages, (old, new), strict=True):
            _repeat(figures, program)
        runs = _runs([s["compiled"] for s in stages], [old, new])
    except Exception:
        return None, None
    results = []
    for figures, times in zip(stages, runs, strict=True):
        results.append(
            {
                **{k: statistics.median(figures[k]) for k in ("trace_s", "lower_s", "compile_s")},
                "run_s": statistics.median(times),
                "equations": figures["equations"],
                "temp_bytes": figures["temp_bytes"],
            }
        )
    return results[0], results[1]


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = function()
    return time.perf_counter() - start, value


def _stages(program: Program) -> dict[str, Any]:
    jax.clear_caches()
    trace_s, traced = _timed(program.trace)
    lower_s, lowered = _timed(traced.lower)
    compile_s, compiled = _timed(lowered.compile)
    memory = None
    try:
        memory = int(compiled.memory_analysis().temp_size_in_bytes)
    except Exception:
        pass
    return {
        "trace_s": [trace_s], "lower_s": [lower_s], "compile_s": [compile_s],
        "compiled": compiled, "equations": _equations(traced.jaxpr.jaxpr),
        "temp_bytes": memory,
    }  # fmt: skip


def _repeat(figures: dict[str, Any], program: Program) -> None:
    """Repeats stages while they are cheap: single figures are noisy."""
    spent = sum(figures[k][0] for k in ("trace_s", "lower_s", "compile_s"))
    if spent > _CHEAP:
        return
    for _ in range(2):
        again = _stages(program)
        for key in ("trace_s", "lower_s", "compile_s"):
            figures[key] += again[key]


def _runs(compiled: list[Any], programs: list[Program]) -> list[list[float]]:
    """Run times of both versions, in turn."""
    times: list[list[float]] = [[], []]
    calls = [_caller(c, p) for c, p in zip(compiled, programs, strict=True)]
    for call in calls:
        call()
    start = time.perf_counter()
    while len(times[0]) < _MOST_RUNS and (
        len(times[0]) < 3 or time.perf_counter() - start < _RUN_BUDGET
    ):
        order = (0, 1) if len(times[0]) % 2 == 0 else (1, 0)
        for index in order:
            times[index].append(calls[index]())
    return times


def _caller(compiled: Any, program: Program) -> Callable[[], float]:
    """Runs a compiled program once and gives the seconds; arguments are made before."""

    def run() -> float:
        fresh = jax.block_until_ready([copied(leaf) for leaf in program.dynamic])
        if is_jitted(program.call.function):
            args, kwargs = program.rebuild(fresh)
            # Static arguments are part of the compiled program.
            wanted = compiled.in_tree
            args, kwargs = _without_static(args, kwargs, wanted)
            seconds, _ = _timed(lambda: jax.block_until_ready(compiled(*args, **kwargs)))
        else:
            seconds, _ = _timed(lambda: jax.block_until_ready(compiled(*fresh)))
        return seconds

    return run


def _without_static(
    args: tuple[Any, ...], kwargs: dict[str, Any], wanted: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Drops arguments until their tree is the one that the program takes."""
    if jax.tree.structure((args, kwargs)) == wanted:
        return args, kwargs
    from itertools import combinations

    keys = [*range(len(args)), *kwargs]
    for count in range(1, len(keys) + 1):
        for dropped in combinations(keys, count):
            kept = tuple(a for i, a in enumerate(args) if i not in dropped)
            named = {k: v for k, v in kwargs.items() if k not in dropped}
            if jax.tree.structure((kept, named)) == wanted:
                return kept, named
    raise ValueError("the arguments do not fit the compiled program")


def _equations(jaxpr: Any) -> int:
    """Equations of a jaxpr and of all jaxprs in it, each counted once."""
    count = 0
    for equation in jaxpr.eqns:
        count += 1
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    count += _equations(inner)
    return count
