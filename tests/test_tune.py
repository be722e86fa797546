"""`forscan tune`: which candidates there are, what is shown of them, and what is written."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forscan.config import Config
from forscan.report import plot
from forscan.report.tuning import format_tuning
from forscan.tune import Candidate, Choice, Tuning, candidates
from forscan.types import Selection
from forscan.verify import Cost
from tests.conftest import Run
from tests.samples import DECAY, DECAY_SCAN

EVERYTHING = Selection()

NESTED = """\
import jax


@jax.jit
def smooth(x, ws):
    for _ in range(3):
        for i in range(4):
            x = 0.5 * x + ws[i]
    return x
"""

STACKED = """\
import jax
import jax.numpy as jnp


@jax.jit
def path(x, ws):
    out = []
    for w in ws:
        x = jnp.sin(x + w)
        out.append(x)
    return jnp.stack(out)
"""


def labels(text: str, selection: Selection = EVERYTHING) -> list[str]:
    return [c.label for c in candidates(text.encode(), Path("a.py"), Config(), selection)]


def test_every_form_and_unrolling_of_one_loop() -> None:
    unrolled = [f"scan unroll {n}" for n in (2, 4, 8, 16, 32, True)]
    assert labels(DECAY) == ["for", "scan", *unrolled, "fori_loop"]
    assert labels(DECAY_SCAN) == ["scan", *unrolled, "fori_loop", "for"]


def test_what_a_loop_cannot_become_is_left_out() -> None:
    assert "fori_loop" not in labels(STACKED)


def test_loops_in_loops_are_tuned_together() -> None:
    found = candidates(NESTED.encode(), Path("a.py"), Config(), Selection())
    names = [c.label for c in found]
    assert {"for / for", "scan / for", "for / scan unroll 4", "fori_loop / scan"} <= set(names)
    assert len(names) == len(set(names)) == len({c.source for c in found}) == 25
    for candidate in found:
        text = candidate.source.decode()
        for form, call in (("scan", "lax.scan("), ("fori_loop", "lax.fori_loop(")):
            assert text.count(call) == sum(c.form == form for c in candidate.choices)


def test_only_the_loop_that_is_meant() -> None:
    assert labels(NESTED, Selection(line=7))[:2] == ["for", "scan"]
    assert labels("x = 1\n") == []


def tuning() -> Tuning:
    """One candidate that is quick to compile, one that is quick to run, and one too dear."""
    cheap = Cost(0.1, 0.1, 0.3, 2e-3, 1e-4, 10)
    quick = Cost(0.1, 0.4, 2.0, 1e-3, 1e-4, 90)
    found = (
        Candidate((Choice(6, "for"),), b"", reason="compiling it would take about 99 s"),
        Candidate((Choice(6, "scan"),), b"", cheap),
        Candidate((Choice(6, "scan", True),), b"", quick),
    )
    return Tuning("a.py", "f", "f(x)", (1, 10_000), found)


def test_table_marks_the_best_for_each_count() -> None:
    lines = format_tuning(tuning()).splitlines()
    assert lines[0] == "f(x)"
    assert lines[1].split() == ["prepare", "run", "±", "1", "call", "10,000", "calls"]
    shown = [" ".join(line.split()) for line in lines[2:4]]
    assert shown[0] == "scan 500 ms 2 ms 100 µs 502 ms* 20.5 s"
    assert shown[1] == "scan unroll True 2.5 s 1 ms 100 µs 2.5 s 12.5 s*"
    assert lines[4:] == [
        "  for: compiling it would take about 99 s",
        "  best: scan for 1; scan unroll True for 10,000",
    ]


def test_one_reason_for_several_is_said_once() -> None:
    late, dear = "no time was left", "compiling it would take about 99 s"
    reasons = {"for": late, "scan": dear, "fori_loop": late}
    found = tuple(Candidate((Choice(6, f),), b"", reason=r) for f, r in reasons.items())
    lines = format_tuning(Tuning("a.py", "f", "f(x)", (1,), found)).splitlines()
    assert lines[2:4] == [f"  for, fori_loop: {late}", f"  scan: {dear}"]


def test_json_has_the_best_for_each_count() -> None:
    content = tuning().as_json()
    assert (content["best"], content["best_by_calls"]["1"]) == ("scan unroll True", "scan")
    assert [c["total_s"] for c in content["candidates"]] == [None, 20.5, 12.5]
    assert content["candidates"][2]["unroll"] is True


@pytest.mark.parametrize("name", ["costs.png", "costs.svg"])
def test_plot(tmp_path: Path, name: str) -> None:
    plot.check(tmp_path / name)
    plot.draw(tuning(), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith(b"\x89PNG") or b"<svg" in content


def test_plot_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(plot.PlotUnavailable, match=r"png or \.svg, not costs\.bmp"):
        plot.check(tmp_path / "costs.bmp")
    with pytest.raises(plot.PlotUnavailable, match="cannot be written"):
        plot.draw(tuning(), tmp_path / "gone" / "costs.png")
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(plot.PlotUnavailable, match=r"pip install 'forscan\[plot\]'"):
        plot.check(tmp_path / "costs.png")


def test_command_measures_and_writes(forscan: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(STACKED)
    call = "path(jnp.ones(3), jnp.ones((6, 3)))"
    arguments = ("tune", "a.py::path", "--call", call, "--calls", "1", "--grad", "--write")
    done = forscan(*arguments, "--output-format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    measured = {(c["form"], c["unroll"]): c for c in found["candidates"]}
    assert (found["function"], found["call"]) == ("path", call)
    for form in (("for", None), ("scan", None), ("scan", 2), ("scan", True)):
        costs = measured[form]
        ready = costs["trace_s"] + costs["lower_s"] + costs["compile_s"]
        assert costs["total_s"] == pytest.approx(ready + costs["run_s"])
        assert costs["run_spread_s"] >= 0
    assert "6 iterations" in measured["scan", 8]["reason"]
    best = min((c for c in found["candidates"] if c["total_s"]), key=lambda c: c["total_s"])
    label = best["form"] + (f" unroll {best['unroll']}" if best["unroll"] else "")
    assert found["best"] == label
    assert ("lax.scan" in path.read_text()) is (best["form"] == "scan")
    assert subprocess.run([sys.executable, "-m", "py_compile", str(path)]).returncode == 0


def test_command_that_cannot_measure(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DECAY)
    (tmp_path / "b.py").write_text("x = 1\n")
    call = ("--call", "decay(jnp.ones(3), jnp.ones((4, 3)))")
    assert forscan("tune", "b.py", *call).returncode == 1
    for arguments, message in (
        (("gone.py",), "gone.py: no such file"),
        ((".",), "tune takes one file"),
        (("a.py", "--write"), "--write needs one --calls N"),
        (("a.py", "--plot", "a.bmp"), "--plot writes .png or .svg"),
    ):
        done = forscan("tune", *arguments, *call)
        assert done.returncode == 2
        assert message in done.stderr
    done = forscan("tune", "a.py", "--call", "decay(1, 2, 3)")
    assert done.returncode == 1
    assert "TypeError" in done.stdout
    assert (tmp_path / "a.py").read_text() == DECAY
