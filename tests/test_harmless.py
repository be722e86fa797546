"""Nothing that was not asked for: no code of the files is run, no file is left half written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forscan.files import replace_content
from tests.conftest import ROOT
from tests.samples import DECAY

# As an installed command runs: the folder that one stands in is no place to import from.
COMMAND = [
    sys.executable,
    "-P",
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from forscan.cli import main; main()",
]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
TRAP = "import pathlib\npathlib.Path({0!r}).touch()\n"
# What Python, pytest, black, the pool of processes or forscan itself might import or read.
TRAPS = [
    "__init__",
    "__main__",
    "ast",
    "black",
    "click",
    "conftest",
    "concurrent",
    "forscan_plugin",
    "jax",
    "json",
    "libcst",
    "multiprocessing",
    "numpy",
    "pickle",
    "pygls",
    "random",
    "setup",
    "signal",
    "sitecustomize",
    "tempfile",
    "tokenize",
    "tomllib",
    "typing",
    "usercustomize",
]
SETTINGS = """\
[build-system]
requires = ["setuptools"]
build-backend = "setup"
backend-path = ["."]
[tool.forscan]
line-length = 30
[tool.forscan.calls]
"*.py" = ["decay(3)"]
[tool.black]
line-length = 20
[project.entry-points."forscan"]
plugin = "forscan_plugin"
"""


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A folder in which whatever is run or imported leaves a mark."""
    tree = tmp_path / "tree"
    tree.mkdir()
    trap = TRAP.format(str(tmp_path / "sprung"))
    for name in TRAPS:
        (tree / f"{name}.py").write_text(trap + DECAY)
    for number in range(20):  # enough for a pool of processes
        (tree / f"module_{number}.py").write_text(trap + DECAY)
    (tree / "pyproject.toml").write_text(SETTINGS)
    return tree


