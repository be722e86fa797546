"""The command as a person or a script meets it: targets, options, output, exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from forscan.api import convert_bytes
from forscan.cli import main
from forscan.config import Config
from tests.conftest import FIXTURES, ROOT, Run
from tests.samples import DECAY, DECAY_SCAN, MIXED

FORI = """\
import jax


@jax.jit
def decay(x, ws):
    def body(i, x):
        x = 0.5 * x + ws[i]
        return x

    x = jax.lax.fori_loop(0, 4, body, x)
    return x
"""

# One loop that is refused; line 6.
NOISY = """\
import jax


@jax.jit
def noisy(x):
    for i in range(4):
        print(i)
        x = 0.5 * x
    return x
"""

# Nothing marks the functions as traced.
PLAIN = DECAY.replace("@jax.jit\n", "")

KEYS = {
    "file",
    "line",
    "column",
    "end_line",
    "end_column",
    "function",
    "code",
    "status",
    "from",
    "to",
    "message",
    "help",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The json of a run: all of stdout."""
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def lines(text: str) -> list[str]:
    return text.splitlines()


# What is done, and the exit code that says so.


def test_convert_rewrites_in_place(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY})
    done = forscan("convert", "a.py")
    assert done.returncode == 0
    assert (tmp_path / "a.py").read_text() == DECAY_SCAN
    assert "a.py:6:5: converted" in done.stdout
    assert "1 loop in 1 file: 1 converted" in done.stderr


@pytest.mark.parametrize(
    "form, before, gone, there",
    [("fori", DECAY, "for i", "jax.lax.fori_loop("), ("for", DECAY_SCAN, "scan", "    for ws_i ")],
)
def test_convert_to_other_forms(
    forscan: Run, tmp_path: Path, form: str, before: str, gone: str, there: str
) -> None:
    write(tmp_path, {"a.py": before})
    assert forscan("convert", "--to", form, "a.py").returncode == 0
    text = (tmp_path / "a.py").read_text()
    assert there in text
    assert gone not in text


@pytest.mark.parametrize(
    "form, before", [("scan", MIXED), ("fori", MIXED), ("for", DECAY_SCAN)], ids=lambda v: v[:5]
)
def test_second_run_changes_nothing(forscan: Run, tmp_path: Path, form: str, before: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(before)
    forscan("convert", "--to", form, "a.py")
    once, time = path.read_bytes(), path.stat().st_mtime_ns
    assert forscan("convert", "--check", "--to", form, "a.py").returncode == 0
    assert forscan("convert", "--to", form, "a.py").returncode == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (once, time)


def test_diff_shows_and_writes_nothing(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY, "b.py": DECAY_SCAN})
    done = forscan("convert", "--diff", "a.py", "b.py")
    assert done.returncode == 1
    assert (tmp_path / "a.py").read_text() == DECAY
    shown = lines(done.stdout)
    assert shown[:3] == ["--- a.py", "+++ a.py", "@@ -3,6 +3,9 @@"]
    assert "-    for i in range(4):" in shown
    assert "+    x, _ = jax.lax.scan(step, x, ws[:4], length=4)" in shown
    assert all(line[0] in " +-@" for line in shown)  # outcomes go to stderr, so it is a patch
    assert "a.py:6:5: convertible" in done.stderr
    assert forscan("convert", "--diff", "b.py").returncode == 0


def apply(diff: str, path: Path) -> bytes:
    """The file after `git apply`."""
    folder = path.parent
    (folder / "a.diff").write_bytes(diff.encode())
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", "-p0", "a.diff"], cwd=folder, env=environment, check=True)
    return path.read_bytes()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("name", ["a.py", "a b.py"])
@pytest.mark.parametrize(
    "before",
    [
        pytest.param(DECAY.encode(), id="plain"),
        pytest.param(DECAY.encode().rstrip(b"\n"), id="no newline at the end"),
        pytest.param(DECAY.encode().replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(DECAY.encode().replace(b"\n", b"\r"), id="cr"),
        pytest.param(b"\xef\xbb\xbf" + DECAY.replace("\n\n\n", "\n", 1).encode(), id="bom"),
        pytest.param(DECAY.replace("(x, ws):\n", "(x, ws):\n    # \f\n").encode(), id="form feed"),
    ],
)
def test_diff_can_be_applied(forscan: Run, tmp_path: Path, before: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(before)
    diff = forscan("convert", "--diff", name).stdout
    assert apply(diff, path) == convert_bytes(before, path, Config()).after


def test_diff_of_other_encodings(forscan: Run, tmp_path: Path) -> None:
    text = "# coding: latin-1\n" + DECAY.replace("    for", "    # naïve\n    for")
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    assert "     # naïve" in lines(forscan("convert", "--diff", "a.py").stdout)


def test_check_option_writes_nothing(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY, "b.py": DECAY_SCAN, "c.py": NOISY})
    done = forscan("convert", "--check", "a.py", "b.py")
    assert done.returncode == 1
    assert "a.py:6:5: " in done.stdout
    assert "b.py" not in done.stdout
    assert (tmp_path / "a.py").read_text() == DECAY
    assert forscan("convert", "--check", "b.py", "c.py").returncode == 0


def test_dry_run_does_not_say_that_it_converted(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY})
    (row,) = rows(forscan("convert", "--check", "--output-format", "json", "a.py"))
    assert row["status"] == "convertible"
    assert row["message"] == "this `for` can become `lax.scan`"
    for arguments in (("--diff", "a.py"), ("--diff", "-"), ("--check", "-")):
        done = forscan("convert", *arguments, stdin=DECAY)
        assert "can become" in done.stderr
        assert "converted" not in done.stderr


