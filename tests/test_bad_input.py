"""Input that cannot be read, decoded, parsed or written, and input that is only unusual.

Whatever comes: the right exit code, one clear line on stderr for what went wrong, never a
traceback (the fixture `forscan` looks), and no file changed but by a conversion.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forscan import rounds
from forscan.api import convert_bytes
from forscan.config import Config
from forscan.find.sites import Site
from tests import samples
from tests.conftest import FIXTURES, ROOT, Run

DECAY = samples.DECAY.encode()
DECAY_SCAN = samples.DECAY_SCAN.encode()
BOM = b"\xef\xbb\xbf"


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr without the summary."""
    summary = re.compile(r"(\d+|no) loops? in \d+ files?\b")
    return [line for line in done.stderr.splitlines() if not summary.match(line)]


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what was wrong."""
    (line,) = complaints(done)
    return line


# What cannot be read, decoded or parsed.


@pytest.mark.parametrize(
    "target",
    [
        "gone.py",
        "gone/",
        "gone.py::f",
        "gone.py:3",
        "a.py::",
        "a.py/b.py",
        "dangling.py",
        "loop.py",
        "a" * 300 + ".py",
        "",
    ],
    ids=lambda v: v[:20] or "empty",
)
def test_target_that_is_not_there(forscan: Run, tmp_path: Path, target: str) -> None:
    (tmp_path / "a.py").write_bytes(DECAY)
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    for command in ("check", "convert"):
        done = forscan(command, target)
        assert done.returncode == 2
        assert complaint(done).startswith(f"forscan: {target}: ")
        assert done.stdout == ""
        assert (tmp_path / "a.py").read_bytes() == DECAY


def test_directory_without_python(forscan: Run, tmp_path: Path) -> None:
    """Nothing is wrong with it, but it may be a slip: said, no error."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("for x in xs: jax")
    done = forscan("convert", "docs")
    assert done.returncode == 0
    assert complaint(done) == "forscan: docs: no Python files"


