"""`forscan record`: runs a program as it is and keeps what its functions were called with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from forscan.files import reason
from forscan.recording import FILE, FOLDER, VERSION, Functions, files_in

_SITE = Path(__file__).with_name("recorder") / "site"
_VARIABLE = "FORSCAN_RECORDING"
_ROOTS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_SHOWN = 10  # functions whose calls cannot be made again

Files = dict[str, Functions]


def record_command(command: Sequence[str]) -> int:
    """Runs a command and gives back its exit code; 2 where it cannot be started."""
    root = _project(Path.cwd())
    folder = root / FOLDER
    try:
        (folder / "values").mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        parts = Path(tempfile.mkdtemp(prefix="parts-", dir=folder))
    except OSError as e:
        click.echo(f"forscan: {e.filename}: cannot be written: {reason(e)}", err=True)
        return 2
    try:
        code = _run(command, root, parts)
        found = _gathered(parts)
        _keep(folder, found)
    except OSError as e:
        click.echo(f"forscan: {e.filename or command[0]}: {reason(e)}", err=True)
        return 2
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    for line in _summary(found, folder):
        click.echo(f"forscan: {line}", err=True)
    return code


def _project(start: Path) -> Path:
    """The folder of the project around a folder; that one itself where nothing shows it."""
    around = (f for f in (start, *start.parents) if any((f / name).exists() for name in _ROOTS))
    return next(around, start)


def _run(command: Sequence[str], root: Path, parts: Path) -> int:
    """The exit code of the command as a shell gives it.

    Raises:
      OSError: it cannot be started.
    """
    where = {"root": str(root), "parts": str(parts), "values": str(parts.parent / "values")}
    paths = [str(_SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        _VARIABLE: json.dumps(where),
    }
    program = subprocess.Popen(command, env=environment)
    # Ctrl-C reaches the program by itself, and it decides what comes of it.
    handlers = {
        signal.SIGINT: lambda *_: None,
        signal.SIGTERM: lambda number, _: program.send_signal(number),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        code = program.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _gathered(parts: Path) -> Files:
    """What all processes have noted, by file and function."""
    files: Files = {}
    for part in sorted(parts.glob("*.jsonl")):
        for line in part.read_text(errors="replace").splitlines():
            try:
                _add(files, json.loads(line))
            except ValueError:  # a process was ended while it wrote
                continue
    return files


def _add(files: Files, line: dict[str, Any]) -> None:
    functions = files.setdefault(line["file"], {})
    nothing: dict[str, Any] = {"traced": False, "within": False, "why": "", "calls": []}
    noted = functions.setdefault(line["function"], nothing)
    for what in ("traced", "within", "why"):
        noted[what] = noted[what] or line.get(what, nothing[what])
    if "call" in line:
        same = [c for c in noted["calls"] if c["key"] == line["call"]["key"]]
        if same and _unknown(same[0]) <= _unknown(line["call"]):
            return
        noted["calls"] = [*(c for c in noted["calls"] if c not in same), line["call"]]


def _unknown(call: dict[str, Any]) -> int:
    """How many arrays of a call have no values."""
    arrays = list(_arrays([*call["positional"], *call["named"].values()]))
    return sum(not node.get("value") for node in arrays)


def _arrays(nodes: Any) -> list[dict[str, Any]]:
    """The descriptions of arrays in those of values."""
    if isinstance(nodes, dict):
        if nodes.get("kind") in ("array", "key"):
            return [nodes]
        return _arrays(nodes.get("items", []))
    return [a for node in nodes for a in _arrays(node)] if isinstance(nodes, list) else []


def _keep(folder: Path, found: Files) -> None:
    """Writes the recording: functions that were seen again anew, the others as they were."""
    recording = folder / FILE
    changed = recording.stat().st_mtime_ns if recording.exists() else 0
    files = {file: dict(functions) for file, functions in files_in(recording, changed).items()}
    for file, functions in found.items():
        files.setdefault(file, {}).update(functions)
    files = {file: dict(sorted(files[file].items())) for file in sorted(files)}
    handle, name = tempfile.mkstemp(dir=folder, suffix=".json")
    with os.fdopen(handle, "w") as target:
        json.dump({"version": VERSION, "files": files}, target, indent=1)
    Path(name).replace(recording)
    used = {node.get("value") for node in _all_arrays(files)}
    for path in (folder / "values").iterdir():
        if path.name not in used:
            path.unlink()


def _all_arrays(files: Files) -> list[dict[str, Any]]:
    calls = [
        c for functions in files.values() for noted in functions.values() for c in noted["calls"]
    ]
    return [a for c in calls for a in _arrays([*c["positional"], *c["named"].values()])]


def _summary(found: Files, folder: Path) -> list[str]:
    noted = [(f"{file}::{name}", n) for file, fs in found.items() for name, n in fs.items()]
    if not noted:
        return ["nothing was recorded: no function with a loop was called in this project"]
    traced = sum(n["traced"] for _, n in noted)
    calls = [c for _, n in noted for c in n["calls"] if not c["why"]]
    head = (
        f"{len(noted)} function{'s' * (len(noted) != 1)} with loops, {traced} of them traced, "
        f"and {len(calls)} call{'s' * (len(calls) != 1)} recorded in {folder}"
    )
    reasons = [(name, _why(n)) for name, n in noted]
    lines = [f"{name}: no call that can be made again, {why}" for name, why in reasons if why]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [head, *lines[:_SHOWN], *more]


def _why(noted: dict[str, Any]) -> str:
    """Why no call of a function can be made again; empty where one can."""
    if noted["within"] or any(not c["why"] for c in noted["calls"]):
        return ""
    return str(noted["why"] or next((c["why"] for c in noted["calls"]), ""))
