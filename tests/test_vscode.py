"""The VS Code extension: packaged by its one command, and its bundle run against the server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_editors import snippet

SOURCE = ROOT / "editors" / "vscode"
MANIFEST = json.loads((SOURCE / "package.json").read_text())


def npm(folder: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["npm", *arguments],
        cwd=folder,
        env={**os.environ, **extra},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with its packages."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: apt-get install npm")
    folder = tmp_path_factory.mktemp("editors") / "editors" / "vscode"
    ignored = shutil.ignore_patterns("node_modules", "dist", "*.vsix", "LICENSE")
    shutil.copytree(SOURCE, folder, ignore=ignored)
    shutil.copy(ROOT / "LICENSE", folder.parent.parent)
    done = npm(folder, "install", "--no-audit", "--no-fund")
    if done.returncode:
        pytest.skip(f"npm reaches no registry: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def test_package_and_bundle(extension: Path, tmp_path: Path) -> None:
    done = npm(extension, "run", "package")
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(extension / "forscan.vsix") as package:
        names = {name for name in package.namelist() if name.startswith("extension/")}
    files = {"LICENSE.txt", "package.json", "readme.md", "dist/extension.js"}
    assert names == {f"extension/{name}" for name in files}
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = npm(extension, "test", FORSCAN_PYTHON=str(python))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# fail 0" in done.stdout


def test_without_a_server_it_is_said_what_to_install(extension: Path, tmp_path: Path) -> None:
    """At once, by an interpreter without forscan and by one that is not there."""
    (tmp_path / "bare").write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    (tmp_path / "bare").chmod(0o755)
    for name in ("bare", "missing"):
        done = npm(extension, "test", FORSCAN_PYTHON=str(tmp_path / name))
        said = done.stdout + done.stderr
        assert done.returncode != 0
        assert "pip install '../..[lsp]'" in said and "FORSCAN_PYTHON=" in said, said


def test_setting_of_the_readme_is_one() -> None:
    settings = json.loads(snippet("json"))
    assert settings.keys() <= MANIFEST["contributes"]["configuration"]["properties"].keys()


def test_version_is_that_of_forscan() -> None:
    from forscan import __version__

    assert MANIFEST["version"] == __version__
