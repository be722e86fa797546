"""Traced functions across the files of one project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

LOOP = """\
import jax.numpy as jnp


def solve(x):
    for _ in range(5):
        x = jnp.sin(x)
    return x


class Model:
    def step(self, x):
        return solve(x)
"""
MAIN = "import jax\n{}\n\n\n@jax.jit\ndef run(x):\n    return {}\n"
WAYS = {
    "module": ("from pkg import work", "work.solve(x)"),
    "name": ("from pkg.work import solve as s", "s(x)"),
    "relative": ("from . import work", "work.solve(x)"),
    "relative name": ("from .work import solve", "solve(x)"),
    "whole path": ("import pkg.work", "pkg.work.solve(x)"),
    "re-export": ("import pkg", "pkg.shown(x)"),
    "handed on": ("from pkg.work import solve", "jax.vmap(solve)(x)"),
    "a method": ("from pkg.work import Model", "Model.step(None, x)"),
}


def status(forscan: Run, *targets: str) -> str:
    done = forscan("check", "--output-format", "json", *targets)
    found = [o for o in json.loads(done.stdout) if o["file"].endswith("work.py")]
    return str(found[0]["status"])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .work import solve as shown\n")
    (folder / "work.py").write_text(LOOP)
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_what_another_file_traces(forscan: Run, package: Path, way: str) -> None:
    (package / "main.py").write_text(MAIN.format(*WAYS[way]))
    assert status(forscan, "pkg") == "convertible"
    assert status(forscan, "pkg/work.py") == "skipped"


def test_packages_without_an_outer_init(forscan: Run, tmp_path: Path) -> None:
    folder = tmp_path / "top" / "inner"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "work.py").write_text(LOOP)
    (folder / "main.py").write_text(MAIN.format("from top.inner import work", "work.solve(x)"))
    assert status(forscan, "top") == "convertible"


def test_what_nobody_traces_is_left(forscan: Run, package: Path) -> None:
    (package / "main.py").write_text(
        "from pkg.work import solve\n\n\ndef run(x):\n    return solve(x)\n"
    )
    assert status(forscan, "pkg") == "skipped"
