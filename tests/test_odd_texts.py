"""Texts that only a fuzzer writes, or a person once in a lifetime: each was a fault.

`python -m tests.benchmarks.fuzz` looks for more of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import Status
from tests.invariants import faults

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n@jax.jit\n"

# text behind the head, and what must be in the result as a scan
TEXTS = {
    "a backslash that joins a blank line": (
        "def f(x):\n    for _ in range(3):\n        x = 0.5 * x \\\n  \n    return x\n",
        "        x = 0.5 * x\n        return x, None\n",
    ),
    "old ends of lines around an else": (
        "def f(x):\r    for _ in range(3):\r        x = 2 * x\r    else:\r        x = -x\r    return x\r",
        "lax.scan(step, x, None, length=3)\r    x = -x\r",
    ),
    "a function in brackets": (
        "def step(x, e):\n    return x + e, jnp.sin(x)\n\n\n@jax.jit\ndef f(x, xs):\n    ys = []\n"
        "    for e in xs:\n        x, y = ((step))(x, e)\n        ys.append(y)\n"
        "    return x, jnp.stack(ys)\n",
        "return ((step))(x, e)\n",
    ),
    "a scan in a decorator": (
        "@lax.scan(step, start, forces)[0]\ndef f(x):\n    return x\n",
        "@lax.scan(step, start, forces, unroll=2)[0]\n",
    ),
    "a comment for the next loop that stands too far in": (
        "def f(x):\n    for _ in range(3):\n        x = 2 * x\n\n        # forscan: ignore\n"
        "    for _ in range(3):\n        x = x + 1\n    return x\n",
        "        # forscan: ignore\n    for _ in range(3):\n",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_converted_without_a_fault(name: str) -> None:
    text, wanted = TEXTS[name]
    config = Config(to="scan", unroll="2" if "unroll" in wanted else None, everything=True)
    content = (HEAD + text).encode()
    assert list(faults(content, Path("a.py"), config, sound=True)) == []
    assert wanted in convert_bytes(content, Path("a.py"), config).after.decode()


REFUSED = {
    "a scan in a decorator has no place for a loop": (
        "@lax.scan(step, start, forces)[0]\ndef f(x):\n    return x\n",
        "the scan stands in the header of a def",
    ),
    "a scan over nothing, without a length": (
        "def f(x):\n    return lax.scan(lambda c, _: (2 * c, None), x, ())[0]\n",
        "there are no xs and there is no length",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    text, reason = REFUSED[name]
    result = convert_bytes((HEAD + text).encode(), Path("a.py"), Config(to="for"))
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert reason in outcome.message
