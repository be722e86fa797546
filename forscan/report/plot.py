"""A picture of what tuning found: compiling against running, and totals against calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forscan.tune import Candidate, Tuning
from forscan.verify.result import preparation

FORMATS = (".png", ".svg")
INSTALL = "pip install 'forscan[plot]'"


class PlotUnavailable(Exception):
    """matplotlib is not installed, or cannot write such a file."""


def check(path: Path) -> None:
    """Before anything is measured: whether there can be a picture.

    Raises:
      PlotUnavailable: not so.
    """
    if path.suffix.lower() not in FORMATS:
        raise PlotUnavailable(f"--plot writes {' or '.join(FORMATS)}, not {path.name}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PlotUnavailable(f"--plot needs matplotlib: {INSTALL}") from None


def draw(found: Tuning, path: Path) -> None:
    """Writes the picture: two panels, both with logarithmic axes.

    Raises:
      PlotUnavailable: the file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    measured = [c for c in found.candidates if c.total(1) is not None]
    _costs(left, measured)
    _totals(right, measured)
    figure.suptitle(found.call)
    try:
        figure.savefig(path)
    except OSError as e:
        raise PlotUnavailable(f"{path}: cannot be written: {e.strerror}") from None


def _costs(axes: Any, measured: list[Candidate]) -> None:
    points = [(preparation(c.cost), c.cost.run_s, c.label) for c in measured if c.cost]
    for ready, run, label in points:
        axes.plot(ready, run, "o")
        axes.annotate(label, (ready, run), xytext=(5, 5), textcoords="offset points")
    front: list[tuple[float, float]] = []
    for ready, run, _ in sorted((p for p in points if None not in p), key=lambda p: p[:2]):
        if ready is not None and run is not None and (not front or run < front[-1][1]):
            front.append((ready, run))
    if front:  # else nothing was measured to the end
        axes.step(*zip(*front, strict=True), where="post", color="0.7", zorder=0, label="front")
    axes.set(xscale="log", yscale="log", xlabel="prepare [s]", ylabel="run [s]")
    axes.margins(0.25, 0.1)  # room for the names
    axes.legend()


def _totals(axes: Any, measured: list[Candidate]) -> None:
    """Lines cross where the dearer preparation has paid back."""
    counts = [10**k for k in range(7)]
    for candidate in measured:
        axes.plot(counts, [candidate.total(n) for n in counts], label=candidate.label)
    axes.set(xscale="log", yscale="log", xlabel="calls", ylabel="total [s]")
    axes.legend(fontsize="small")
