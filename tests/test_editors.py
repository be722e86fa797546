"""Real editors, set up as the README says, take an action in a buffer."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.editor import started
from tests.samples import DECAY, DECAY_SCAN
from tests.test_lsp import by_command

DRIVERS = Path(__file__).parent / "editors"


def snippet(language: str) -> str:
    """The first piece of the README in a language, behind the heading on editors."""
    readme = (ROOT / "README.md").read_text().partition("**Editors.**")[2]
    return re.findall(rf"```{language}\n(.*?)```", readme, re.S)[0]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which the command `forscan` is found, and nobody's own settings are."""
    command = tmp_path / "bin" / "forscan"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m forscan "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path), "TERM": "dumb"}


def drive(
    command: list[str], environment: dict[str, str], folder: Path, line: int, title: str
) -> str:
    """What an editor makes of the file in a folder."""
    out = folder / "out"
    told = "|".join([str(folder / "a.py"), str(line), title, str(out)])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "FORSCAN_DRIVE": told},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out.read_text()


ACTIONS = [
    ("Convert to jax.lax.scan", DECAY, 7, DECAY_SCAN),
    ("Convert to jax.lax.fori_loop", DECAY, 6, by_command(DECAY, 6, "fori")),
    ("Convert to a Python for", DECAY_SCAN, 10, by_command(DECAY_SCAN, 10, "for")),
]


@pytest.mark.parametrize("title, before, line, after", ACTIONS, ids=["scan", "fori", "for"])
def test_neovim(
    tmp_path: Path, environment: dict[str, str], title: str, before: str, line: int, after: str
) -> None:
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed: apt-get install neovim")
    (tmp_path / "a.py").write_text(before)
    write_settings(tmp_path, before)
    (tmp_path / "init.lua").write_text(snippet("lua"))
    options = ["-u", str(tmp_path / "init.lua"), "-i", "NONE"]
    command = ["nvim", "--headless", *options, "-c", f"luafile {DRIVERS / 'drive.lua'}"]
    assert drive(command, environment, tmp_path, line, title) == after


def test_neovim_starts_one_server(tmp_path: Path, environment: dict[str, str]) -> None:
    """For all files of a folder, whatever the version of Neovim."""
    if shutil.which("nvim") is None:
        pytest.skip("Neovim is not installed: apt-get install neovim")
    files = [tmp_path / f"{name}.py" for name in "abc"]
    for file in files:
        file.write_text(DECAY)
    (tmp_path / "init.lua").write_text(snippet("lua"))
    options = ["-u", str(tmp_path / "init.lua"), "-i", "NONE"]
    done = subprocess.run(
        ["nvim", "--headless", *options, "-c", f"luafile {DRIVERS / 'count.lua'}"],
        cwd=tmp_path,
        env={
            **environment,
            "FORSCAN_FILES": "|".join(map(str, files)),
            "FORSCAN_OUT": str(tmp_path / "out"),
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out").read_text().strip() == "1 for 3"


@pytest.mark.parametrize("title, before, line, after", ACTIONS, ids=["scan", "fori", "for"])
def test_emacs(
    tmp_path: Path, environment: dict[str, str], title: str, before: str, line: int, after: str
) -> None:
    if not has_eglot():
        pytest.skip("Emacs with eglot is not installed: apt-get install emacs-nox elpa-eglot")
    (tmp_path / "a.py").write_text(before)
    write_settings(tmp_path, before)
    (tmp_path / "init.el").write_text(snippet("elisp"))
    loads = [str(tmp_path / "init.el"), str(DRIVERS / "drive.el")]
    start = ["--eval", "(package-initialize)"]  # -q leaves it out, and eglot is a package
    command = ["emacs", "-q", "--batch", *start, *(a for f in loads for a in ("-l", f))]
    assert drive(command, environment, tmp_path, line, title) == after


def write_settings(folder: Path, before: str) -> None:
    """Diagnostics are what the drivers wait for: those of the form that there is something of."""
    to = "for" if before == DECAY_SCAN else "scan"
    (folder / "pyproject.toml").write_text(f'[tool.forscan]\nto = "{to}"\n')


def has_eglot() -> bool:
    if shutil.which("emacs") is None:
        return False
    ask = ["emacs", "-q", "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    return subprocess.run(ask, capture_output=True, timeout=60, check=False).returncode == 0


def test_helix_starts_the_server(tmp_path: Path, environment: dict[str, str]) -> None:
    """Debian has no Helix: what its configuration names is started instead."""
    settings = tomllib.loads(snippet("toml"))
    (language,) = settings["language"]
    assert language["name"] == "python"
    server = settings["language-server"][language["language-servers"][0]]

    async def scenario() -> None:
        command = [server["command"], *server["args"]]
        command[0] = str(tmp_path / "bin" / command[0])
        async with started(tmp_path / "a.py", "neovim@0.11.0", command=command) as editor:
            await editor.open(DECAY)
            assert [d.code for d in await editor.diagnostics()] == ["FSC101"]

    asyncio.run(asyncio.wait_for(scenario(), 60))
