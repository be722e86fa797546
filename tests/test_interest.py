"""Loops that nobody would want to convert are passed over in one word."""

from __future__ import annotations

from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config

HEAD = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x, things):\n    found, names = [], {}\n"
PYTHON_WORK = {
    "types": "if isinstance(t, dict):\n    found.extend(t.keys())\nelse:\n    found.append(type(t))",
    "names": "found.append(f'layer {t}')",
    "attributes": "setattr(x, t, getattr(x, t))",
    "parts of names": "if t.startswith('w'):\n    names[t] = x",
    "results that nobody reads": "jax.tree.leaves(t)",
}
WANTED = {
    "layers": "x = t(x)",
    "methods": "x = t.apply(x)",
    "arithmetic": "x = x * t if hasattr(t, 'shape') else x",
    "jax": "x = jnp.sin(x)\nfound.append(f'{t}')",
}


def codes(body: str) -> set[str]:
    text = "\n        ".join(body.splitlines())
    source = f"{HEAD}    for t in things:\n        {text}\n    return x\n"
    result = convert_bytes(source.encode(), Path("a.py"), Config(to="scan"))
    return {r.code for o in result.outcomes for r in o.reasons}


@pytest.mark.parametrize("kind", PYTHON_WORK)
def test_python_work_is_passed_over(kind: str) -> None:
    assert codes(PYTHON_WORK[kind]) == {"FSC104"}


@pytest.mark.parametrize("kind", WANTED)
def test_what_computes_is_refused_with_its_reasons(kind: str) -> None:
    found = codes(WANTED[kind])
    assert found and "FSC104" not in found


FIELDS = """\
from flax import linen as nn
import jax.numpy as jnp


class Net(nn.Module):
    depth: int
    width: int
    gain: float

    @nn.compact
    def __call__(self, x):
        channels = self.width
        sizes = [channels]
        for m in range(1, self.depth + 1):
            half = self.width - m
            channels += half * self.{field}
            sizes.append(half)
        return nn.Dense(channels)(x)
"""


def test_sizes_are_counted_in_python() -> None:
    """Declared as numbers, fields are no arrays; of others nothing is known."""
    for field, counted in {"depth": True, "gain": True, "weights": False}.items():
        source = FIELDS.replace("{field}", field).encode()
        result = convert_bytes(source, Path("net.py"), Config(to="scan"))
        assert ({r.code for o in result.outcomes for r in o.reasons} == {"FSC104"}) is counted