def test_links_that_lead_nowhere_are_passed_over_in_a_directory(
    forscan: Run, tmp_path: Path
) -> None:
    """Editors mark files that are open with such links."""
    (tmp_path / ".#a.py").symlink_to("somebody@somewhere.123")
    (tmp_path / "a.py").write_bytes(DECAY)
    assert forscan("convert", ".").returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_special_files_in_a_directory_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "a.py").write_bytes(DECAY)
    done = subprocess.run(
        [sys.executable, "-m", "forscan", "check", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=4,
    )
    assert done.returncode == 1


# Each is a file that Python refuses as well, with a loop in it that could be converted.
BROKEN = [
    pytest.param(DECAY + b"def f(:\n", ":9:7: FSC901 syntax error: ", id="syntax error"),
    pytest.param(DECAY + b"x = (1,\n", ":9:5: FSC901 syntax error: ", id="unclosed"),
    pytest.param(DECAY.replace(b"        x =", b"\tx ="), ":7:", id="tabs and spaces"),
    pytest.param(b"print 'two'\n" + DECAY, ":1:1: FSC901 syntax error: ", id="python 2"),
    pytest.param(b"# \xff\n" + DECAY, "FSC901 cannot be decoded: ", id="not utf-8"),
    pytest.param(
        b"# coding: no-such-codec\n" + DECAY,
        "FSC901 cannot be decoded: unknown encoding: no-such-codec",
        id="unknown cookie",
    ),
    pytest.param(
        b"# coding: ascii\n# \xe9\n" + DECAY, "FSC901 cannot be decoded: ", id="wrong cookie"
    ),
    pytest.param(b"# coding: hex\n" + DECAY, "FSC901 cannot be decoded: ", id="no text codec"),
    pytest.param(
        b"# coding: undefined\n" + DECAY, "FSC901 cannot be decoded: ", id="codec that always fails"
    ),
    pytest.param(
        b"# coding: punycode\n" + DECAY, "FSC901 cannot be decoded: ", id="codec that fails"
    ),
    pytest.param(
        BOM + b"# coding: latin-1\n" + DECAY, "FSC901 cannot be decoded: ", id="bom and cookie"
    ),
    pytest.param(DECAY + b"x = '\x00'\n", "null bytes", id="nul bytes"),
    pytest.param(DECAY + b"x = " + b"(" * 300 + b")" * 300, "FSC901 ", id="nested brackets"),
    pytest.param(DECAY + b"x = " + b"-" * 100_000 + b"1", "nested too deeply", id="nested signs"),
    pytest.param(DECAY + b"x = 1" + b"+1" * 50_000, "nested too deeply", id="long sum"),
    pytest.param(DECAY + b"x = x" + b".x" * 20_000, "nested too deeply", id="long chain"),
    pytest.param(
        DECAY + b"if x: pass\n" + b"elif x: pass\n" * 3000, "nested too deeply", id="many elifs"
    ),
    pytest.param(
        DECAY + b"".join(b" " * i + b"if x:\n" for i in range(120)) + b" " * 120 + b"pass\n",
        "FSC901 ",
        id="nested blocks",
    ),
    pytest.param(DECAY + b"return 3\n", "FSC901 ", id="parses only"),
]


@pytest.mark.parametrize("content, message", BROKEN)
def test_broken_file(forscan: Run, tmp_path: Path, content: bytes, message: str) -> None:
    """It stays as it is, the other targets are done all the same."""
    (tmp_path / "bad.py").write_bytes(content)
    (tmp_path / "good.py").write_bytes(DECAY)
    done = forscan("convert", "bad.py", "good.py")
    assert done.returncode == 2
    assert complaint(done).startswith("bad.py:")
    assert message in complaint(done)
    assert "good.py:6:5: converted" in done.stdout
    assert (tmp_path / "bad.py").read_bytes() == content
    assert (tmp_path / "good.py").read_bytes() == DECAY_SCAN


# As above, with no word in them that is looked for.
DULL = [b"def f(:\n", b"x = (1,\n", b"return 3\n", b"# \xff\n", b"x = '\x00'\n", b"for x in y:\n"]


@pytest.mark.parametrize("content", DULL)
def test_broken_file_without_candidates(forscan: Run, tmp_path: Path, content: bytes) -> None:
    """Who names it is told; in a folder, or named by a program, it costs a look at its words."""
    (tmp_path / "bad.py").write_bytes(content)
    (tmp_path / "good.py").write_bytes(DECAY)
    for target in ("bad.py", "bad.py:1", "bad.py::f"):
        for command in (("check",), ("convert",), ("convert", "--diff")):
            done = forscan(*command, target)
            assert done.returncode == 2, (command, target)
            assert complaints(done)[0].startswith("bad.py:1:") and "FSC901" in complaints(done)[0]
    done = forscan("convert", "--check", "-", stdin=content)
    assert (done.returncode, "FSC901" in complaint(done)) == (2, True)
    assert forscan("convert", "--force-exclude", "bad.py").returncode == 0
    done = forscan("convert", ".")
    assert (done.returncode, complaints(done)) == (0, [])
    assert (tmp_path / "good.py").read_bytes() == DECAY_SCAN
    assert (tmp_path / "bad.py").read_bytes() == content


def test_broken_file_that_is_named_among_many(forscan: Run, tmp_path: Path) -> None:
    """Answers that are kept do not mix the two."""
    for number in range(20):
        (tmp_path / f"f{number:02}.py").write_bytes(b"x = (\n")
    names = sorted(path.name for path in tmp_path.iterdir())
    for _ in range(2):
        assert forscan("check", ".").returncode == 0
        assert len(complaints(forscan("check", *names))) == 20


@pytest.mark.parametrize("content, message", BROKEN)
def test_broken_stdin_comes_back(content: bytes, message: str) -> None:
    """What a filter in an editor relies on; the command writes `after` in any case."""
    result = convert_bytes(content, Path("a.py"), Config())
    assert result.after == content
    assert result.error is not None
    assert message in f"{result.path}:{result.error.line}:{result.error.column}: FSC901 " + (
        result.error.message
    )


def test_everything_that_can_be_done_is_done(forscan: Run, tmp_path: Path) -> None:
    """One line for each thing that went wrong, in one run."""
    (tmp_path / "good.py").write_bytes(DECAY)
    (tmp_path / "broken.py").write_bytes(DECAY + b"(")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "pyproject.toml").write_text("[tool.forscan]\nform = 1\n")
    (tmp_path / "odd" / "a.py").write_bytes(DECAY)
    targets = ("gone.py", "odd/a.py", "broken.py", "good.py")
    done = forscan("convert", "--output-format", "json", *targets)
    assert done.returncode == 2
    assert [row["file"] for row in json.loads(done.stdout)] == ["broken.py", "good.py"]
    heads = [line.removeprefix("forscan: ").split(":")[0] for line in complaints(done)]
    assert heads == ["gone.py", str(tmp_path / "odd" / "pyproject.toml"), "broken.py"]
    assert (tmp_path / "good.py").read_bytes() == DECAY_SCAN
    assert (tmp_path / "odd" / "a.py").read_bytes() == DECAY