def test_check_finds_and_writes_nothing(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": MIXED})
    done = forscan("check", "a.py")
    assert done.returncode == 1
    assert (tmp_path / "a.py").read_text() == MIXED
    for line in ("a.py:7:5: convertible", "a.py:14:5: refused", "a.py:21:5: skipped"):
        assert line in done.stdout
    assert "3 loops in 1 file: 1 convertible, 1 refused, 1 skipped" in done.stderr


@pytest.mark.parametrize("text", [NOISY, PLAIN, DECAY_SCAN, "x = 1\n"])
def test_check_is_clean_where_nothing_can_be_converted(
    forscan: Run, tmp_path: Path, text: str
) -> None:
    write(tmp_path, {"a.py": text})
    assert forscan("check", "a.py").returncode == 0


def test_check_asks_about_the_form_that_is_given(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY_SCAN})
    assert forscan("check", "a.py").returncode == 0
    done = forscan("check", "--to", "for", "--output-format", "concise", "a.py")
    assert done.returncode == 1
    assert done.stdout == "a.py:10:12: FSC102 convertible this `lax.scan` can become `for`\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("chekc", "a.py"),
        ("check",),
        ("check", "--no-such-option", "a.py"),
        ("check", "--to", "while", "a.py"),
        ("check", "-j", "0", "a.py"),
        ("convert", "--unroll", "0", "a.py"),
        ("convert", "--unroll", "-1", "a.py"),
        ("convert", "--unroll", "some", "a.py"),
        ("convert", "--body", "method", "a.py"),
        ("convert", "--params", "both", "a.py"),
        ("convert", "--timeout", "0", "a.py"),
        ("--color", "blue", "check", "a.py"),
        ("verify", "a.py"),
        ("explain",),
        ("convert", "--unroll", "²", "a.py"),
        ("check", "a.py:²"),
        ("check", "a.py:" + "9" * 30),
        ("convert", "--unroll", "9" * 30, "a.py"),
        ("convert", "--to", "fori", "--body", "lambda", "a.py"),
        ("convert", "--to", "for", "--unroll", "2", "a.py"),
        ("convert", "--to", "for", "--body", "def", "a.py"),
        ("convert", "--to", "for", "--params", "carry", "a.py"),
        ("check", "-", "nosuch.py"),
        ("convert", "a.py", "-"),
        ("convert", "-", "a.py"),
        ("convert", "--since", "HEAD", "-"),
        ("convert", "--since", "HEAD", "a.py:6"),
        ("check", "--since", "HEAD", ".", "a.py:6:5"),
        ("verify", "-", "--call", "f()"),
        ("tune", "-", "--call", "f()"),
        ("tune", "--output-format", "sarif", "a.py", "--call", "f()"),
        ("tune", "--output-format", "github", "a.py", "--call", "f()"),
        ("tune", "--output-format", "concise", "a.py", "--call", "f()"),
        ("verify", "--output-format", "sarif", "a.py", "--call", "f()"),
        ("verify", "--output-format", "json", "--markdown", "a.py", "--call", "f()"),
    ],
    ids=lambda v: " ".join(v)[:40],
)
def test_usage_errors(forscan: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write(tmp_path, {"a.py": DECAY})
    done = forscan(*arguments)
    assert done.returncode == 2
    assert done.stderr
    assert not done.stdout
    assert (tmp_path / "a.py").read_text() == DECAY


# Targets.


def test_directory_is_walked(forscan: Run, tmp_path: Path) -> None:
    inside = ["top.py", "sub/deep/low.py"]
    outside = [
        ".hidden/a.py",
        "sub/.git/a.py",
        "venv/a.py",
        "sub/.venv/lib/a.py",
        "node_modules/a.py",
        "__pycache__/a.py",
        "sub/build/a.py",
        "notes.txt",
        "stub.pyi",
    ]
    write(tmp_path, dict.fromkeys([*inside, *outside], DECAY))
    done = forscan("convert", ".")
    assert done.returncode == 0
    assert "2 loops in 2 files: 2 converted" in done.stderr
    changed = [n for n in inside + outside if (tmp_path / n).read_text() != DECAY]
    assert changed == inside


def test_directory_that_is_named_is_walked_whatever_its_name(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"build/a.py": DECAY})
    assert "build/a.py:6:5: convertible" in forscan("check", "build").stdout


def test_files_come_in_order(forscan: Run, tmp_path: Path) -> None:
    """Targets as they are given, directories sorted: the same output on every machine."""
    write(tmp_path, dict.fromkeys(["b.py", "a.py", "c/z.py", "c/b.py", "c/d/a.py"], DECAY))
    done = forscan("check", "--output-format", "concise", "c", "b.py", "a.py")
    names = [line.split(":")[0] for line in lines(done.stdout)]
    assert names == ["c/b.py", "c/z.py", "c/d/a.py", "b.py", "a.py"]


TWO = DECAY + NOISY.replace("print(i)", "pass").replace("import jax", "")