@pytest.mark.parametrize(
    "line",
    ["check .", "check --no-cache -j 1 .", "check -j 2 .", "convert --diff .", "convert -j 2 ."],
)
def test_nothing_of_a_tree_is_run(trapped: Path, line: str) -> None:
    done = subprocess.run(
        [*COMMAND, *line.split()],
        cwd=trapped,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    count = 20 + len(TRAPS)
    assert f" in {count} files" in done.stderr, done.stderr
    assert not (trapped.parent / "sprung").exists()


def test_nothing_of_a_tree_is_run_for_an_editor(trapped: Path) -> None:
    pytest.importorskip("pygls")
    uri = (trapped / "module_0.py").as_uri()
    text = (trapped / "module_0.py").read_text()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    place = {"line": text.splitlines().index("    for i in range(4):"), "character": 5}
    wanted = {
        "textDocument": {"uri": uri},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": []},
    }
    root = {"processId": None, "rootUri": trapped.as_uri(), "capabilities": {}}
    lines = [
        {"id": 1, "method": "initialize", "params": root},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 2, "method": "textDocument/codeAction", "params": wanted},
    ]
    with subprocess.Popen(
        [*COMMAND, "lsp"], cwd=trapped, env=ENVIRONMENT, stdin=-1, stdout=-1
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(b"".join(message(line) for line in lines))
        server.stdin.flush()
        answer = b""
        while b'"id": 2' not in answer or not answer.endswith(b"}"):
            answer += server.stdout.read1()
        server.kill()
    assert b"Convert to jax.lax.scan" in answer
    assert not (trapped.parent / "sprung").exists()


def message(content: dict[str, object]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


# Writing.


def test_killed_at_any_moment_a_file_is_old_or_new(tmp_path: Path) -> None:
    before = DECAY.encode()
    (tmp_path / "a.py").write_bytes(before)
    subprocess.run(
        [*COMMAND, "convert", "a.py"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
    )
    after = (tmp_path / "a.py").read_bytes()
    assert after != before
    files = [tmp_path / f"m_{number}.py" for number in range(12)]
    seen: set[bytes] = set()
    random_moments = random.Random(0)
    for _ in range(12):
        for file in files:
            file.write_bytes(before)
        running = subprocess.Popen(
            [*COMMAND, "convert", "."], cwd=tmp_path, env=ENVIRONMENT, stderr=-3, stdout=-3
        )
        while running.poll() is None and files[0].read_bytes() == before:
            time.sleep(0.001)
        time.sleep(random_moments.random() * 0.01)
        running.kill()
        running.wait()
        found = [file.read_bytes() for file in files]
        assert set(found) <= {before, after}
        seen.update(found)
    assert after in seen


def test_file_that_changes_in_the_meantime_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"newer")
    with pytest.raises(OSError, match="changed in the meantime"):
        replace_content(path, b"older", b"ours")
    assert path.read_bytes() == b"newer"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_at_work(tmp_path: Path, number: signal.Signals) -> None:
    """It ends soon, with one line or none, and leaves no process and no file behind."""
    head, loop = DECAY.split("\n\n\n", 1)
    content = head + "".join("\n\n\n" + loop.replace("decay", f"decay_{k}") for k in range(20))
    for k in range(64):
        (tmp_path / f"m_{k}.py").write_text(f"{content}# {k}\n")
    names = sorted(p.name for p in tmp_path.iterdir())
    running = subprocess.Popen(
        [*COMMAND, "convert", "-j", "2", "."],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(children(running.pid)) < 2:  # the workers are there
        time.sleep(0.01)
    workers = children(running.pid)
    running.send_signal(number)
    out, errors = running.communicate(timeout=60)
    assert running.returncode == (2 if number == signal.SIGINT else 143)
    assert "Traceback" not in errors and out == ""
    for _ in range(500):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.01)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("/proc does not say which processes there are")
    return [int(child) for child in path.read_text().split()]


# Many processes.


def test_as_with_one_process(tmp_path: Path) -> None:
    """However many processes there are, the files and the report are the same."""
    found = []
    for jobs in ("1", "2"):
        folder = tmp_path / jobs
        folder.mkdir()
        for path in sorted((ROOT / "fixtures" / "loops").rglob("*.py"))[::4]:
            (folder / f"{path.parent.name}_{path.name}").write_bytes(path.read_bytes())
        done = subprocess.run(
            [*COMMAND, "convert", "-j", jobs, "."],
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )
        files = {p.name: p.read_bytes() for p in sorted(folder.glob("*.py"))}
        found.append((done.returncode, done.stdout, done.stderr, files))
    assert len(found[0][3]) > 16
    assert found[0] == found[1]


# The cache.


def checked(folder: Path, *arguments: str) -> tuple[str, str]:
    done = subprocess.run(
        [*COMMAND, "check", *arguments, "."],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    return done.stdout, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "__init__.py").touch()
    loop = DECAY.replace("@jax.jit\n", "")
    for number in range(20):
        (tmp_path / f"m_{number}.py").write_text(f"{loop}# {number}\n")
    return tmp_path


def test_second_check_is_the_same(project: Path) -> None:
    first = checked(project, "--no-cache")
    assert not (project / ".forscan_cache").exists()
    assert checked(project) == first
    kept = sorted(p.name for p in (project / ".forscan_cache").iterdir())
    assert ".gitignore" in kept and len(kept) == 3
    assert checked(project) == first


def test_changes_are_seen(project: Path) -> None:
    """In a file, in one that uses it, in the settings, and in what is asked for."""
    before = checked(project)
    (project / "m_3.py").write_text(DECAY)
    assert "m_3.py" in (after := checked(project))[0] and after != before
    (project / "user.py").write_text(
        f"import jax\nfrom {project.name}.m_5 import decay\n\ng = jax.jit(decay)\n"
    )
    assert "m_5.py" in checked(project)[0]
    (project / "user.py").unlink()
    assert checked(project) == after
    (project / "pyproject.toml").write_text('[tool.forscan]\ntraced = ["decay"]\n')
    assert "m_7.py" in checked(project)[0]
    assert checked(project) == checked(project, "--no-cache")
    assert checked(project, "--to", "fori") == checked(project, "--to", "fori", "--no-cache")


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"": 1}', b"[" * 100_000])
def test_cache_that_cannot_be_used_is_as_good_as_none(project: Path, content: bytes) -> None:
    first = checked(project)
    for path in (project / ".forscan_cache").iterdir():
        path.write_bytes(content)
    assert checked(project) == first


def test_cache_whose_answers_are_no_answers(project: Path) -> None:
    first = checked(project)
    for path in (project / ".forscan_cache").glob("*.*"):
        if path.name != ".gitignore":
            found = json.loads(path.read_bytes())
            path.write_text(json.dumps({key: [1, 2] for key in found}))
    assert checked(project) == first


def test_folder_that_cannot_hold_a_cache(project: Path) -> None:
    (project / ".forscan_cache").write_text("a file")
    assert checked(project) == checked(project, "--no-cache")