# Configuration.


@pytest.mark.parametrize(
    "text, fragments",
    [
        ("[tool.forscan]\nlinelength = 80\n", ["unknown key 'linelength'", "'line-length'"]),
        ('[tool.forscan]\nexcluded = ["a"]\n', ["unknown key 'excluded'", "'exclude'"]),
        ("[tool.forscan]\nzzz = 1\n", ["unknown key 'zzz'", "line-length, min-ops, min-trips"]),
        ("[tool.forscan]\nline-length = '80'\n", ["line-length", "int"]),
        ("[tool.forscan]\nline-length = true\n", ["line-length", "int"]),
        ("[tool.forscan]\ntraced = 'f'\n", ["traced", "list"]),
        ("[tool.forscan]\nexclude = [1]\n", ["exclude", "strings"]),
        ("[tool.forscan]\nto = 'loop'\n", ["to", "scan, fori, for"]),
        ("[tool]\nforscan = 'scan'\n", ["[tool.forscan] is not a table"]),
        ("[tool.forscan\n", ["line 1"]),
        ("[tool.forscan]\nto = 'scan'\nto = 'for'\n", ["line 3"]),
        ("tool = 'forscan'\n", ["tool"]),
        ("[tool.forscan]\nline-length = -1\n", ["line-length", "from 20 to 500"]),
        ("[tool.forscan]\nline-length = 1000\n", ["line-length", "from 20 to 500"]),
        ("forscan = " + "[" * 3000, ["recursion"]),
    ],
)
def test_broken_configuration(
    forscan: Run, tmp_path: Path, text: str, fragments: list[str]
) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    (tmp_path / "a.py").write_bytes(DECAY)
    done = forscan("convert", "a.py")
    assert done.returncode == 2
    assert complaint(done).startswith(f"forscan: {path}: ")
    for fragment in fragments:
        assert fragment in complaint(done)
    assert (tmp_path / "a.py").read_bytes() == DECAY


def test_configuration_that_is_no_text(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.forscan]\nto = '\xff'\n")
    (tmp_path / "a.py").write_bytes(DECAY)
    for arguments in (("check", "a.py"), ("convert", "-"), ("verify", "a.py", "--call", "f()")):
        done = forscan(*arguments, stdin=DECAY)
        assert done.returncode == 2
        assert "pyproject.toml" in complaint(done)


def test_broken_configuration_is_said_once(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.forscan]\nform = 1\n")
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_bytes(DECAY)
    done = forscan("check", "a.py", "b.py")
    assert done.returncode == 2
    assert "'form'" in complaint(done)


def test_broken_configuration_further_down(forscan: Run, tmp_path: Path) -> None:
    """It is said, and everything else is done."""
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "pyproject.toml").write_text("[tool.forscan]\nform = 1\n")
    for folder in (tmp_path, tmp_path / "sub", tmp_path / "sub" / "deep"):
        (folder / "a.py").write_bytes(DECAY)
    done = forscan("convert", ".")
    assert done.returncode == 2
    assert "'form'" in complaint(done)
    assert (tmp_path / "a.py").read_bytes() == DECAY_SCAN
    assert (tmp_path / "sub" / "deep" / "a.py").read_bytes() == DECAY


