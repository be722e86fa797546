"""Verified calls of programs for several devices, with x64, donated buffers, and of methods."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Run

DEVICES = '''\
"""Programs for several devices, in double precision, with buffers that are given away."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

try:
    from jax import shard_map
except ImportError:  # older versions
    from jax.experimental.shard_map import shard_map

MESH = Mesh(jax.devices(), ("rows",))


@jax.pmap
def each(x, ws):
    for w in ws:
        x = 0.5 * x + w
    return x


@partial(jax.pmap, axis_name="rows")
def together(x):
    for _ in range(3):
        x = x - 0.1 * jax.lax.pmean(x, "rows")
    return x


@jax.jit
@partial(shard_map, mesh=MESH, in_specs=PartitionSpec("rows"), out_specs=PartitionSpec("rows"))
def sharded(x):
    for _ in range(3):
        x = x - 0.1 * jax.lax.psum(x, "rows")
    return x


@partial(jax.jit, donate_argnums=0)
def donated(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x


@partial(jax.jit, donate_argnames="state")
def donated_tree(*, state, rate):
    for _ in range(4):
        state = {"x": state["x"] + rate * state["v"], "v": state["v"] - rate * state["x"]}
    return state


@jax.jit
def double(x, n):
    total = jnp.zeros((), x.dtype)
    for i in range(5):
        total = total + x[i] * n
    return total


@partial(jax.jit, static_argnums=(1, 2))
def static(x, steps, how):
    for _ in range(steps):
        x = how(x)
    return x


class Model:
    def __init__(self, rate):
        self.rate = rate

    @partial(jax.jit, static_argnums=0)
    def run(self, x, *, steps=3):
        for _ in range(3):
            x = x * self.rate
        return x

    @classmethod
    def make(cls, x):
        return cls.apply(x)

    @staticmethod
    @jax.jit
    def apply(x):
        for _ in range(3):
            x = jnp.sin(x)
        return x
'''

# Call -> the types that it is judged for.
CALLS = {
    "each(jnp.ones((4, 3)), jnp.ones((4, 2, 3)))": ["float64[4,3]", "float64[4,2,3]"],
    "together(jnp.arange(4.0))": ["float64[4]"],
    "sharded(jnp.arange(8.0))": ["float64[8]"],
    "donated(jnp.ones(3), jnp.ones((4, 3)))": ["float64[3]", "float64[4,3]"],
    "donated_tree(state={'x': jnp.ones(3), 'v': jnp.zeros(3)}, rate=0.1)": [
        "float64[]",
        "float64[3]",
        "float64[3]",
    ],
    "double(jnp.ones(5), 3)": ["float64[5]"],
    "static(jnp.ones(3), 3, jnp.sin)": ["float64[3]"],
    "Model(2.0).run(jnp.ones(3), steps=3)": ["float64[3]"],
    "Model.apply(jnp.ones(3))": ["float64[3]"],
    "Model.make(x=jnp.ones(3))": ["float64[3]"],
}


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("devices")
    (folder / "devices.py").write_text(DEVICES)
    options = [part for call in CALLS for part in ("--call", call)]
    command = ["verify", "devices.py", "--platform=cpu", "--output-format=json", *options]
    done = subprocess.run(
        [sys.executable, "-m", "forscan", *command],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
            "JAX_ENABLE_X64": "1",
        },
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.stdout, done.stderr
    return {row["call"]: row for row in json.loads(done.stdout)}


@pytest.mark.parametrize("call", CALLS)
def test_equal(verified: dict[str, dict[str, Any]], call: str) -> None:
    row = verified[call]
    assert row["status"] == "equal", row["reason"]
    assert row["types"] == CALLS[call]
    assert (row["gradient"], row["vmap"], row["jvp"]) == ("equal", "equal", "equal")


SMALL = """\
import jax


@jax.jit
def f(x):
    for _ in range(3):
        x = 2 * x
    return x
"""


def test_platform_that_is_not_there(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SMALL)
    given = ("a.py", "--call", "f(jnp.ones(3))", "--platform", "nowhere")
    done = forscan("verify", *given)
    assert (done.returncode, "nowhere" in done.stdout) == (1, True)
    done = forscan("convert", "--diff", *given)
    assert (done.returncode, "FSC602" in done.stderr) == (1, True)
    done = forscan("tune", *given)
    assert (done.returncode, "nowhere" in done.stdout) == (1, True)
