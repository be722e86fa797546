"""Modules of flax and haiku keep parameters and keys per call, out of sight of a scan."""

from __future__ import annotations

from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import Outcome, Status

HEAD = """\
import haiku as hk
import jax
import jax.numpy as jnp
import jraph
from flax import linen as nn
"""
# Each calls, in every iteration, what makes or reads parameters somewhere else.
REFUSED = {
    "called in the loop": """
def net(x):
    mlp = hk.nets.MLP([3])
    for _ in range(3):
        x = jnp.tanh(mlp(x))
    return x
""",
    "made in the loop": """
def net(x):
    for _ in range(3):
        x = jnp.tanh(hk.Linear(3)(x))
    return x
""",
    "handed on by keyword": """
def net(graph):
    @jax.vmap
    def update(*args):
        return hk.nets.MLP([3])(jnp.concatenate(args, axis=-1))

    for _ in range(3):
        sets = jraph.DeepSets(update_node_fn=update)
        graph = sets(graph)
    return graph
""",
    "part of what is called": """
def net(graph):
    memory = hk.LSTM(3)

    def update(nodes, edges):
        return memory(nodes, edges)

    network = jraph.InteractionNetwork(update_node_fn=update)
    for _ in range(3):
        graph = network(graph)
    return graph
""",
    "in a flax module": """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        cell = nn.Dense(3)
        for _ in range(3):
            x = jnp.tanh(cell(x))
        return x
""",
    "of an own class": """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        cell = Cell(3)
        for _ in range(3):
            x = cell(x)
        return x
""",
}
# Parameters that are read before the loop are arrays like others.
CONVERTED = """
def net(x):
    w = hk.get_parameter("w", (3, 3), init=jnp.ones)
    x = hk.Linear(3)(x)
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return x
"""


@pytest.mark.parametrize("kind", REFUSED)
def test_modules_are_refused(kind: str) -> None:
    (outcome,) = outcomes(REFUSED[kind])
    assert outcome.status is Status.REFUSED
    assert "FSC308" in {r.code for r in outcome.reasons}


def test_parameters_from_before_the_loop_are_arrays() -> None:
    (outcome,) = outcomes(CONVERTED)
    assert outcome.status is Status.CONVERTED


def outcomes(body: str) -> tuple[Outcome, ...]:
    content = f"{HEAD}\n{body}".encode()
    return convert_bytes(content, Path("net.py"), Config(to="scan", everything=True)).outcomes
