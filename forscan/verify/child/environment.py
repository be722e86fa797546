"""What runs the programs, and what is known to be wrong with it."""

from __future__ import annotations

import importlib.metadata

import jax

# Versions of jaxlib whose figures mislead: first and last one, platform, what is wrong.
KNOWN_FAULTS = (
    (
        (0, 11, 1),
        (0, 11, 1),
        "cpu",
        "each iteration of a loop that stacks outputs or updates a slice copies the whole buffer",
    ),
)


def environment() -> str:
    """`jax 0.10.2, jaxlib 0.10.2, cpu`, and a warning where there is a known fault."""
    platform = jax.default_backend()
    version = importlib.metadata.version("jaxlib")
    text = f"jax {jax.__version__}, jaxlib {version}, {platform}"
    faults = "; ".join(known_faults(version, platform))
    return f"{text} (known fault: {faults})" if faults else text


def known_faults(version: str, platform: str) -> list[str]:
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdecimal())
    return [
        what
        for first, last, where, what in KNOWN_FAULTS
        if first <= numbers <= last and where == platform
    ]
