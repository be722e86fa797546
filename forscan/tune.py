"""Which form of a loop is the cheapest: candidates made by the converter, then measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.plan import FORMS
from forscan.types import Outcome, Selection, Status
from forscan.verify import Cost, run_child
from forscan.verify.result import preparation

Unroll = int | bool | None

_UNROLLS: tuple[Unroll, ...] = (None, 2, 4, 8, 16, 32, True)
_FEW_UNROLLS: tuple[Unroll, ...] = (None, 4, True)
_MOST = 32  # candidates for the loops of one function together


@dataclass(frozen=True)
class Choice:
    """What one loop is made into.

    Attributes:
      line: where the loop stands in the file as it is.
      form: `for`, `scan` or `fori_loop`.
      unroll: the hint of a scan.
    """

    line: int
    form: str
    unroll: Unroll = None

    def __str__(self) -> str:
        return self.form if self.unroll is None else f"{self.form} unroll {self.unroll}"


@dataclass(frozen=True)
class Candidate:
    """A version of the file, one choice for each loop, and what it was measured to cost.

    Attributes:
      reason: why it was not measured, empty where it was.
    """

    choices: tuple[Choice, ...]
    source: bytes
    cost: Cost | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        return " / ".join(map(str, self.choices))

    def total(self, calls: int) -> float | None:
        """Seconds from the source to the end of so many calls."""
        first = preparation(self.cost) if self.cost else None
        if self.cost is None or first is None or self.cost.run_s is None:
            return None
        return first + calls * self.cost.run_s

    def as_json(self, calls: Sequence[int]) -> dict[str, Any]:
        cost = self.cost or Cost()
        choices = [{"line": c.line, "form": c.form, "unroll": c.unroll} for c in self.choices]
        return {
            "form": " / ".join(c.form for c in self.choices),
            "unroll": self.choices[0].unroll if len(self.choices) == 1 else None,
            "loops": choices,
            **asdict(cost),
            "total_s": self.total(calls[-1]),
            "totals_s": {str(n): self.total(n) for n in calls},
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Tuning:
    """What was measured for one call.

    Attributes:
      calls: how often the call may be made; each has a best candidate of its own.
      why: why there is nothing, where nothing was measured.
    """

    file: str
    function: str
    call: str
    calls: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    why: str = ""

    def best(self, calls: int) -> Candidate | None:
        known = [(t, k) for k, c in enumerate(self.candidates) if (t := c.total(calls)) is not None]
        return self.candidates[min(known)[1]] if known else None

    def as_json(self) -> dict[str, Any]:
        best = {str(n): b.label if (b := self.best(n)) else None for n in self.calls}
        return {
            "file": self.file,
            "function": self.function,
            "call": self.call,
            "candidates": [c.as_json(self.calls) for c in self.candidates],
            "best": best[str(self.calls[-1])],
            "best_by_calls": best,
            "reason": self.why,
        }


def candidates(
    content: bytes, path: Path, config: Config, selection: Selection
) -> tuple[Candidate, ...]:
    """The versions of a file in which its loops have other forms, as it is first."""
    loops = _loops(content, path, config, selection)
    if not loops:
        return ()
    found = {content: Candidate(tuple(Choice(o.span.line, o.source) for o in loops), content)}
    for choices in _grid(loops):
        source = _with(content, path, config, choices)
        if source is not None and source not in found:
            found[source] = Candidate(choices, source)
    return tuple(found.values())


def _loops(content: bytes, path: Path, config: Config, selection: Selection) -> list[Outcome]:
    """The loops that can get another form, in the order of the file."""
    found: dict[int, Outcome] = {}
    for to in FORMS:
        result = convert_bytes(content, path, replace(config, to=to), selection)
        for outcome in result.outcomes:
            if outcome.status is Status.CONVERTED:
                found[outcome.span.line] = outcome
    return [found[line] for line in sorted(found)]


def _grid(loops: list[Outcome]) -> list[tuple[Choice, ...]]:
    """Every choice for one loop; for several the product of a few choices for each."""
    for unrolls in (_UNROLLS, _FEW_UNROLLS, (None,)):
        options = [_options(loop.span.line, unrolls) for loop in loops]
        if len(loops) == 1 or prod(map(len, options)) <= _MOST:
            return list(product(*options))
    return [tuple(replace(c, line=o.span.line) for o in loops) for c in options[0]]


def _options(line: int, unrolls: tuple[Unroll, ...]) -> list[Choice]:
    scans = [Choice(line, "scan", unroll) for unroll in unrolls]
    return [*scans, Choice(line, "fori_loop"), Choice(line, "for")]


def _with(content: bytes, path: Path, config: Config, choices: Sequence[Choice]) -> bytes | None:
    """The file with each loop in the form chosen for it; None where one cannot have it."""
    names = {form: to for to, form in FORMS.items()}
    headers = content.splitlines()
    for choice in reversed(choices):  # from the end: what is above keeps its place
        wanted = replace(
            config, to=names[choice.form], unroll=str(choice.unroll) if choice.unroll else None
        )
        header = headers[choice.line - 1]
        lines = [k for k, text in enumerate(content.splitlines(), 1) if text == header]
        if not lines:
            return None
        line = min(lines, key=lambda k: abs(k - choice.line))  # imports may have come
        result = convert_bytes(content, path, wanted, Selection(line=line))
        here = [o for o in result.outcomes if o.span.line == line]
        fine = all(o.status is Status.CONVERTED for o in here)
        if not fine or (choice.unroll and not result.changed):
            return None
        content = result.after
    return content


def tune_source(
    content: bytes,
    path: Path,
    call: str,
    calls: Sequence[int],
    config: Config,
    selection: Selection,
    *,
    gradient: bool = False,
    python: str = sys.executable,
    platform: str | None = None,
    timeout: float = 300.0,
    progress: Callable[[str], None] | None = None,
) -> Tuning:
    """Measures the forms that the loops of a file can have, for one call.

    Args:
      content, path: the file.
      call: an expression such as `f(jnp.ones(3))`.
      calls: how often it may be made in a process.
      config, selection: style, and which loops are meant.
      gradient: measure value and gradient together.
      python: the interpreter that runs the user's code.
      platform: where jax runs it; as jax chooses where it is None.
      timeout: seconds for everything.
      progress: is told what goes on.

    Raises:
      VerifyUnavailable: the interpreter cannot be started, or cannot import jax.
    """
    function = call.split("(")[0].strip()
    versions = candidates(content, path, config, selection)
    tuning = Tuning(str(path), function, call, tuple(calls), versions)
    if len(versions) < 2:
        return replace(tuning, why="no loop here can get another form")
    sources = {f"candidate_{k}": c.source for k, c in enumerate(versions)}
    job = {
        "task": "tune",
        "path": str(path.resolve()),
        "call": call,
        "gradient": gradient,
        "calls": [*calls],
        "candidates": [
            {"source": name, "unroll": _number(c)}
            for name, c in zip(sources, versions, strict=True)
        ],
    }

    answers, why = run_child(
        job, sources, python=python, platform=platform, timeout=timeout, progress=progress
    )
    failed = next((a["failed"] for a in answers if "failed" in a), "")
    found = {a["index"]: a for a in answers if "index" in a}
    measured = [_measured(c, found.get(k), failed or why) for k, c in enumerate(versions)]
    return replace(tuning, candidates=tuple(measured), why=failed if not found else "")


def _number(candidate: Candidate) -> int | None:
    unroll = candidate.choices[0].unroll
    return unroll if len(candidate.choices) == 1 and type(unroll) is int else None


def _measured(candidate: Candidate, answer: dict[str, Any] | None, why: str) -> Candidate:
    if answer is None:
        return replace(candidate, reason=why)
    if answer["reason"]:
        return replace(candidate, reason=answer["reason"])
    names = [field.name for field in fields(Cost) if field.name in answer]
    cost = Cost(**{name: answer[name] for name in names})
    return replace(candidate, cost=cost)
