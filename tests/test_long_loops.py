"""Long loops: nobody waits for what compiling them would take."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.report.verification import format_markdown, format_verification
from forscan.verify.child.call import Call
from forscan.verify.child.cuts import Versions
from forscan.verify.child.estimate import too_long
from forscan.verify.child.judge import Judge
from forscan.verify.child.load import load_tree
from forscan.verify.child.program import Program
from forscan.verify.result import Verification
from forscan.verify.runner import observe_source, verify_sources
from tests.running import load

LONG = b"""
import jax
import jax.numpy as jnp


@jax.jit
def proved(x, w):
    for _ in range(300):
        x = jnp.tanh(jnp.sin(x) @ w) * jnp.cos(x)
    return x


@jax.jit
def measured(x, w):
    rate = 0.1
    for _ in range(300):
        x = jnp.tanh(jnp.sin(x) @ w) * jnp.cos(rate * x)
        rate = rate * 0.999
    return x
"""


@pytest.fixture(scope="module")
def versions() -> tuple[ModuleType, ModuleType]:
    path = Path("a.py")
    after = convert_bytes(LONG, path, Config()).after
    return load(LONG, path), load(after, path)


@pytest.mark.parametrize(
    "evidence, backwards", [("proved", False), ("proved", True), ("measured", False)]
)
def test_verdict_without_compiling(
    versions: tuple[ModuleType, ModuleType], evidence: str, backwards: bool
) -> None:
    """Whichever of the two versions is the long one."""
    old, new = versions[::-1] if backwards else versions
    text = f"{evidence}(jnp.ones(3), jnp.ones((3, 3)))"
    until = time.monotonic() + 3
    row = Judge(old, new, text, until, lambda stage: None, lambda answer: None).verdict()
    assert (row["status"], row["evidence"]) == ("equal", evidence), row
    long, short = (row["after"], row["before"]) if backwards else (row["before"], row["after"])
    assert long["compile_fit"].startswith("extrapolated from ")
    assert long["compile_s"] > 1
    assert "run_s" not in long
    assert 0 < short["run_s"] < long["compile_s"]
    assert ("operation by operation" in row["reason"]) is (evidence == "measured")


def traced(function: Callable[[Any], Any]) -> Program:
    program = Program(Call(function, (jnp.ones(3),), {}))
    program.trace()
    return program


def test_what_compiles_soon_is_not_estimated() -> None:
    def unrolled(x: Any) -> Any:
        for _ in range(30):
            x = jnp.sin(x)
        return x

    looped = traced(lambda x: jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, length=30)[0])
    until = time.monotonic() + 0.01
    assert too_long(traced(unrolled), looped, until) is None


NESTED = b"""
import jax
import jax.numpy as jnp

OUTER, INNER = 1000, 60


@jax.jit
def run(x, w):
    path = []
    for i in range(OUTER):
        for scale in w:
            x = x + scale * jnp.sin(x) * i
        path.append(x)
    return x, jnp.stack(path)
