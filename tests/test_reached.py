"""A call that does not run what was converted says nothing of it, and nobody claims that it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

MODULE = """\
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    for _ in range(3):
        x = 0.5 * x
    return x


@partial(jax.jit, static_argnames="late")
def g(x, late=False):
    for _ in range(3):
        x = jnp.sin(x)
    if late:
        for _ in range(4):
            x = jnp.cos(x)
    return x


def through(x):
    return g(x)


def looks(x):
    return g(x) if x > 0 else x


def without(x):
    return x + 1


def raises(x):
    raise ValueError("no")
"""
NEVER = "the call never ran the loop at a.py:9"
NO_NOTE, NOTE = "", "not verified: no call ran this loop"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(MODULE)
    return path


@pytest.mark.parametrize(
    "target, call, reason",
    [
        ("a.py::f", "without(1.0)", NEVER),
        ("a.py::f", "g(jnp.ones(3), True)", NEVER),
        ("a.py::f", "raises(1.0)", NEVER),
        ("a.py::f", "without(f(jnp.ones(3)))", NEVER),
        ("a.py::g", "looks(-1.0)", "the call never ran any of the loops at a.py:16, a.py:19"),
        ("a.py:19", "g(jnp.ones(3))", "the call never ran the loop at a.py:19"),
        ("a.py", "without(1.0)", "any of the loops at a.py:9, a.py:16, a.py:19"),
    ],
)
def test_call_that_does_not_reach_it(
    forscan: Run, module: Path, target: str, call: str, reason: str
) -> None:
    done = forscan("verify", target, "--call", call, "--output-format", "json")
    (row,) = json.loads(done.stdout)
    assert (row["status"], row["evidence"]) == ("unknown", None)
    assert reason in row["reason"]
    assert row["reached"] == []
    assert done.returncode == 1


def test_calls_that_reach_it(forscan: Run, module: Path) -> None:
    """Directly, through others, in part: said for each call, and of what is left over."""
    calls = {"through(jnp.ones(3))": [16], "looks(1.0)": [16], "f(jnp.ones(3))": [9]}
    options = [part for call in calls for part in ("--call", call)]
    done = forscan("verify", "a.py", *options, "--output-format", "json")
    rows = json.loads(done.stdout)
    assert {row["call"]: row["reached"] for row in rows} == calls
    assert {row["status"] for row in rows} == {"equal"}
    assert done.stderr.splitlines() == ["forscan: a.py:19:9: no call ran this loop"]


def test_loops_of_lax(forscan: Run, module: Path) -> None:
    assert forscan("convert", "--to", "scan", "a.py").returncode == 0
    done = forscan("verify", "a.py::g", "--to", "for", "--call", "g(1.0)", "--call", "f(1.0)")
    assert "equal (proved): g(1.0)" in done.stdout
    assert "unknown: f(1.0): the call never ran any of the loops at a.py:" in done.stdout


@pytest.mark.parametrize(
    "calls, notes",
    [
        (["g(jnp.ones(3))"], [NOTE, NO_NOTE, NOTE]),
        (["g(jnp.ones(3), True)", "f(1.0)"], [NO_NOTE, NO_NOTE, NO_NOTE]),
        (["without(1.0)"], [NOTE, NOTE, NOTE]),
    ],
)
def test_convert_says_which_loops_no_call_ran(
    forscan: Run, module: Path, calls: list[str], notes: list[str]
) -> None:
    options = [part for call in calls for part in ("--call", call)]
    done = forscan("convert", "--to", "scan", "a.py", *options, "--output-format", "json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    assert [row["status"] for row in rows] == ["converted"] * 3
    assert [row["help"] for row in rows] == notes
    assert module.read_text().count("lax.scan") == 3


@pytest.mark.parametrize("call", ["raises(1.0)", "g()", "g(jnp.ones(3), nothing=1)"])
def test_nothing_is_written_on_a_call_that_raises(forscan: Run, module: Path, call: str) -> None:
    """A mistake in the call is not taken for a call of something else."""
    done = forscan("convert", "--to", "scan", "a.py", "--call", call)
    assert "3 refused" in done.stderr
    assert module.read_text() == MODULE
