"""What is written about forscan is what forscan does."""

from __future__ import annotations

import builtins
import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from forscan.diagnostics.codes import REGISTRY
from forscan.diagnostics.explain import markdown
from forscan.keys import KEYS
from tests.conftest import FIXTURES, ROOT, Run


def test_page_of_codes_is_the_registry() -> None:
    """Made anew by: python -c 'from forscan.diagnostics.explain import markdown; print(markdown(), end="")'"""
    assert (ROOT / "docs" / "codes.md").read_text() == markdown()


def test_every_refusal_has_an_example_that_is_run() -> None:
    shown = {p.stem.partition("_")[0] for p in FIXTURES.glob("refuse/*.py")}
    reachable = {c for c in REGISTRY if re.match(r"FSC[2345]", c) and c != "FSC307"}
    assert reachable <= shown


def test_readme_shows_what_convert_writes() -> None:
    """The example of the README is a fixture."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, re.S)
    loop = (FIXTURES / "loops" / "rollout" / "loop.py").read_text()
    scan = (FIXTURES / "loops" / "rollout" / "loop.to_scan.py").read_text()
    assert blocks[0] in loop
    assert blocks[1] in scan


def test_start_commands_stand_on_one_line() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 2
    assert all(block.count("\n") == 1 for block in blocks[:2])


def test_public_names_do_what_the_package_says() -> None:
    import forscan

    path = FIXTURES / "loops" / "rollout" / "loop.py"
    result = forscan.convert(path.read_bytes(), path, forscan.Config(to="scan"))
    assert result.after == path.with_name("loop.to_scan.py").read_bytes()
    assert [o.status for o in result.outcomes] == [forscan.Status.CONVERTED]
    assert all(getattr(forscan, name) is not None for name in forscan.__all__)


README = (ROOT / "README.md").read_text()


def usage(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "forscan", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def test_readme_names_every_command() -> None:
    listed = usage().partition("Commands:\n")[2]
    commands = re.findall(r"^  (\w+) ", listed, re.M)
    assert len(commands) >= 6
    for command in commands:
        assert f"forscan {command} " in README or f"forscan {command}`" in README, command


def test_options_in_the_readme_exist() -> None:
    """Those that stand behind a command stand in its help; the others in some help."""
    helps = {
        c: usage(c)
        for c in ("convert", "check", "verify", "tune", "record", "explain", "config", "lsp")
    }
    texts = re.sub(r"```(?:sh|lua)\n.*?```", "", README, flags=re.S)
    for command, rest in re.findall(r"forscan (\w+)((?: +[^\n`]*)?)", texts):
        own = rest.partition("-- ")[0]  # what follows is a command of the user's
        for option in re.findall(r"--[a-z-]+", own) if command in helps else ():
            assert option in helps[command] + usage(), (command, option)
    for option in re.findall(r"`(--[a-z-]+)", texts):
        assert any(option in text for text in helps.values()), option


def test_configuration_of_the_readme_holds(forscan: Run, tmp_path: Path) -> None:
    """It is one, and it shows every key."""
    table = next(b for b in re.findall(r"```toml\n(.*?)```", README, re.S) if "[tool." in b)
    assert tomllib.loads(table)["tool"]["forscan"].keys() == KEYS.keys()
    (tmp_path / "pyproject.toml").write_text(table)
    assert forscan("config").returncode == 0


def test_hooks_of_the_readme_exist() -> None:
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    named = set(re.findall(r"^  - id: (\S+)", README, re.M))
    there = set(re.findall(r"^- id: (\S+)", hooks, re.M))
    assert named and named <= there
    assert all(f"`{hook}`" in README for hook in there)
    entry = re.search(r"entry: (forscan convert --verify.*)", README)
    assert entry is not None and f"  entry: {entry[1]}\n" in hooks


def test_how_it_works_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell sessions of the page, one behind the other."""
    monkeypatch.setattr(builtins, "_", None, raising=False)  # a shell leaves its last value there
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    blocks = re.findall(r"```pycon\n(.*?)```", page, re.S)
    assert len(blocks) > 8
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, "how-it-works", None, 0)
    said: list[str] = []
    done = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert said == []
    assert (done.failed, done.attempted > 20) == (0, True)


def test_recording_as_the_readme_says(forscan: Run, tmp_path: Path) -> None:
    """Its commands, one behind the other, on a program of that name."""
    section = README.partition("## Recording\n")[2].partition("\n## ")[0]
    commands = re.findall(r"`forscan ([^`]*(?:train|pytest)[^`]*)`", section)
    assert len(commands) >= 6
    loop = (FIXTURES / "loops" / "rollout" / "loop.py").read_text().replace("= 50", "= 4")
    (tmp_path / "test_train.py").write_text("from train import *\ndef test(): rollout(*EXAMPLE)\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        (tmp_path / "train.py").write_text(f"{loop}\n\nprint(rollout(*EXAMPLE)[0].shape)\n")
        done = forscan(*shlex.split(command.replace("python ", f"{sys.executable} ")), PATH=path)
        assert done.returncode == (1 if command.startswith("check") else 0), (command, done.stderr)
    assert (tmp_path / ".forscan" / "recording.json").exists()