@pytest.mark.parametrize(
    "targets, name",
    [
        (("a.py", "a.py"), "a.py"),
        ((".", "a.py"), "a.py"),
        (("a.py", "link.py"), "a.py"),
        (("link.py", "sub/../a.py"), "link.py"),
        (("a.py::decay", "a.py::noisy"), "a.py"),
        (("a.py:6", "a.py::noisy"), "a.py"),
        (("a.py:6", "."), "a.py"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, tuple) else "",
)
def test_file_that_is_named_twice(
    forscan: Run, tmp_path: Path, targets: tuple[str, ...], name: str
) -> None:
    """It is treated once: all that any of the targets means, under its first name."""
    write(tmp_path, {"a.py": TWO, "sub/b.py": ""})
    (tmp_path / "link.py").symlink_to("a.py")
    done = forscan("convert", "--output-format", "json", *targets)
    assert done.returncode == 0
    assert "for i" not in (tmp_path / "a.py").read_text()
    assert [row["file"] for row in rows(done)] == [name, name]


def test_loop_that_is_named_by_line_beside_all_others(forscan: Run, tmp_path: Path) -> None:
    """Only the one that is named is believed to be traced."""
    write(tmp_path, {"a.py": PLAIN + "\n\n" + PLAIN.replace("decay", "other")})
    found = rows(forscan("check", "--output-format", "json", "a.py", "a.py:5"))
    assert [row["status"] for row in found] == ["convertible", "skipped"]


FUNCTIONS = """\
import jax


class Cell(jax.tree_util.Partial):
    @jax.jit
    def step(self, x):
        for _ in range(3):
            x = 0.1 * x
        return x


@jax.jit
def outer(x):
    def inner(x):
        for _ in range(3):
            x = 0.2 * x
        return x

    for _ in range(3):
        x = 0.3 * x
    return inner(x)


@jax.jit
def outermost(x):
    for _ in range(3):
        x = 0.4 * x
    return x
"""


@pytest.mark.parametrize(
    "name, functions",
    [
        ("Cell.step", ["Cell.step"]),
        ("Cell", ["Cell.step"]),
        ("outer", ["outer.inner", "outer"]),
        ("outer.inner", ["outer.inner"]),
        ("outermost", ["outermost"]),
    ],
)
def test_function_target(forscan: Run, tmp_path: Path, name: str, functions: list[str]) -> None:
    """A function, with what is defined in it, and nothing else."""
    write(tmp_path, {"a.py": FUNCTIONS})
    done = forscan("convert", "--output-format", "json", f"a.py::{name}")
    assert done.returncode == 0
    assert [row["function"] for row in rows(done)] == functions
    assert (tmp_path / "a.py").read_text().count("in range(3)") == 4 - len(functions)


NESTED = """\
import jax


@jax.jit
def f(x):
    for _ in range(3):
        x = 2 * x
        for _ in range(5):
            x = x + 1
        x = 3 * x
    return x
"""


@pytest.mark.parametrize(
    "target, complaint",
    [
        ("a.py::nosuch", "no function nosuch in a.py"),
        ("a.py::oute", "no function oute in a.py"),
        ("a.py::step", "no function step in a.py, only Cell.step"),
        ("a.py:1", "no loop at line 1 in a.py"),
        ("a.py:0", "no loop at line 0 in a.py"),
        ("a.py:9999", "no loop at line 9999 in a.py"),
        ("a.py:9999:3", "no loop at line 9999 in a.py"),
        ("a.py:cell 3:1", "a.py:cell 3:1: only a notebook has cells"),
        ("empty.py:1", "no loop at line 1 in empty.py"),
        ("empty.py::f", "no function f in empty.py"),
    ],
)
def test_what_a_target_names_has_to_be_there(
    forscan: Run, tmp_path: Path, target: str, complaint: str
) -> None:
    """Said, and what the other targets mean is done."""
    write(tmp_path, {"a.py": FUNCTIONS, "empty.py": ""})
    done = forscan("convert", target, "a.py::outermost")
    assert done.returncode == 2
    assert f"forscan: {complaint}" in lines(done.stderr)
    assert (tmp_path / "a.py").read_text().count("in range(3)") == 3


def test_function_without_loops_is_there(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def f(x):\n    return x\n"})
    assert forscan("convert", "a.py::f").returncode == 0


@pytest.mark.parametrize("line, left", [(8, [6]), (9, [6]), (6, [8]), (10, [8])])
def test_line_target(forscan: Run, tmp_path: Path, line: int, left: list[int]) -> None:
    """The innermost loop around the line; what the outer one holds may stay a `for`."""
    write(tmp_path, {"a.py": NESTED})
    done = forscan("convert", "--output-format", "json", f"a.py:{line}")
    assert done.returncode == 0
    (row,) = rows(done)
    assert row["line"] == 14 - left[0]
    text = (tmp_path / "a.py").read_text()
    assert text.count("for _") == 1
    assert f"for _ in range({'3' if left == [6] else '5'})" in text


def test_place_as_it_is_reported_is_a_target(forscan: Run, tmp_path: Path) -> None:
    """With its column, as editors and our own lines have it."""
    write(tmp_path, {"a.py": NESTED})
    shown = lines(forscan("check", "--output-format", "concise", "a.py").stdout)
    place = shown[1].partition(": ")[0]
    assert place == "a.py:8:9"
    (row,) = rows(forscan("convert", "--output-format", "json", place))
    assert (row["line"], row["status"]) == (8, "converted")


def test_line_target_needs_no_mark(forscan: Run, tmp_path: Path) -> None:
    """Who names a loop knows that it is traced."""
    write(tmp_path, {"a.py": PLAIN})
    assert forscan("convert", "a.py:5").returncode == 0
    assert "lax.scan" in (tmp_path / "a.py").read_text()


@pytest.mark.parametrize(
    "head",
    [
        "# for example\n",
        "# by hand\n",
    ],
)
def test_line_target_turns_one_lax_loop_into_another(
    forscan: Run, tmp_path: Path, head: str
) -> None:
    """Unasked, a loop that is compiled already stays what it is."""
    write(tmp_path, {"a.py": head + FORI})
    assert forscan("check", "--to", "scan", "a.py").returncode == 0
    assert forscan("convert", "--to", "scan", "a.py:11").returncode == 0
    assert "lax.scan" in (tmp_path / "a.py").read_text()


@pytest.mark.parametrize("target", ["a.py", "a.py:2"])
def test_said_to_be_traced_in_a_file_that_does_not_mention_jax(
    forscan: Run, tmp_path: Path, target: str
) -> None:
    """Arrays come from the caller: who names a function or a loop is believed."""
    write(
        tmp_path,
        {
            "a.py": "def decay(x):\n    for _ in range(3):\n        x = 0.5 * x\n    return x\n",
            "pyproject.toml": '[tool.forscan]\ntraced = ["decay"]\n',
        },
    )
    assert forscan("check", "--all", "a.py").returncode == 1
    assert forscan("check", target).returncode == 1


def test_loop_that_has_the_form_already_is_there(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY_SCAN})
    assert forscan("convert", "a.py:10").returncode == 0
    assert (tmp_path / "a.py").read_text() == DECAY_SCAN


INDIRECT = """\
from jax import lax


def f(x, run=lax.scan):
    return run(x)


def g(x):
    return f(x, lax.scan)
"""


@pytest.mark.parametrize(
    "target, found",
    [("a.py", [4, 9]), ("a.py::g", [9]), ("a.py:9", [9])],
)
def test_indirect_uses_are_chosen_like_loops(
    forscan: Run, tmp_path: Path, target: str, found: list[int]
) -> None:
    write(tmp_path, {"a.py": INDIRECT})
    done = forscan("convert", "--to", "for", "--output-format", "json", target)
    assert [row["line"] for row in rows(done)] == found
    assert done.returncode == (1 if target == "a.py:9" else 0)


@pytest.mark.parametrize("command", ["check", "convert"])
def test_refused_loop_named_by_its_line(forscan: Run, tmp_path: Path, command: str) -> None:
    write(tmp_path, {"a.py": NOISY})
    assert forscan(command, "a.py").returncode == 0
    done = forscan(command, "a.py:7")
    assert done.returncode == 1
    assert "FSC302" in done.stdout


def test_refused_loop_that_is_not_the_one_named(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY, "b.py": NOISY})
    assert forscan("convert", "a.py:6", "b.py").returncode == 0


