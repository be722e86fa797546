"""One job: both versions are loaded, each call is judged, each answer is written at once."""

from __future__ import annotations

import ast
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PATIENCE = 0.05  # of all the time, for looking at the values of all calls

Say = Callable[[dict[str, Any]], None]


def main(path: Path) -> None:
    job = json.loads(path.read_text())
    path.unlink()  # what is in it is not for the module
    sys.argv[:] = [job["path"]]
    say = _say(job["answers"], f"{job['token']} ")
    try:
        import jax  # noqa: F401
    except ImportError:
        say({"unavailable": True})
        return
    {"verify": _judge_all, "observe": _observe, "tune": _sweep}[job["task"]](job, say)


def _say(path: str, token: str) -> Say:
    """Writes answers, whatever a module replaces, closes or forks meanwhile.

    Args:
      path: the file for them.
      token: tells our lines from whatever else is written to that file.
    """
    encode, current, ours = json.JSONEncoder().encode, os.getpid, os.getpid()
    start, write, end = os.open, os.write, os.close
    flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)  # it may be a pipe by now

    def say(content: dict[str, Any]) -> None:
        if current() == ours:
            file = start(path, flags)
            write(file, f"{token}{encode(content)}\n".encode())
            end(file)

    return say


def _observe(job: dict[str, Any], say: Say) -> None:
    from .errors import line
    from .probe import observe

    say({"stage": "looking at the values"})
    try:
        patience = _PATIENCE * job["timeout"] / max(1, len(job["calls"]))
        paths = Path(job["before"]), Path(job["path"])
        say({"facts": observe(*paths, job["calls"], patience)})
    except BaseException as e:  # a module may raise anything, SystemExit included
        say({"facts": {"failed": [f"the module cannot be imported: {line(e)}"]}})


def _sweep(job: dict[str, Any], say: Say) -> None:
    from .errors import line
    from .sweep import sweep

    try:
        sweep(job, say)
    except BaseException as e:
        say({"failed": f"the call cannot be run: {line(e)}"})


def _judge_all(job: dict[str, Any], say: Say) -> None:
    from .cuts import Versions
    from .errors import line
    from .judge import Judge
    from .load import load_tree
    from .marks import Marks
    from .replaced import Replaced, Watch

    calls = job["calls"]
    watch = Watch()
    path = Path(job["path"])
    deadline = time.monotonic() + job["timeout"]
    try:
        say({"stage": "importing the module"})
        sources = [Path(job[version]).read_bytes() for version in ("before", "after")]
        marks = Marks([(line, column) for line, column in job["loops"]], path.name)
        versions = Versions()
        trees = [ast.parse(source) for source in sources]
        versions.hand_through(*trees)
        if marks.loops:
            marks.new(trees[1], trees[0])
            marks.old(trees[0], sources[0])
        before, after = (
            load_tree(tree, path, {**marks.names(), **cuts.names()})
            for tree, cuts in zip(trees, (versions.old, versions.new), strict=True)
        )
        watch.check()
    except BaseException as e:  # a module may raise anything, SystemExit included
        why = str(e) if isinstance(e, Replaced) else f"the module cannot be imported: {line(e)}"
        for index in range(len(calls)):
            say(_unknown(index, why))
        return
    for index, call in enumerate(calls):

        def stage(what: str) -> None:
            say({"stage": what})

        def early(answer: dict[str, Any], index: int = index) -> None:
            watch.check()
            say({**answer, "index": index, "early": True})

        try:
            share = (deadline - time.monotonic()) / (len(calls) - index)
            until = time.monotonic() + share
            verdict = Judge(before, after, call, until, stage, early, marks, versions).verdict()
        except BaseException as e:
            verdict = _unknown(index, f"the call cannot be run: {line(e)}")
        replaced = watch.replaced()
        say({**(_unknown(index, replaced) if replaced else verdict), "index": index})


def _unknown(index: int, reason: str) -> dict[str, Any]:
    return {"index": index, "status": "unknown", "reason": reason}
