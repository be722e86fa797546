"""Long loops: nobody waits for what compiling them would take."""

from __future__ import annotations

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
from forscan.verify.child.call import Call
from forscan.verify.child.estimate import too_long
from forscan.verify.child.judge import Judge
from forscan.verify.child.program import Program
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
