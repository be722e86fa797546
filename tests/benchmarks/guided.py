"""The process of `fuzz` that is led by what code is reached; `fuzz` starts it."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["forscan"]):
    from tests.benchmarks.fuzz import CONFIGS, Found

from tests.distort import distorted


def changed(data: bytes, size: int, seed: int) -> bytes:
    """Half of the time a program is changed as a program, otherwise as bytes."""
    if seed % 2:
        return atheris.Mutate(data, size)
    return distorted(data.decode(errors="replace"), Random(seed), 2).encode()[:size]


def main() -> None:
    found = Found(Path(sys.argv.pop(1)))

    def one(data: bytes) -> None:
        config = CONFIGS[sum(data[:64]) % len(CONFIGS)]
        found.look("guided", data, config, "guided")

    atheris.Setup(sys.argv, one, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
