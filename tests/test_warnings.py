"""What Python has to say about a file is not forscan's to say, wherever it is parsed."""

from __future__ import annotations

import ast
import asyncio
import warnings
from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from tests.conftest import Run
from tests.samples import DECAY
from tests.test_architecture import modules, path_of

# Digits against a word, an escape that is none, `is` with a number, an assertion that holds.
DOUBTFUL = "y = [1if z else 0x2for z in '\\d']\nassert (y is 1, '')\n"
TEXT = DECAY.replace("    return x", f"    {DOUBTFUL.splitlines()[0]}\n    return x") + DOUBTFUL


def test_python_warns_of_the_text() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile(TEXT, "a.py", "exec")
    assert len(caught) >= 7


@pytest.mark.parametrize("wanted", ["always", "error"])
@pytest.mark.parametrize("line", ["check .", "check a.py", "convert --diff -j 2 .", "convert a.py"])
def test_nothing_on_stderr(forscan: Run, tmp_path: Path, line: str, wanted: str) -> None:
    count = 17 if line.endswith(".") else 1  # enough for several processes, and for a cache
    for name in ("a", *range(count - 1)):
        (tmp_path / f"{name}.py").write_text(f"{TEXT}# {name}\n")
    (tmp_path / "plain.py").write_text(DOUBTFUL)  # parsed as it is named
    done = forscan(*line.split(), "plain.py", PYTHONWARNINGS=wanted)
    assert done.returncode == (0 if line == "convert a.py" else 1)
    *report, summary = done.stderr.splitlines()
    assert summary.startswith(f"{count} loop")
    assert all("FSC101" in row or row.startswith("  note: ") for row in report)  # of a diff


def test_filters_stay_as_they_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        assert convert_bytes(TEXT.encode(), Path("a.py"), Config()).changed
        assert list(warnings.filters) == before


def test_nothing_on_stderr_behind_an_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where two threads parse at once."""
    pytest.importorskip("pytest_lsp", reason="it knows the editors, and is not installed")
    from tests.editor import started

    monkeypatch.setenv("PYTHONWARNINGS", "always")

    async def day() -> str:
        async with started(tmp_path / "a.py", "neovim@0.11.0") as editor:
            await editor.open(TEXT)
            line = TEXT.splitlines().index("    for i in range(4):") + 1
            for number in range(5):
                await editor.type(f"{TEXT}# {number}\n")
                found = await editor.actions(line)
                await editor.client.code_action_resolve_async(found["Convert to jax.lax.scan"])
                await editor.diagnostics()
        errors = editor.process.stderr
        assert errors is not None
        return (await errors.read()).decode()

    assert asyncio.run(day()) == ""


def test_one_module_parses() -> None:
    """What runs with the user's program parses as Python does, and says what Python says."""
    theirs = ("forscan.verify.child", "forscan.recorder")
    ours = {"ast.parse", "compile", "warnings.catch_warnings"}
    found = {
        module
        for module in modules()
        for node in ast.walk(ast.parse(path_of(module).read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ours
    }
    assert {m for m in found if not m.startswith(theirs)} == {"forscan.syntax.parsing"}
