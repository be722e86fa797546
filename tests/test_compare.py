"""How results are compared when nothing was proved, and what is known about compilers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from forscan.verify.child.compare import compare
from forscan.verify.child.environment import KNOWN_FAULTS, known_faults
from forscan.verify.child.program import Result

FLOATS = ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
VALUES = (0.5, -1.0, 1.5, 0.0)


def reason(old: Any, new: Any, truth: list[Any] | None = None) -> str:
    return compare(Result.of(old), Result.of(new), lambda: truth).reason


def array(dtype: str, *values: float) -> jax.Array:
    return jnp.asarray(np.array(values, np.float64).astype(jnp.dtype(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_is_the_same_and_a_wrong_value_is_not(dtype: str) -> None:
    old = array(dtype, *VALUES)
    unit = float(jnp.finfo(dtype).eps)
    assert reason(old, old) == ""
    assert reason(old, array(dtype, VALUES[0] + unit / 2, *VALUES[1:])) == ""
    wrong = reason(old, array(dtype, -0.5, *VALUES[1:]))
    assert wrong.startswith("values differ at index [0]: 0.5 became -0.5")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e5m2"])
def test_what_is_not_finite_stays_in_its_place(dtype: str) -> None:
    odd = array(dtype, 1.0, np.nan, np.inf)
    assert reason(odd, odd) == ""
    for other in ((1.0, np.inf, np.nan), (1.0, np.nan, -np.inf), (np.nan, np.nan, np.inf)):
        assert reason(odd, array(dtype, *other))


def test_no_further_from_the_truth_than_the_original() -> None:
    """A long sum may round otherwise; a yardstick tells rounding from another value."""
    old, near, far = (jnp.float32(x) for x in (1.0, 1.0 + 1e-5, 1.0 + 1e-2))
    truth = [np.float64(1.0 + 5e-6)]
    assert reason(old, near) != ""
    assert reason(old, near, truth) == ""
    assert reason(old, far, truth) != ""


def test_all_else_is_exact() -> None:
    assert reason(jnp.arange(3), jnp.array([0, 1, 3])).endswith("2 became 3 at the result")
    assert reason(jnp.array([True]), jnp.array([False]))
    assert reason(jax.random.key(0), jax.random.key(1))
    assert reason(jax.random.key(0), jax.random.key(0)) == ""
    assert reason(jnp.float32(1), jnp.float16(1)) == "dtype float32 became float16 at the result"
    assert reason(jnp.ones(2), jnp.ones(3)).startswith("shape (2,) became (3,)")
    assert reason(jnp.asarray(1.0), jnp.float32(1.0)) == ""
    assert reason({"a": 1}, {"a": 2}).startswith("1 became 2")
    assert reason((1, 2), [1, 2]).startswith("structure")


def test_compilers_with_known_faults() -> None:
    (first, _, platform, what), *_ = KNOWN_FAULTS
    version = ".".join(map(str, first))
    assert known_faults(version, platform) == [what]
    assert known_faults(version, "another") == known_faults("0.4.30", platform) == []