# stdin.


def test_stdin_to_stdout(forscan: Run, tmp_path: Path) -> None:
    done = forscan("convert", "-", "--stdin-filename", "pkg/a.py", stdin=DECAY)
    assert done.returncode == 0
    assert done.stdout == DECAY_SCAN
    assert lines(done.stderr) == ["pkg/a.py:6:5: FSC101 converted this `for` became `lax.scan`"]
    assert list(tmp_path.iterdir()) == []


def test_stdin_that_needs_no_change_comes_back(forscan: Run) -> None:
    text = NOISY.replace("\n", "\r\n")
    done = forscan("convert", "-", stdin=text.encode())
    assert done.returncode == 0
    assert done.stdout == text
    assert "<stdin>:6:5: FSC302 refused" in done.stderr


def test_stdin_with_a_syntax_error_comes_back(forscan: Run) -> None:
    """An editor that filters its buffer through the command loses nothing."""
    broken = DECAY + "def half(\n"
    done = forscan("convert", "-", "--stdin-filename", "a.py", stdin=broken)
    assert done.returncode == 2
    assert done.stdout == broken
    assert lines(done.stderr) == ["a.py:9:9: FSC901 syntax error: '(' was never closed"]


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_stdin_dry_run(forscan: Run, option: str) -> None:
    done = forscan("convert", option, "-", stdin=DECAY)
    assert done.returncode == 1
    assert done.stdout.startswith("--- <stdin>\n") if option == "--diff" else done.stdout == ""
    assert forscan("convert", option, "-", stdin=NOISY).returncode == 0


def test_stdin_takes_the_configuration_of_its_file(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"pkg/pyproject.toml": '[tool.forscan]\nto = "fori"\n'})
    done = forscan("convert", "-", "--stdin-filename", "pkg/a.py", stdin=DECAY)
    assert "fori_loop" in done.stdout
    assert forscan("convert", "-", stdin=DECAY).stdout == DECAY_SCAN


def test_check_reads_stdin(forscan: Run) -> None:
    done = forscan("check", "-", "--stdin-filename", "a.py", stdin=DECAY)
    assert done.returncode == 1
    assert "a.py:6:5: convertible" in done.stdout
    assert "1 loop in 1 file: 1 convertible" in done.stderr
    done = forscan("check", "-", "--output-format", "json", stdin=DECAY)
    assert [row["file"] for row in rows(done)] == ["<stdin>"]
    assert forscan("check", "-", stdin=NOISY).returncode == 0
    assert forscan("check", "-", stdin=DECAY + "(").returncode == 2


# Output.


