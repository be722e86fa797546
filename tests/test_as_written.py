"""Functions that are not jitted are handed the caller's own objects, which JAX does not compute with.

NumPy counts in 64 bits and Python without end, where JAX wraps around at 32: a conversion that
puts such numbers into a scan may be the same function of tracers, and another of these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.test_verify import verify

# Each function in two versions: with its loop in Python, and with a scan.
HEAD = """\
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np


def total(x, ks):
    return x, jnp.stack(add(ks))


@dataclass
class Plain:
    ks: object


class Model:
    def __init__(self, ks):
        self.ks = ks

    def run(self, x):
        return jax.jit(lambda x: total(x, self.ks))(x)


def closed(x, ks):
    return jax.jit(lambda x: total(x, ks))(x)


def bare(x, ks):
    return total(x, ks)


def in_a_tree(x, tree):
    return jax.jit(lambda x: total(x, tree["ks"][0]))(x)


def in_a_dataclass(x, plain):
    return jax.jit(lambda x: total(x, plain.ks))(x)


def number(x, k):
    return jax.jit(lambda x: total(x, [k, k]))(x)


@jax.jit
def jitted(x, ks):
    return total(x, ks)


def partly(x, ks):
    return jitted(x, ks)


"""
BEFORE = HEAD + """\
def add(ks):
    return [k * 1000000 * 1000000 % 1000 for k in ks]


def scaled(x, rate):
    for _ in range(3):
        x = jnp.sin(x) * rate
    return x


def sampled(x, ks):
    for k in ks:
        x = x * 3 + k
    return x


def huge(x, rate):
    for _ in range(2):
        rate = rate * 1e30
    return x * (rate / 1e60)
"""
AFTER = HEAD + """\
def add(ks):
    step = lambda _, k: (None, k * 1000000 * 1000000 % 1000)
    return list(jax.lax.scan(step, None, jnp.asarray(ks))[1])


def scaled(x, rate):
    return jax.lax.scan(lambda x, _: (jnp.sin(x) * rate, None), x, length=3)[0]


def sampled(x, ks):
    return jax.lax.scan(lambda x, k: (x * 3 + k, None), x, jnp.asarray(ks))[0]


def huge(x, rate):
    rate = jax.lax.scan(lambda r, _: (r * 1e30, None), rate, length=2)[0]
    return x * (rate / 1e60)
"""
OTHERS = (
    "closed(jnp.ones(3), np.array([1, 2, 3]))",
    "closed(jnp.ones(3), [1, 2, 3])",
    "closed(jnp.ones(3), [np.int64(1), np.int64(2)])",
    "bare(jnp.ones(3), np.array([1, 2, 3]))",
    "in_a_tree(jnp.ones(3), {'ks': [np.array([1, 2, 3])]})",
    "in_a_dataclass(jnp.ones(3), Plain(np.array([1, 2, 3])))",
    "number(jnp.ones(3), np.int64(7))",
    "number(jnp.ones(3), 7)",
    "Model(np.array([1, 2, 3])).run(jnp.ones(3))",
    "huge(jnp.ones(3), 1.0)",
    "huge(jnp.ones(3), np.float64(1.0))",
)
SAME = {
    "closed(jnp.ones(3), jnp.array([1, 2, 3]))": "proved",
    "jitted(jnp.ones(3), np.array([1, 2, 3]))": "proved",
    "partly(jnp.ones(3), np.array([1, 2, 3]))": "proved",
    "scaled(jnp.ones(3), np.float32(0.5))": "proved",
    "scaled(np.ones(3, np.float32), 0.5)": "proved",
    "sampled(jnp.arange(3), np.array([1, 2, 3]))": "proved",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("written")
    (folder / "before.py").write_text(BEFORE)
    (folder / "after.py").write_text(AFTER)
    calls = (*OTHERS, *SAME)
    return verify(folder, "before.py", "after.py", "--timeout=3000", calls=calls)


@pytest.mark.parametrize("call", OTHERS)
def test_other_numbers_than_jax_has(found: dict[str, dict[str, Any]], call: str) -> None:
    assert found[call]["status"] == "different", found[call]["reason"]
    assert found[call]["evidence"] == "measured"


@pytest.mark.parametrize("call", SAME)
def test_the_same_for_these_objects(found: dict[str, dict[str, Any]], call: str) -> None:
    row = found[call]
    assert (row["status"], row["evidence"]) == ("equal", SAME[call]), row["reason"]


def test_what_stands_for_itself_is_said(found: dict[str, dict[str, Any]]) -> None:
    calls = list(SAME)
    assert found[calls[1]]["types"] == ["float32[3]", "int32[3]"]
    assert found[calls[2]]["types"] == ["float32[3]", "numpy int64[3] as given"]
    assert found[calls[4]]["types"] == ["numpy float32[3] as given", "float as given"]
