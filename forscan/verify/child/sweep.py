"""Measures many versions of one call: the cheap ones first, then all of them in turn."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .call import Call
from .compare import compare
from .errors import line
from .gradient import with_gradient
from .load import load
from .program import Program, inner_jaxprs, work
from .prove import same_outputs, same_shell
from .timing import CHEAP, run_figures, stage_figures
from .written import Written

Say = Callable[[dict[str, Any]], None]

_BUILDS = 2, 2  # besides the first: at least, at most
_MORE_BUILDS = 6, 24  # of the cheapest
_ROUNDS = range(5, 41)
_AGAIN = 0.25  # of the time that is left, for building the cheapest again, however dear that is
# Times the least total: what is dearer cannot be the best by bad luck alone, the less so the
# oftener it was measured.
_NEAR = (1.3, 1.15)
_SHARE = 0.5  # of the time that is left, for compiling one candidate


class Candidate:
    """One version of the call, and what is known about it.

    Args:
      index: its place in the job.
      unroll: how many iterations its loop runs at once, where it is one scan with a number.
    """

    def __init__(self, index: int, unroll: int | None, program: Program) -> None:
        self.index = index
        self.unroll = unroll
        self.program = program
        self.runs: list[float] = []
        self.reason = ""

    def work(self) -> int:
        """Operations that the compiler gets to see, about."""
        return work(self.program.jaxpr.jaxpr)

    def total(self, calls: int) -> float:
        """Seconds from the source to the end of so many calls."""
        first = sum(stage_figures(self.program).values())
        return first + calls * statistics.median(self.runs)

    def answer(self) -> dict[str, Any]:
        runs = self.runs
        if self.reason or not runs:
            return {"index": self.index, "reason": self.reason or "nothing was measured"}
        return {
            "index": self.index,
            "reason": "",
            **stage_figures(self.program),
            **run_figures(runs),
            "equations": self.program.equations,
            "stablehlo_lines": self.program.stablehlo_lines,
            "temp_bytes": self.program.temp_bytes,
        }


def sweep(job: dict[str, Any], say: Say) -> None:
    """Measures all candidates of a job; each answer is said as soon as there is one."""
    deadline = time.monotonic() + job["timeout"]
    found = [_candidate(job, index, say) for index in range(len(job["candidates"]))]
    traced = [c for c in found if not c.reason]
    first = found[0]
    if traced:
        say({"stage": "starting the compiler"})
        _warm(min(traced, key=Candidate.work))
    for candidate in sorted(traced, key=Candidate.work):
        say({"stage": f"compiling candidate {candidate.index + 1} of {len(found)}"})
        candidate.reason = _needless(candidate, traced) or _too_dear(candidate, traced, deadline)
        if not candidate.reason:
            candidate.program.compile()
            candidate.reason = _difference(first, candidate)
        if not candidate.reason:
            candidate.runs = [candidate.program.seconds() for _ in range(3)]
        say(candidate.answer())
    measured = [c for c in traced if c.runs]
    say({"stage": "measuring the candidates in turn"})
    _build(measured, _BUILDS, CHEAP, deadline)
    _run(measured, deadline)
    say({"stage": "measuring the cheapest again"})
    for factor in _NEAR:
        near = _near(measured, job["calls"], factor)
        left = max(0.0, deadline - time.monotonic())
        each = _AGAIN * left / (_MORE_BUILDS[0] * max(1, len(near)))
        _build(near, _MORE_BUILDS, max(CHEAP, each), deadline)
        _run(near, deadline)
    for candidate in measured:
        say(candidate.answer())


def _warm(candidate: Candidate) -> None:
    """Builds a candidate to no account: the first one would pay for the start of the compiler."""
    program = Program(candidate.program.source)
    program.call = candidate.program.call
    program.trace()
    program.compile()


def _candidate(job: dict[str, Any], index: int, say: Say) -> Candidate:
    say({"stage": f"tracing candidate {index + 1} of {len(job['candidates'])}"})
    version = job["candidates"][index]
    module = load(Path(job[version["source"]]), Path(job["path"]))
    program = Program(Call.parse(job["call"], module))
    if job["gradient"]:
        program.call = with_gradient(program.call, program.data)
    candidate = Candidate(index, version["unroll"], program)
    try:
        program.trace()
    except Exception as e:
        candidate.reason = f"it raises {line(e)}"
        say(candidate.answer())
    return candidate


def _needless(candidate: Candidate, others: list[Candidate]) -> str:
    """Unrolling by at least the trip count is unrolling the whole."""
    lengths = list(_lengths(candidate.program.jaxpr.jaxpr))
    if candidate.unroll is None or not lengths or candidate.unroll < max(lengths):
        return ""
    return f"the loop has {max(lengths)} iterations, so this is the same as unrolling it whole"


def _lengths(jaxpr: Any) -> Iterator[int]:
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            yield equation.params["length"]
        for inner in inner_jaxprs(equation):
            yield from _lengths(inner)


def _too_dear(candidate: Candidate, others: list[Candidate], deadline: float) -> str:
    """Compiling grows as a power of the operations; what has been seen says which."""
    points = sorted((c.work(), c.program.stages.compile_s[0]) for c in others if c.runs)
    left = max(0.0, deadline - time.monotonic())
    if len(points) < 2:
        return "" if left else "no time was left"
    (few, little), (many, much) = points[-2:]
    power = math.log(much / little) / math.log(many / few) if many > few else 1.0
    expected = much * (candidate.work() / many) ** min(max(power, 1.0), 2.0)
    if expected <= _SHARE * left:
        return ""
    return f"compiling it would take about {expected:.0f} s, extrapolated"


def _difference(first: Candidate, other: Candidate) -> str:
    """What differs from the version as it was written; empty where nothing does."""
    old, new = first.program, other.program
    if other is first:
        return ""
    shell = same_shell(old.shell, new.shell)
    written = Written((old, new))
    same = not shell and same_outputs(old.jaxpr, new.jaxpr, any_order=True)
    if shell or (same and written.proof()):
        return shell
    if written.own_objects:
        pair = written.run(old.data)
        if pair.raised:
            return "as it is written one version raises"
        found = pair.compared(lambda: None)
        if found.reason:
            return f"it computes something else as it is written: {found.reason}"
    # The original may be the dearest of all: it is compared with operation by operation.
    want = old.run_stepwise(old.data)
    have = new.run(new.data)
    found = compare(want, have, lambda: old.run_wide(old.data, eager=True))
    return f"it computes something else: {found.reason}" if found.reason else ""


def _near(candidates: list[Candidate], calls: list[int], factor: float) -> list[Candidate]:
    """Those that may be the cheapest for one of the numbers of calls."""
    found = []
    for count in calls:
        totals = [c.total(count) for c in candidates]
        found += [c for c, t in zip(candidates, totals, strict=True) if t <= factor * min(totals)]
    return [c for c in candidates if c in found]


# Candidates are measured in changing order: whatever else the machine does for a while then
# falls on all alike.


def _build(
    candidates: list[Candidate], times: tuple[int, int], most: float, deadline: float
) -> None:
    """Builds again what was built in less than so many seconds, as a second for each allows."""
    cheap = [c for c in candidates if c.program.stages.first < most]
    end = min(deadline, time.monotonic() + len(cheap))
    for count in range(times[1]):
        if count >= times[0] and time.monotonic() > end:
            break
        for candidate in cheap if count % 2 == 0 else cheap[::-1]:
            candidate.program.trace()
            candidate.program.compile()


def _run(candidates: list[Candidate], deadline: float) -> None:
    """Runs all as often as a second for each allows; earlier runs do not count."""
    for candidate in candidates:
        candidate.runs = []
    end = min(deadline, time.monotonic() + len(candidates))
    for count in range(_ROUNDS.stop):
        if count >= _ROUNDS.start and time.monotonic() > end:
            break
        for candidate in candidates if count % 2 == 0 else candidates[::-1]:
            candidate.runs.append(candidate.program.seconds())