# What is unusual and right: everything outside the loop comes back byte for byte.


def converted(content: bytes) -> bytes:
    result = convert_bytes(content, Path("a.py"), Config())
    assert result.error is None
    assert [o.status.value for o in result.outcomes] == ["converted"]
    return result.after


def crlf(content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


def cr(content: bytes) -> bytes:
    return content.replace(b"\n", b"\r")


def before(head: bytes) -> Callable[[bytes], bytes]:
    return lambda content: head + content


def after(tail: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content + tail


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(crlf, id="crlf"),
        pytest.param(cr, id="cr"),
        pytest.param(before(BOM), id="bom"),
        pytest.param(lambda c: BOM + crlf(c), id="bom and crlf"),
        pytest.param(before(b"# coding: utf-8\n# \xe2\x82\xac\n"), id="utf-8 cookie"),
        pytest.param(before(b"# -*- coding: latin-1 -*-\n# \xe9\xff\n"), id="latin-1 cookie"),
        pytest.param(before(b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n# \x80\n"), id="cp1252"),
        pytest.param(before(b"x = '''\r\n \r \n'''\n"), id="newlines in a string"),
        pytest.param(before(b"x = 1 \\\r\n  + 2\r\n"), id="mixed newlines"),
        pytest.param(before(b"x = 1\n\x0c\n\x0cy = 2\n"), id="form feeds"),
        pytest.param(lambda c: c.replace(b"@", b"\x0c@"), id="form feed at the function"),
        pytest.param(before("x = '\x1c\x85\u2028\u2029'\n".encode()), id="other line breaks"),
        pytest.param(before("é = '🙂'; 变量 = é\n".encode()), id="not ascii"),
        pytest.param(after(b"x = 1   \n\n\n  # end\n\n"), id="loose ends"),
        pytest.param(after(b"if x:\n\ty = [\n  1,\n\t]\n"), id="tabs elsewhere"),
        pytest.param(lambda c: c.rstrip(b"\n"), id="no newline at the end"),
        pytest.param(lambda c: crlf(c).rstrip(b"\r\n"), id="crlf, none at the end"),
    ],
)
def test_bytes_outside_the_loop_are_kept(change: Callable[[bytes], bytes]) -> None:
    assert converted(change(DECAY)) == change(DECAY_SCAN)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_loop_at_the_very_end(end: bytes) -> None:
    head = DECAY.removesuffix(b"\n    return x\n")
    assert converted(head + end).endswith(b"length=4)" + end)


def test_new_lines_end_like_the_loop() -> None:
    head, loop, tail = DECAY.partition(b"    for i in range(4):\n        x = 0.5 * x + ws[i]\n")
    new = converted(head + crlf(loop) + tail)
    assert new.startswith(head) and new.endswith(tail)
    middle = new[len(head) : -len(tail)]
    assert middle.count(b"\r\n") == middle.count(b"\n") > 3


def test_tabs_are_kept_as_indentation() -> None:
    new = converted(DECAY.replace(b"    ", b"\t").replace(b"\t\t", b"\t  "))
    compile(new, "a.py", "exec")
    assert b"\n\tdef step(" in new and b"\n\tx, _ = " in new


@pytest.mark.parametrize("content", [b"", b"\n", BOM, b"\x0c", b"# for jax", b"\xff\xfe\x00"])
def test_files_without_loops_are_left_alone(content: bytes) -> None:
    result = convert_bytes(content, Path("a.py"), Config())
    assert result.after == content
    assert result.outcomes == ()


def test_command_reads_and_writes_bytes(forscan: Run, tmp_path: Path) -> None:
    """As above, through the file system and through pipes."""
    content, wanted = (BOM + crlf(b"# \xc3\xa9\n" + c).rstrip() for c in (DECAY, DECAY_SCAN))
    path = tmp_path / "a.py"
    path.write_bytes(content)
    assert forscan("convert", "a.py").returncode == 0
    assert path.read_bytes() == wanted
    assert forscan("convert", "-", stdin=content).stdout.encode() == wanted


def test_deep_but_possible(forscan: Run, tmp_path: Path) -> None:
    deep = DECAY + b"x = " + b"[" * 150 + b"]" * 150 + b"\n"
    deep += b"".join(b" " * i + b"while x:\n" for i in range(15)) + b" " * 15 + b"x = 0\n"
    (tmp_path / "a.py").write_bytes(deep)
    assert forscan("convert", "a.py").returncode == 0
    assert (tmp_path / "a.py").read_bytes().startswith(DECAY_SCAN)


LARGE = [
    pytest.param(DECAY + b"t = '" + b"a" * 1_000_000 + b"'\n", id="line of a megabyte"),
    pytest.param(DECAY + b"t = [" + b"1, " * 50_000 + b"]\n", id="long list"),
    pytest.param(DECAY + b"".join(b"k_%d = 1\n" % n for n in range(20_000)), id="many lines"),
    pytest.param(DECAY.replace(b"0.5 * x", b"x" + b" + x" * 150), id="long sum in the loop"),
    pytest.param(DECAY.replace(b"0.5 * x", b"x" + b".T" * 150), id="long chain in the loop"),
    pytest.param(
        DECAY.replace(b"        x =", b"        t = [" + b"x, " * 3_000 + b"]\n        x ="),
        id="long line in the loop",
    ),
    pytest.param(
        DECAY.replace(b"    return", b"    y = x * 2\n" * 3_000 + b"    return"), id="long function"
    ),
]


@pytest.mark.parametrize("content", LARGE)
def test_large_but_possible(content: bytes) -> None:
    start = time.process_time()
    compile(content, "a.py", "exec")
    reference = time.process_time() - start
    new = converted(content)
    assert b"jax.lax.scan(" in new and len(new) > len(content)
    assert time.process_time() - start < 200 * reference + 2


def test_names_that_are_made_of_each_other() -> None:
    """There are more ways from one to another than could be followed: all of them take minutes."""
    names = [f"v_{k}" for k in range(8)]
    starts = "".join(f"    {name} = x * {k}\n" for k, name in enumerate(names))
    body = "".join(f"        {n} = {' + '.join(o for o in names if o != n)}\n" for n in names)
    half = b"import jax.numpy as jnp\nHALF = jnp.bfloat16\n"
    head = b"    y = 0.0\n" + starts.encode() + b"    for i in"
    text = half + DECAY.replace(b"    for i in", head)
    text = text.replace(
        b"        x =", b"        y = y * v_0 + x\n" + body.encode() + b"        x ="
    )
    text = text.replace(b"return x", f"return x, y, {', '.join(names)}".encode())
    start = time.process_time()
    assert b"jax.lax.scan(" in converted(text)
    assert time.process_time() - start < 10


# Permissions. Tests may run as root, who may write everything.


def obey_permissions() -> None:
    """Gives up root's right to get round permissions, from the next exec on (Linux)."""
    if sys.platform.startswith("linux"):
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture
def restricted(tmp_path: Path) -> Run:
    """The command as somebody for whom permissions hold; skips where that cannot be had."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)},
            preexec_fn=obey_permissions,
            timeout=60,
        )
        assert "Traceback" not in done.stderr
        return done

    probe = tmp_path / "probe"
    probe.touch(0o400)
    probe.chmod(0o400)
    if run("-c", "import os; print(os.access('probe', os.W_OK))").stdout != "False\n":
        pytest.skip("permissions do not hold here")
    probe.unlink()
    return lambda *arguments: run("-m", "forscan", *arguments)


@contextmanager
def mode(path: Path, value: int) -> Iterator[None]:
    """Permissions for a while: who cleans up must get in again."""
    path.chmod(value)
    try:
        yield
    finally:
        path.chmod(0o755)


def content_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_read_only_file(restricted: Run, tmp_path: Path) -> None:
    """Refused, though its folder would let us replace it; the next one is done."""
    (tmp_path / "a.py").write_bytes(DECAY)
    (tmp_path / "a.py").chmod(0o444)
    (tmp_path / "b.py").write_bytes(DECAY)
    assert restricted("convert", "--diff", "a.py").returncode == 1  # asks for no writing
    done = restricted("convert", "a.py", "b.py")
    assert done.returncode == 2
    assert complaint(done) == "a.py:1:1: FSC902 cannot be written: the file is read-only"
    assert "a.py:6:5: refused" in done.stdout and "b.py:6:5: converted" in done.stdout
    assert content_of(tmp_path) == {"a.py": DECAY, "b.py": DECAY_SCAN}


def test_read_only_folder(restricted: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.py").write_bytes(DECAY)
    with mode(folder, 0o555):
        done = restricted("convert", "folder")
    assert done.returncode == 2
    assert complaint(done).startswith("folder/a.py:1:1: FSC902 cannot be written: ")
    assert content_of(folder) == {"a.py": DECAY}


def test_unreadable_file(restricted: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DECAY)
    (tmp_path / "a.py").chmod(0)
    for target in ("a.py", "."):
        done = restricted("check", target)
        assert done.returncode == 2
        assert complaint(done) == "a.py:1:1: FSC902 cannot be read: Permission denied"


@pytest.mark.parametrize("target", ["locked", "."])
def test_unreadable_folder(restricted: Run, tmp_path: Path, target: str) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "a.py").write_bytes(DECAY)
    with mode(folder, 0):
        done = restricted("check", target)
    assert done.returncode == 2
    assert "locked: " in complaint(done)


def test_file_in_an_unreadable_folder(restricted: Run, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "a.py").write_bytes(DECAY)
    with mode(folder, 0):
        done = restricted("check", "locked/a.py")
    assert done.returncode == 2
    assert "locked/a.py: " in complaint(done)


def test_unreadable_configuration(restricted: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DECAY)
    (tmp_path / "pyproject.toml").touch(0)
    done = restricted("check", "a.py")
    assert done.returncode == 2
    assert "pyproject.toml: " in complaint(done)


# Links, modes, owners.


def test_link_stays_a_link(forscan: Run, tmp_path: Path) -> None:
    real = tmp_path / "real" / "a.py"
    real.parent.mkdir()
    real.write_bytes(DECAY)
    link = tmp_path / "link.py"
    link.symlink_to("real/a.py")
    assert forscan("convert", "link.py").returncode == 0
    assert link.readlink() == Path("real/a.py")
    assert real.read_bytes() == DECAY_SCAN
    assert list(real.parent.iterdir()) == [real]


@pytest.mark.parametrize("bits", [0o755, 0o640, 0o600])
def test_mode_is_kept(forscan: Run, tmp_path: Path, bits: int) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(DECAY)
    path.chmod(bits)
    assert forscan("convert", "a.py").returncode == 0
    assert path.read_bytes() == DECAY_SCAN
    assert stat.S_IMODE(path.stat().st_mode) == bits
    assert content_of(tmp_path) == {"a.py": DECAY_SCAN}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_owner_is_kept(forscan: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(DECAY)
    os.chown(path, 12345, 12346)
    assert forscan("convert", "a.py").returncode == 0
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


# Odd names and broken pipes.


def test_odd_names(forscan: Run, tmp_path: Path) -> None:
    for name in ("a b.py", "é.py", "-x.py", "a:b.py", "a::b.py", "a.py:3"):
        (tmp_path / name).write_bytes(DECAY)
        done = forscan("convert", "--", name)
        assert done.returncode == 0, name
        assert done.stdout.startswith(f"{name}:6:5: converted")
        assert (tmp_path / name).read_bytes() == DECAY_SCAN


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names are text elsewhere")
def test_name_that_is_no_text(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.py")).write_bytes(DECAY)
    done = forscan("check", ".", PYTHONIOENCODING="utf-8")
    assert done.returncode == 1
    assert ":6:5: convertible" in done.stdout


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of shell, where `forscan` is the command."""
    done = subprocess.run(
        ["sh", "-c", f'forscan() {{ "{sys.executable}" -m forscan "$@"; }}; {line}'],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "line",
    [
        "forscan check a.py > /dev/full",
        "forscan convert - < a.py > /dev/full",
        "forscan convert - < a.py >&-",
        "forscan convert - <&-",
        "forscan --help > /dev/full",
        "forscan check --help > /dev/full",
        "forscan explain FSC101 > /dev/full",
        "forscan check a.py >&-",
    ],
)
def test_streams_that_do_not_work(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.py").write_bytes(DECAY)
    done = shell(line, tmp_path)
    assert done.returncode == 2
    assert len(complaints(done)) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("line", ["forscan check a.py 2> /dev/full", "forscan check b 2>&-"])
def test_nowhere_to_complain(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.py").write_bytes(DECAY)
    assert shell(line, tmp_path).returncode == 2


def test_text_that_the_terminal_cannot_show(forscan: Run, tmp_path: Path) -> None:
    """Replaced, not fatal."""
    (tmp_path / "a.py").write_bytes(DECAY.replace(b"    for", "    # naïve →\n    for".encode()))
    done = forscan("convert", "--diff", "a.py", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "+    x, _ = jax.lax.scan" in done.stdout


def test_named_pipe_that_is_named(tmp_path: Path) -> None:
    """It can be looked at, but not written back."""
    (tmp_path / "a.py").write_bytes(DECAY)
    for command, code in (("check", 1), ("convert", 2)):
        line = (
            f"mkfifo pipe; cat a.py > pipe & forscan {command} pipe; code=$?; rm pipe; exit $code"
        )
        done = shell(line, tmp_path)
        assert done.returncode == code
        assert "pipe:6:5: " in done.stdout


# Faults of forscan itself.


def test_fault_in_one_loop_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a refusal of that loop, said to be ours, and no traceback."""
    plan = rounds.make_plan

    def faulty(site: Site, config: Config) -> rounds.Plan:
        if site.context.name == "decay":
            raise KeyError("where")
        return plan(site, config)

    monkeypatch.setattr(rounds, "make_plan", faulty)
    content = DECAY + DECAY.replace(b"decay", b"other").replace(b"import jax", b"")
    result = convert_bytes(content, Path("a.py"), Config())
    assert [o.status.value for o in result.outcomes] == ["refused", "converted"]
    assert result.outcomes[0].code == "FSC905"
    assert result.outcomes[0].message == "a fault of forscan: KeyError: 'where'"
    assert result.after.startswith(DECAY)


def test_fault_in_a_file_is_an_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "fault", lambda *_: 1 / 0)
    result = convert_bytes(DECAY, Path("a.py"), Config())
    assert result.after == DECAY
    assert result.error is not None
    assert result.error.code == "FSC905"


STYLES: list[dict[str, str]] = [
    {"to": "scan"},
    {"to": "fori"},
    {"to": "for"},
    {"unroll": "2"},
    {"body": "def"},
    {"body": "lambda"},
    {"params": "carry"},
    {"params": "closure"},
]


@pytest.mark.parametrize(
    "style, everything",
    [*((style, True) for style in STYLES), ({"to": "scan"}, False), ({"to": "for"}, False)],
    ids=str,
)
def test_no_example_finds_a_fault(style: dict[str, str], everything: bool) -> None:
    """Whatever is asked of them, all loops are decided as planned.

    Without `everything` loops are passed over, and what is left is decided in the same way.
    """
    config = Config(everything=everything, **style)  # type: ignore[arg-type]
    for path in sorted(FIXTURES.rglob("*.py")):
        result = convert_bytes(path.read_bytes(), path, config)
        assert result.error is None
        codes = {reason.code for o in result.outcomes for reason in o.reasons}
        assert not codes & {"FSC904", "FSC905"}, path