"""
CALL = "run(jnp.ones(3), jnp.linspace(0.1, 0.2, INNER))"
SECONDS = 40.0  # of which a part is waited for before loops are cut


def judged(old: bytes, new: bytes, call: str = CALL, seconds: float = 20.0) -> dict[str, Any]:
    """The verdict on two versions, of which tracing one takes minutes, without a child process."""
    path, versions = Path("a.py"), Versions()
    trees = ast.parse(old), ast.parse(new)
    versions.hand_through(*trees)
    pair = zip(trees, (versions.old, versions.new), strict=True)
    modules = [load_tree(tree, path, cuts.names()) for tree, cuts in pair]
    start = time.monotonic()
    until = start + seconds
    judge = Judge(*modules, call, until, lambda stage: None, lambda answer: None, versions=versions)
    row = judge.verdict()
    assert time.monotonic() - start < SECONDS
    return row


@pytest.fixture(scope="module")
def nested() -> bytes:
    return convert_bytes(NESTED, Path("a.py"), Config()).after


@pytest.fixture(scope="module")
def equal(nested: bytes) -> Verification:
    start = time.monotonic()
    (found,) = verify_sources(NESTED, nested, Path("a.py"), [CALL], timeout=30)
    assert time.monotonic() - start < SECONDS
    return found


def test_long_nest_is_judged_by_copies(equal: Verification) -> None:
    """60,000 bodies, and the verdict is no proof: most iterations were not looked at."""
    assert (equal.status, equal.evidence) == ("equal", "measured"), equal
    assert (equal.gradient, equal.gradient_evidence) == ("equal", "measured")
    assert equal.cut_to is not None and 2 <= equal.cut_to < 60
    assert f"loops of 1,000 > 60 iterations were cut to {equal.cut_to}" in equal.reason


def test_costs_of_a_long_nest_are_extrapolated(equal: Verification) -> None:
    before, after = equal.before, equal.after
    assert before is not None and after is not None
    assert before.equations == pytest.approx(1000 * 60 * 6, rel=0.5)
    assert before.trace_s is not None and before.compile_s is not None
    assert before.compile_s > before.trace_s > 1
    for fit in (before.trace_fit, before.compile_fit):
        assert fit.startswith("extrapolated from copies with loops of ")
    assert (after.trace_fit, after.compile_fit) == ("", "")
    assert after.run_s is not None and after.run_s < before.trace_s


def test_every_report_says_that_loops_were_cut(equal: Verification) -> None:
    said = f"measured with loops cut to {equal.cut_to} iterations"
    for text in (format_verification(equal), format_markdown(equal)):
        assert f"({said})" in text
        assert "tracing before was left out: extrapolated" in text
    assert equal.as_json()["cut_to"] == equal.cut_to


def test_wrong_conversion_of_a_long_nest(nested: bytes) -> None:
    wrong = nested.replace(b"x = x + scale", b"x = x - scale")
    assert wrong != nested
    row = judged(NESTED, wrong, seconds=SECONDS)
    assert (row["status"], row["evidence"]) == ("different", "measured"), row
    assert row["cut_to"] >= 2
    assert "values differ" in row["reason"]
    assert row["first"] == "iteration 2 of 1000"
    assert row["smallest"].startswith("x = float32[1]")


def test_back_from_lax(nested: bytes) -> None:
    """It is the new version that is long."""
    row = judged(nested, NESTED)
    assert (row["status"], row["evidence"]) == ("equal", "measured"), row
    assert row["after"]["trace_fit"]


def test_loops_that_are_not_alike_are_not_cut(nested: bytes) -> None:
    other = nested.replace(b"OUTER)", b"OUTER + 1)")
    assert other != nested
    row = judged(NESTED, other)
    assert row["status"] == "unknown"
    assert "1,000 > 60 iterations became 1,001 > 60 iterations" in row["reason"]
    assert row["reason"].endswith("give a call for which its loops are shorter")


def test_index_behind_a_loop_is_no_difference() -> None:
    """It is 19,999 in the whole, and another one in a copy."""
    old = NESTED.replace(b"return x,", b"return x * i,")
    new = convert_bytes(NESTED, Path("a.py"), Config()).after.replace(
        b"return x, p", b"return x * (OUTER - 1), p"
    )
    row = judged(old, new)
    assert row["status"] == "unknown", row
    assert "i is read behind a loop that counts it" in row["reason"]


def test_values_of_a_long_nest_are_looked_at_for_a_while() -> None:
    start = time.monotonic()
    facts, failed = observe_source(NESTED, Path("a.py"), [CALL], timeout=SECONDS)
    assert time.monotonic() - start < SECONDS / 2
    assert (len(facts.calls), failed) == (1, [])
    assert ("run", "x") in facts.calls[0].later


def test_error_of_one_version_while_the_other_is_not_traced(nested: bytes) -> None:
    """Nobody knows whether the original raises, too."""
    raising = nested.replace(b"return x, path", b"raise ValueError(path.shape)")
    row = judged(NESTED, raising)
    assert row["status"] == "unknown", row
    assert "it raises ValueError: (" in row["reason"]


@pytest.mark.parametrize(
    "body, status, evidence",
    [
        pytest.param(b"jnp.sin(x) + 0.5 * x", "equal", "proved", id="proved"),
        pytest.param(b"0.5 * (x + 2 * jnp.sin(x))", "equal", "measured", id="run"),
        pytest.param(
            b"jnp.sin(x) + 0.5 * x + (n > 1200)", "different", "measured", id="different late"
        ),
    ],
)
def test_long_loop_that_can_be_traced(body: bytes, status: str, evidence: str) -> None:
    """Its outputs are compared over all iterations, though its gradient is not."""
    old = b"""
import jax
import jax.numpy as jnp


@jax.jit
def run(x):
    n = jnp.zeros(())
    for _ in range(1300):
        n = n + 1.0
        x = jnp.sin(x) + 0.5 * x
    return x, n
"""
    new = convert_bytes(old, Path("a.py"), Config()).after
    changed = new.replace(b"jnp.sin(x) + 0.5 * x", body)
    row = judged(old, changed, "run(jnp.ones(3))", SECONDS)
    assert (row["status"], row["evidence"]) == (status, evidence), row
    assert row.get("cut_to") is None
    if status == "equal":
        assert "gradients and transforms are of copies" in row["reason"]
        assert row["before"]["compile_fit"]