def test_full_output_shows_the_place_and_the_way_out(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": NOISY})
    shown = lines(forscan("check", "a.py").stdout)
    assert shown[0] == "a.py:6:5: refused [FSC302 host-effect] in noisy"
    place = shown.index("  7 |         print(i)")
    assert shown[place + 1].startswith("    |         ^ `print` acts on the host")
    assert any(line.startswith("  help: Use jax.debug.print") for line in shown)


@pytest.mark.parametrize("action", ["check", "convert --to scan --diff", "convert --to fori"])
def test_reasons_stand_where_they_are_in_the_file(
    forscan: Run, tmp_path: Path, action: str
) -> None:
    """Also behind loops of the function that are longer or shorter when converted."""
    body = """\
    for x in xs:
        s = s + x
    for i in range(4):
        'ü'; print(s); s = 2 * s
"""
    write(tmp_path, {"a.py": f"import jax\n\n\n@jax.jit\ndef f(s, xs):\n{body * 2}    return s\n"})
    done = forscan(*action.split(), "a.py")
    shown = lines(done.stdout + done.stderr)
    for line in (9, 13):
        place = shown.index(f"  {line} |         'ü'; print(s); s = 2 * s")
        assert shown[place + 1].partition("|")[2].startswith("              ^ `print` acts on")


@pytest.mark.parametrize("odd", ["\f", "\x1c", "\u2028"], ids=["form feed", "fs", "ls"])
def test_full_output_shows_the_right_line(forscan: Run, tmp_path: Path, odd: str) -> None:
    write(tmp_path, {"a.py": f"# {odd}\n" + NOISY})
    assert "  8 |         print(i)" in lines(forscan("check", "a.py").stdout)


def test_concise_output_is_one_line_a_loop(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": MIXED})
    shown = lines(forscan("check", "--output-format", "concise", "a.py").stdout)
    form = re.compile(r"a\.py:\d+:5: FSC\d{3} (convertible|refused|skipped) \S.*")
    assert len(shown) == 3
    assert all(form.fullmatch(line) for line in shown)


def test_concise_output_is_short(forscan: Run, tmp_path: Path) -> None:
    """Of each refusal in the examples: what was found, and not what follows from it."""
    paths = sorted(FIXTURES.glob("refuse/*.py"))
    done = forscan("check", "--output-format", "concise", *map(str, paths))
    shown = [line.partition(" refused ")[2] for line in lines(done.stdout) if " refused " in line]
    assert len(shown) > 50
    assert max(map(len, shown)) <= 100
    assert all(re.search(r"[^ ;:,]$", line) for line in shown)


# Options that do nothing where they are not given.
WITHOUT_DEFAULT = {"since", "unroll", "calls", "plot"}


def test_help_has_sentences_and_defaults() -> None:
    """Each option is told in a sentence, with what holds where it is not given."""
    for command in main.commands.values():
        for option in command.params:
            if not isinstance(option, click.Option):
                continue
            said = option.help or ""
            assert said.endswith(".") and len(said.split()) > 4, (command.name, option.name)
            shown = isinstance(option.show_default, str) or isinstance(
                option.default, str | int | float
            )
            optional = option.is_flag or option.name in WITHOUT_DEFAULT
            assert shown or optional, (command.name, option.name)
    assert main.context_settings["show_default"]


def test_skipped_loops_are_counted_only_where_there_are_many_files(
    forscan: Run, tmp_path: Path
) -> None:
    write(tmp_path, {"a.py": PLAIN, "b.py": PLAIN})
    done = forscan("check", ".")
    assert done.stdout == ""
    assert "2 loops in 2 files: 2 skipped" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("check",), ("convert",), ("convert", "--diff"), ("convert", "--check")]
)
def test_json_output(forscan: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write(tmp_path, {"a.py": MIXED, "b.py": "x = 1\n"})
    done = forscan("--color", "always", *arguments, "--output-format", "json", "a.py", "b.py")
    found = rows(done)
    assert [set(row) for row in found] == [KEYS] * 3
    assert [row["status"] for row in found[1:]] == ["refused", "skipped"]
    assert [row["function"] for row in found] == ["decay", "noisy", "plain"]
    assert [row["code"] for row in found] == ["FSC101", "FSC302", "FSC103"]
    assert all((row["file"], row["from"], row["to"]) == ("a.py", "for", "scan") for row in found)
    assert all(row["message"] for row in found)
    assert found[1]["help"] and found[2]["help"]


def test_stdin_in_a_format_for_programs(forscan: Run, tmp_path: Path) -> None:
    arguments = ("convert", "-", "--output-format", "json")
    for more, text in (((), DECAY_SCAN), (("--check",), "")):
        done = forscan(*arguments, *more, stdin=DECAY)
        assert done.stdout == text
        (row,) = json.loads(done.stderr)
        assert row["status"] == ("convertible" if more else "converted")
    assert forscan("check", "a.py", "--stdin-filename", "b.py").returncode == 2


def test_json_output_without_loops_is_an_empty_list(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n"})
    done = forscan("check", "--output-format", "json", "a.py", "missing.py")
    assert rows(done) == []


def test_json_has_what_could_not_be_treated(forscan: Run, tmp_path: Path) -> None:
    """A program that reads stdout alone sees each file that went wrong."""
    write(tmp_path, {"a.py": DECAY, "b.py": "def (\n", "c.py": f"{DECAY}x = (\n"})
    for command in (("check",), ("convert", "--diff"), ("convert",)):
        found = rows_of_errors(forscan(*command, "--output-format", "json", "a.py", "b.py", "c.py"))
        places = [(row["file"], row["line"], row["column"]) for row in found]
        assert places == [("b.py", 1, 5), ("c.py", 9, 5)]


def rows_of_errors(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 2
    found = rows(done)
    assert all(set(row) == KEYS for row in found)
    assert {(r["code"], r["status"]) for r in found if r["status"] == "error"} == {
        ("FSC901", "error")
    }
    return [row for row in found if row["status"] == "error"]


@pytest.mark.parametrize(
    "text, form, loop",
    [
        (DECAY, "scan", "for i in range(4):\n        x = 0.5 * x + ws[i]"),
        (DECAY_SCAN, "for", "jax.lax.scan(step, x, ws[:4], length=4)"),
        (
            DECAY_SCAN.replace("x, _ =", "é, x = 'ü',").replace("length=4)", "length=4)[0]"),
            "for",
            "jax.lax.scan(step, x, ws[:4], length=4)",
        ),
        (DECAY.replace("\n", "\r\n"), "scan", "for i in range(4):\r\n        x = 0.5 * x + ws[i]"),
    ],
    ids=["for", "scan", "not ascii", "crlf"],
)
def test_json_positions_are_those_of_an_editor(
    forscan: Run, tmp_path: Path, text: str, form: str, loop: str
) -> None:
    """Lines and columns from 1, in characters; the end is the first place behind the loop."""
    (tmp_path / "a.py").write_bytes(text.encode())
    (row,) = rows(forscan("check", "--to", form, "--output-format", "json", "a.py"))
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start = starts[row["line"] - 1] + row["column"] - 1
    end = starts[row["end_line"] - 1] + row["end_column"] - 1
    assert text[start:end] == loop


def is_coloured(done: subprocess.CompletedProcess[str]) -> bool:
    return "\x1b[" in done.stdout


@pytest.mark.parametrize(
    "option, environment, coloured",
    [
        ("auto", {}, False),  # no terminal
        ("always", {}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),  # said here and now
    ],
)
def test_colour(
    forscan: Run, tmp_path: Path, option: str, environment: dict[str, str], coloured: bool
) -> None:
    write(tmp_path, {"a.py": DECAY})
    environment = {"NO_COLOR": "", "FORCE_COLOR": "", **environment}
    for arguments in (("check",), ("convert", "--diff")):
        done = forscan("--color", option, *arguments, "a.py", **environment)
        assert is_coloured(done) is coloured


def test_converted_source_is_never_coloured(forscan: Run) -> None:
    assert forscan("--color", "always", "convert", "-", stdin=DECAY).stdout == DECAY_SCAN


def test_output_that_nobody_reads(tmp_path: Path) -> None:
    """`forscan check . | head -1`: the pipe is closed before all is written."""
    write(tmp_path, {f"file_{i}.py": DECAY for i in range(5)})
    process = subprocess.Popen(
        [sys.executable, "-m", "forscan", "check", "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    assert process.wait() != 0
    process.stderr.close()


# Which loops.


def test_all_treats_every_function_as_traced(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": PLAIN})
    done = forscan("check", "a.py")
    assert done.returncode == 0
    assert "FSC103" in done.stdout
    assert forscan("check", "--all", "a.py").returncode == 1
    assert forscan("convert", "--all", "a.py").returncode == 0
    assert (tmp_path / "a.py").read_text() == DECAY_SCAN.replace("@jax.jit\n", "")


def test_traced_mark(forscan: Run, tmp_path: Path) -> None:
    marked = PLAIN.replace("def decay", "# forscan: traced\ndef decay")
    write(tmp_path, {"a.py": marked + "\n\n" + PLAIN.replace("decay", "other")})
    found = rows(forscan("check", "--output-format", "json", "a.py"))
    assert [row["status"] for row in found] == ["convertible", "skipped"]


LOOP = "    for i in range(4):\n"


@pytest.mark.parametrize(
    "old, new",
    [
        (LOOP, "    for i in range(4):  # forscan: ignore\n"),
        (LOOP, "    # forscan: ignore\n" + LOOP),
        (LOOP, "    # forscan: ignore\n    # It is as fast as it gets.\n" + LOOP),
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC101]\n"),
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC301, FSC101]\n"),
        (LOOP, "    for i in range(4):  # noqa: FSC101\n"),
        (LOOP, "    for i in range(4):  # noqa: FSC101, E501\n"),
        ("import jax\n", "# forscan: skip-file\nimport jax\n"),
        (LOOP, "    for i in range(4):  # noqa: E501, FSC101\n"),
    ],
    ids=lambda v: v.strip().replace("\n", " "),
)
def test_suppressed(forscan: Run, tmp_path: Path, old: str, new: str) -> None:
    text = DECAY.replace(old, new)
    write(tmp_path, {"a.py": text})
    done = forscan("check", "--output-format", "json", "a.py")
    assert done.returncode == 0
    found = [(r["status"], r["code"], r["message"]) for r in rows(done) if r["function"]]
    ignored = ("skipped", "FSC101", "a comment at the loop says to ignore it")
    assert found == ([] if "skip-file" in new else [ignored])
    assert forscan("convert", "a.py").returncode == 0
    assert (tmp_path / "a.py").read_text() == text


@pytest.mark.parametrize(
    "old, new",
    [
        (LOOP, "    for i in range(4):  # noqa: E501\n"),
        (LOOP, "    for i in range(4):  # noqa\n"),
        (LOOP, "    for i in range(4):  # noqa: E501 and not FSC101\n"),
        (LOOP, "    for i in range(4):  # forscan: ignored\n"),
        (LOOP, "    pass  # forscan: ignore\n" + LOOP),
        (LOOP, "    # forscan: ignore\n\n" + LOOP),
        (LOOP, LOOP + "        # forscan: ignore\n"),
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC301]\n"),
        (LOOP, "    for i in range(4):  # noqa: FSC301\n"),
        (LOOP, "    for i in range(len('# forscan: ignore')):\n"),
        ("import jax\n", 'import jax\n\nMARK = "# forscan: skip-file"\n'),
    ],
    ids=lambda v: v.strip().replace("\n", " "),
)
def test_not_suppressed(forscan: Run, tmp_path: Path, old: str, new: str) -> None:
    write(tmp_path, {"a.py": DECAY.replace(old, new)})
    assert forscan("check", "a.py").returncode == 1


@pytest.mark.parametrize(
    "comment, status, code",
    [
        ("# forscan: ignore[FSC302]", "refused", "FSC401"),
        ("# forscan: ignore[FSC401]", "refused", "FSC302"),
        ("# forscan: ignore[FSC302, FSC401]", "skipped", "FSC302"),
        ("# forscan: ignore", "skipped", "FSC302"),
        ("# noqa: FSC401,FSC302", "skipped", "FSC302"),
        ("# forscan: ignore[FSC101]", "refused", "FSC302"),
        ("# noqa: FSC101, FSC201", "refused", "FSC302"),
    ],
)
def test_suppressed_refusal(
    forscan: Run, tmp_path: Path, comment: str, status: str, code: str
) -> None:
    """A refusal has codes of its own: `print` acts on the host, and takes no tracer."""
    write(tmp_path, {"a.py": NOISY.replace("range(4):", f"range(4):  {comment}")})
    done = forscan("check", "--output-format", "json", "a.py:6")
    assert [(row["status"], row["code"]) for row in rows(done)] == [(status, code)]
    assert done.returncode == (1 if status == "refused" else 0)


def test_suppressed_on_the_way_back(forscan: Run, tmp_path: Path) -> None:
    """By the code that the loop would be reported under, for the form that is asked for."""
    for comment, code in (("# noqa: FSC102", 0), ("# noqa: FSC101", 1)):
        write(tmp_path, {"a.py": DECAY_SCAN.replace("length=4)", f"length=4)  {comment}")})
        assert forscan("check", "--to", "for", "a.py").returncode == code


def test_file_that_is_no_python_can_be_skipped(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"print 'two'  # \xff\n# forscan: skip-file\nfor jax in x:\n")
    done = forscan("convert", "a.py")
    assert done.returncode == 0
    assert done.stdout == ""


# How loops are written.


@pytest.mark.parametrize("given, written", [("4", "unroll=4"), ("true", "unroll=True")])
@pytest.mark.parametrize("before", [DECAY, DECAY_SCAN], ids=["for", "scan"])
def test_unroll(forscan: Run, tmp_path: Path, given: str, written: str, before: str) -> None:
    """The hint is written into new scans and into those that are there."""
    write(tmp_path, {"a.py": before})
    assert forscan("convert", "--unroll", given, "a.py").returncode == 0
    text = (tmp_path / "a.py").read_text()
    assert text == DECAY_SCAN.replace("length=4)", f"length=4, {written})")
    assert forscan("convert", "--unroll", given, "--check", "a.py").returncode == 0


def test_body_and_back(forscan: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "import jax\n\n\n@jax.jit\ndef f(x, ws):\n"
        "    x, _ = jax.lax.scan(lambda x, w: (0.5 * x + w, None), x, ws)\n    return x\n"
    )
    assert forscan("convert", "--body", "def", "a.py").returncode == 0
    assert "    def step(x, w):\n        return " in path.read_text()
    assert "lambda" not in path.read_text()
    assert forscan("convert", "--body", "lambda", "a.py").returncode == 0
    assert "step = lambda x, w: (0.5 * x + w, None)\n" in path.read_text()
    assert forscan("convert", "--body", "lambda", "--check", "a.py").returncode == 0


CLOSURE = """\
import jax


@jax.jit
def decay(x, ws, rate):
    def step(x, w):
        x = rate * x + w
        return x, None

    x, _ = jax.lax.scan(step, x, ws)
    return x
"""


def test_params_and_back(forscan: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CLOSURE)
    assert forscan("convert", "--params", "carry", "a.py").returncode == 0
    assert re.search(r"def step\((\w+), w\):\n +x, rate = \1\n", path.read_text())
    assert "jax.lax.scan(step, (x, rate), ws)" in path.read_text()
    assert forscan("convert", "--params", "closure", "a.py").returncode == 0
    assert path.read_text() == CLOSURE


def test_params_keep_the_length(forscan: Run, tmp_path: Path) -> None:
    """It is what makes `ws[:4]` of three rows an error."""
    path = tmp_path / "a.py"
    path.write_text(CLOSURE.replace("x, ws)\n    return", "x, ws[:4], length=4)\n    return"))
    assert forscan("convert", "--params", "carry", "a.py").returncode == 0
    assert "length=4" in path.read_text()


def test_explain(forscan: Run) -> None:
    shown = forscan("explain", "FSC301")
    assert shown.returncode == 0
    assert shown.stdout.startswith("FSC301 early-exit: ")
    assert "What to do: " in shown.stdout
    assert forscan("explain", "early-exit").stdout == shown.stdout
    unknown = forscan("explain", "FSC999")
    assert unknown.returncode == 2
    assert "FSC999" in unknown.stderr


# Many files, and configuration.


def test_many_jobs_give_what_one_gives(forscan: Run, tmp_path: Path) -> None:
    texts = [DECAY, MIXED, NOISY, DECAY_SCAN, PLAIN, "def broken(:\n    for x in jnp\n"]
    for folder in ("one", "two"):
        write(tmp_path, {f"{folder}/f{i:02}.py": texts[i % 6] for i in range(30)})
    one = forscan("convert", "-j", "1", "one")
    two = forscan("convert", "-j", "2", "two")
    assert one.returncode == two.returncode == 2
    assert two.stdout == one.stdout.replace("one/", "two/")
    assert two.stderr == one.stderr.replace("one/", "two/")
    assert "30 files" in one.stderr and "; 5 files with an error" in one.stderr
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_configured_form(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": '[tool.forscan]\nto = "fori"\n', "a.py": DECAY})
    forscan("convert", "a.py")
    assert "fori_loop" in (tmp_path / "a.py").read_text()
    write(tmp_path, {"a.py": DECAY})
    forscan("convert", "--to", "scan", "a.py")  # the command line wins
    assert (tmp_path / "a.py").read_text() == DECAY_SCAN


def test_configured_traced(forscan: Run, tmp_path: Path) -> None:
    table = '[tool.forscan]\ntraced = ["Env.*", "warm"]\n'
    loop = "for _ in range(3):\n    {}x = 0.5 * x\n{}return x\n"
    text = "import jax\n\n\nclass Env:\n    def step(self, x):\n        "
    text += loop.format(" " * 8, " " * 8)
    for name in ("warm", "cold"):
        text += f"\n\ndef {name}(x):\n    " + loop.format("    ", "    ")
    write(tmp_path, {"pyproject.toml": table, "a.py": text})
    found = rows(forscan("check", "--output-format", "json", "a.py"))
    assert {row["function"]: row["status"] for row in found} == {
        "Env.step": "convertible",
        "warm": "convertible",
        "cold": "skipped",
    }


def test_configured_exclude(forscan: Run, tmp_path: Path) -> None:
    table = '[tool.forscan]\nexclude = ["vendor", "*_pb2.py", "sub/one.py"]\n'
    outside = ["vendor/a.py", "sub/vendor/b.py", "x_pb2.py", "sub/y_pb2.py", "sub/one.py"]
    inside = ["sub/two.py", "vendored.py"]
    write(tmp_path, {"pyproject.toml": table, **dict.fromkeys(outside + inside, DECAY)})
    found = rows(forscan("check", "--output-format", "json", "."))
    assert [row["file"] for row in found] == ["vendored.py", "sub/two.py"]
    assert len(rows(forscan("check", "--output-format", "json", "x_pb2.py"))) == 1  # named


@pytest.mark.parametrize("width", [48, 120])
def test_configured_line_length(forscan: Run, tmp_path: Path, width: int) -> None:
    """Only generated lines are broken, at the width that is asked for."""
    long = "LONG = " + " + ".join(["1"] * 40) + "\n"
    text = DECAY.replace("ws[i]", "ws[i] * vs[i] + us[i]").replace("ws)", "ws, vs, us)")
    table = f"[tool.forscan]\nline-length = {width}\n"
    write(tmp_path, {"pyproject.toml": table, "a.py": long + text})
    assert forscan("convert", "a.py").returncode == 0
    first, *rest = lines((tmp_path / "a.py").read_text())
    assert first == long.rstrip()
    widest = max(len(line) for line in rest)
    assert widest <= 48 if width == 48 else 60 < widest <= 120


def test_nearest_configuration_holds(forscan: Run, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pyproject.toml": '[tool.forscan]\nto = "fori"\n',
            "outer.py": DECAY,
            "sub/pyproject.toml": '[tool.forscan]\nto = "scan"\n',
            "sub/deep/inner.py": DECAY,
        },
    )
    forscan("convert", "outer.py", "sub/deep/inner.py")
    assert "fori_loop" in (tmp_path / "outer.py").read_text()
    assert (tmp_path / "sub/deep/inner.py").read_text() == DECAY_SCAN


def test_project_that_only_depends_on_forscan_is_no_configuration(
    forscan: Run, tmp_path: Path
) -> None:
    write(
        tmp_path,
        {
            "pyproject.toml": '[tool.forscan]\nto = "fori"\n',
            "sub/pyproject.toml": '[project]\nname = "sub"\ndependencies = ["forscan"]\n',
            "sub/a.py": DECAY,
        },
    )
    forscan("convert", "sub/a.py")
    assert "fori_loop" in (tmp_path / "sub/a.py").read_text()


def test_configuration_holds_for_its_folder_whatever_the_target(
    forscan: Run, tmp_path: Path
) -> None:
    """A folder that is walked, a file in it, and both: the same result."""
    files = {
        "pyproject.toml": '[tool.forscan]\nexclude = ["left"]\n',
        "a.py": DECAY,
        "sub/pyproject.toml": '[tool.forscan]\nto = "fori"\n',
        "sub/a.py": DECAY,
        "left/pyproject.toml": "[tool.forscan]\nwrong = 1\n",
        "left/a.py": DECAY,
    }
    for targets in (("a.py", "sub/a.py"), (".",), (".", "sub/a.py"), ("sub", ".")):
        write(tmp_path, files)
        assert forscan("convert", *targets).returncode == 0
        assert "lax.scan" in (tmp_path / "a.py").read_text()
        assert "fori_loop" in (tmp_path / "sub/a.py").read_text()
        assert (tmp_path / "left/a.py").read_text() == DECAY


class TestCallsThatInform:
    """With `--call` convert knows the types of values, and what it writes was verified."""

    SOURCE = """\
import jax
import jax.numpy as jnp


@jax.jit
def forward(layers, x):
    for w, b in layers:
        x = jnp.tanh(w @ x + b)
    return x


@jax.jit
def narrow(mats, x):
    for m in mats:
        x = m @ x
    return x
"""
    EQUAL = "forward([(jnp.ones((2, 2)), jnp.ones(2))] * 3, jnp.ones(2))"
    UNEQUAL = "narrow([jnp.ones((3, 2)), jnp.ones((2, 3))], jnp.ones(2))"

    def test_equal_layers_are_stacked(self, forscan: Run, tmp_path: Path) -> None:
        file = tmp_path / "net.py"
        file.write_text(self.SOURCE)
        done = forscan("convert", "--to", "scan", "--call", self.EQUAL, "net.py::forward")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "tree.map(lambda *leaves: jnp.stack(leaves), *layers)" in file.read_text()

    def test_without_the_call_they_are_refused(self, forscan: Run, tmp_path: Path) -> None:
        file = tmp_path / "net.py"
        file.write_text(self.SOURCE)
        done = forscan("convert", "--to", "scan", "net.py::forward")
        assert "FSC202" in done.stdout and file.read_text() == self.SOURCE

    def test_ways_out_work(self, forscan: Run, tmp_path: Path) -> None:
        """Those that the refusal names: an annotation here, a call above."""
        file = tmp_path / "net.py"
        refused = DECAY.replace("range(4)", "ws").replace("ws[i]", "block(i)")
        file.write_text(refused)
        done = forscan("convert", "net.py")
        assert "FSC202" in done.stdout
        assert "Annotate ws as jax.Array" in done.stdout and "give --call" in done.stdout
        file.write_text(refused.replace("(x, ws)", "(x, ws: jax.Array)"))
        assert "1 converted" in forscan("convert", "net.py").stderr

    def test_unequal_layers_are_refused(self, forscan: Run, tmp_path: Path) -> None:
        file = tmp_path / "net.py"
        file.write_text(self.SOURCE)
        done = forscan("convert", "--to", "scan", "--call", self.UNEQUAL, "net.py::narrow")
        assert "FSC201" in done.stdout and file.read_text() == self.SOURCE

    def test_a_call_that_fails_teaches_nothing(self, forscan: Run, tmp_path: Path) -> None:
        file = tmp_path / "net.py"
        file.write_text(self.SOURCE)
        done = forscan("convert", "--to", "scan", "--call", "forward(1)", "net.py")
        assert "nothing was learnt from forward(1)" in done.stderr
        assert file.read_text() == self.SOURCE

    def test_stdin_is_informed_too(self, forscan: Run) -> None:
        done = forscan("convert", "--to", "scan", "--call", self.EQUAL, "-", stdin=self.SOURCE)
        assert "jnp.stack(leaves), *layers" in done.stdout
