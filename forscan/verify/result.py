"""What a verification found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Cost:
    """What one version costs, each figure a median; None where it could not be had.

    Attributes:
      trace_s, lower_s, compile_s, run_s: seconds of the ahead-of-time stages.
      trace_fit, compile_fit: how `trace_s`, and with it `equations`, and `compile_s` were
        extrapolated, empty where they were measured.
      run_spread_s: between the quarters of the run times.
      equations: of the jaxpr, those of inner jaxprs counted once.
      stablehlo_lines: of what the compiler is given.
      temp_bytes: temporary memory of the compiled program.
    """

    trace_s: float | None = None
    lower_s: float | None = None
    compile_s: float | None = None
    run_s: float | None = None
    run_spread_s: float | None = None
    equations: int | None = None
    stablehlo_lines: int | None = None
    temp_bytes: int | None = None
    compile_fit: str = ""
    trace_fit: str = ""


@dataclass(frozen=True)
class Verification:
    """The verdict on one call.

    Attributes:
      status: `equal`, `different` or `unknown`.
      evidence: `proved` (the traces, or the compiled programs, are the same for every input
        of these types), `measured` (on the call's own and on perturbed inputs), or None
        where nothing was compared.
      types: of the call's data, such as `float32[3]`, for which the verdict was found.
      reason: the first difference, or why nothing could be said; notes when equal.
      max_ulp: the largest difference in units in the last place of the output's scale.
      gradient: `equal`, `different`, `none` (nothing to differentiate) or `unknown`.
      gradient_evidence: `proved` (up to the order in which terms are added) or `measured`.
      environment: versions and platform, where something was run; with a warning where this
        version of the compiler is known to be slow or wrong.
      vmap, jvp: the same under these transforms, `none` where the original has none.
      first_iteration: that differs, such as `iteration 3 of 50`; empty where not known.
      smallest: the arguments of the smallest call found that differs; empty likewise.
      raises: the error of the original where both versions raise; the same makes them equal.
      cut_to: iterations that loops were cut to in both versions, as the whole is too long, for
        the verdict on the outputs; None where that is on the whole.
      reached: the lines of the converted loops that the call ran, None where they are not known.
      break_even_calls: after how many calls the version that is dearer to compile has
        paid back; None where it never does, or is not dearer.
    """

    file: str
    function: str
    call: str
    status: str
    evidence: str | None = None
    reason: str = ""
    max_ulp: float | None = None
    gradient: str = "unknown"
    gradient_evidence: str | None = None
    types: tuple[str, ...] = ()
    before: Cost | None = None
    after: Cost | None = None
    break_even_calls: float | None = None
    environment: str = ""
    vmap: str = "unknown"
    jvp: str = "unknown"
    first_iteration: str = ""
    smallest: str = ""
    raises: str = ""
    reached: tuple[int, ...] | None = None
    cut_to: int | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether the call ran, and none of the loops that were converted did."""
        return self.status == "unknown" and self.reached == ()

    def as_json(self) -> dict[str, Any]:
        """The documented keys, and the reason."""
        return asdict(self)


def break_even(before: Cost, after: Cost) -> float | None:
    """Calls until the dearer preparation has paid back through a cheaper run.

    None where one version is no dearer in both, or the runs differ by no more than they vary.
    """
    first, second = preparation(before), preparation(after)
    if first is None or second is None or before.run_s is None or after.run_s is None:
        return None
    extra, gain = first - second, after.run_s - before.run_s
    if extra * gain <= 0 or run_alike(before, after):
        return None
    return extra / gain


def run_alike(before: Cost, after: Cost) -> bool:
    """Whether the times of a run differ by no more than they vary."""
    if before.run_s is None or after.run_s is None:
        return False
    spread = max(before.run_spread_s or 0.0, after.run_spread_s or 0.0)
    return abs(after.run_s - before.run_s) <= spread


def preparation(cost: Cost) -> float | None:
    """Seconds from the source to a program that can run."""
    parts = (cost.trace_s, cost.lower_s, cost.compile_s)
    return None if None in parts else sum(p for p in parts if p is not None)
