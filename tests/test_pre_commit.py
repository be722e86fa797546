"""The hooks, run by pre-commit itself in a repository made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.samples import DECAY, DECAY_SCAN

pytest.importorskip("pre_commit", reason="pre-commit is not installed")

_PACKAGE = ("forscan", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a@b.c"))
}


def run(folder: Path, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder; git in a hook sets variables that would lead elsewhere."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    inherited.pop("PYTHONPATH", None)  # the hook's own environment is what is tested
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**inherited, **_IDENTITY, **extra},
        timeout=900,
        check=False,
    )


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    assert run(folder, "git", "init", "-q", "-b", "main").returncode == 0
    return folder


def commit(folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    assert run(folder, "git", "add", ".").returncode == 0
    return run(folder, "git", "commit", "-qm", "change", **extra)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the package and its hooks, as people name it in their configuration."""
    folder = repository(tmp_path_factory.mktemp("hooks"))
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder / "x")]
    if run(folder, *pip, "hatchling").returncode:
        pytest.skip("pip reaches no package index, so pre-commit can build no environment")
    shutil.rmtree(folder / "x")
    for name in _PACKAGE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    assert commit(folder).returncode == 0
    assert run(folder, "git", "tag", "v1").returncode == 0
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where pre-commit keeps the environment, which both hooks share."""
    return str(tmp_path_factory.mktemp("home"))


def pre_commit(
    folder: Path, *arguments: str, home: str | None = None
) -> subprocess.CompletedProcess[str]:
    extra = {"PRE_COMMIT_HOME": home} if home else {}
    return run(folder, sys.executable, "-m", "pre_commit", *arguments, **extra)


def configured(folder: Path, hooks: Path, hook: str) -> None:
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: v1\n  hooks:\n  - id: {hook}\n"
    )


def test_manifest_is_valid() -> None:
    done = pre_commit(ROOT, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_try_repo(hooks: Path, home: str, tmp_path: Path) -> None:
    """The way in which people look at a hook first; the environment has no jax."""
    folder = repository(tmp_path)
    (folder / "a.py").write_text(DECAY)
    (folder / "b.txt").write_text(DECAY)
    assert commit(folder).returncode == 0
    done = pre_commit(folder, "try-repo", str(hooks), "forscan-check", "--all-files", home=home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "a.py:6:5: convertible [FSC101" in done.stdout
    assert "b.txt" not in done.stdout
    assert (folder / "a.py").read_text() == DECAY


def test_check_blocks_a_commit(hooks: Path, home: str, tmp_path: Path) -> None:
    folder = repository(tmp_path)
    configured(folder, hooks, "forscan-check")
    (folder / "pyproject.toml").write_text('[tool.forscan]\nexclude = ["old"]\n')
    (folder / "old").mkdir()
    (folder / "old" / "a.py").write_text(DECAY)
    assert pre_commit(folder, "install", home=home).returncode == 0
    assert commit(folder, PRE_COMMIT_HOME=home).returncode == 0  # excluded
    installed = {path.name for path in Path(home).glob("*/py_env-*/lib/*/site-packages/*")}
    assert "black" in installed and "jax" not in installed  # it is light
    (folder / "a.py").write_text(DECAY)
    done = commit(folder, PRE_COMMIT_HOME=home)
    assert done.returncode == 1
    assert "a.py:6:5: convertible" in done.stdout + done.stderr
    (folder / "a.py").write_text(DECAY.replace("range(4):", "range(4):  # forscan: ignore"))
    assert commit(folder, PRE_COMMIT_HOME=home).returncode == 0


def test_convert_rewrites_before_a_commit(hooks: Path, home: str, tmp_path: Path) -> None:
    """The first try is stopped since files have changed, the second one goes through."""
    folder = repository(tmp_path)
    configured(folder, hooks, "forscan")
    assert pre_commit(folder, "install", home=home).returncode == 0
    (folder / "a.py").write_text(DECAY)
    assert commit(folder, PRE_COMMIT_HOME=home).returncode == 1
    assert (folder / "a.py").read_text() == DECAY_SCAN
    assert commit(folder, PRE_COMMIT_HOME=home).returncode == 0


def test_verify_hook_does_what_its_entry_says(tmp_path: Path) -> None:
    """With the interpreter of the project, as the README shows it: no environment is built."""
    folder = repository(tmp_path)
    (folder / ".pre-commit-config.yaml").write_text(f"""\
repos:
- repo: local
  hooks:
  - id: forscan-verify
    name: forscan verify
    entry: env PYTHONPATH={ROOT} {sys.executable} -m forscan convert --verify --force-exclude
    language: system
    types: [python]
    require_serial: true
    stages: [pre-push, manual]
""")
    text = DECAY.replace("import jax\n", "import jax\nimport jax.numpy as jnp\n", 1)
    calls = 'calls = { "a.py" = ["decay(jnp.ones(2), jnp.ones((4, 2)))"] }'
    (folder / "pyproject.toml").write_text(f"[tool.forscan]\n{calls}\n")
    for name in ("a.py", "b.py"):
        (folder / name).write_text(text)
    assert commit(folder).returncode == 0
    done = pre_commit(folder, "run", "--all-files", "--hook-stage", "manual")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "lax.scan" in (folder / "a.py").read_text()
    assert (folder / "b.py").read_text() == text
