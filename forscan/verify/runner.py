"""Runs a verification in a child process, whatever the user's code does in it.

The child is started as a script, so the user's interpreter need not have forscan; it
answers through a file of its own, so what the module prints disturbs nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from forscan.facts import Facts, Seen, Value
from forscan.verify.answers import Answers
from forscan.verify.result import Cost, Verification, break_even

_CHILD = Path(__file__).with_name("child")
_GLANCE = 0.2  # seconds between looks at what the child has answered
_MOST_LOG = 1 << 24  # bytes of what it prints; of more the beginning goes
Tell = Callable[[str], None]
INSTALL = "pip install 'forscan[verify]'"


class VerifyUnavailable(Exception):
    """The interpreter cannot be started, or cannot import jax."""


def verify_sources(
    before: bytes,
    after: bytes,
    path: Path,
    calls: Sequence[str],
    *,
    loops: Sequence[tuple[int, int]] = (),
    python: str = sys.executable,
    platform: str | None = None,
    timeout: float = 300.0,
    progress: Tell | None = None,
) -> list[Verification]:
    """Compares two versions of a module on calls such as `f(jnp.ones(3), 5)`.

    Args:
      before, after: the two versions.
      path: where the module stands, for its imports.
      calls: expressions, evaluated in the module's namespace with jax, jnp and np.
      loops: line and column in `before` of what was converted, both from 1; a call that runs
        none of them says nothing, so its verdict is unknown.
      python: the interpreter that runs the user's code.
      platform: where jax runs it, such as "cpu"; as jax chooses where it is None.
      timeout: seconds for all calls together.
      progress: is told what goes on.

    Raises:
      VerifyUnavailable: the interpreter cannot be started, or cannot import jax.
    """
    content: dict[str, Any] = {"task": "verify", "path": str(path.resolve())}
    content |= {"calls": list(calls), "loops": list(loops)}
    sources = {"before": before, "after": after}
    answers, why = run_child(
        content, sources, python=python, platform=platform, timeout=timeout, progress=progress
    )
    found = {a["index"]: a for a in answers if "index" in a}
    return [_verification(path, c, found.get(i), why) for i, c in enumerate(calls)]


def observe_source(
    content: bytes,
    path: Path,
    calls: Sequence[str],
    *,
    python: str = sys.executable,
    platform: str | None = None,
    timeout: float = 300.0,
) -> tuple[Facts, list[str]]:
    """What tracing the calls shows about the values in a module, and what went wrong.

    Raises:
      VerifyUnavailable: the interpreter cannot be started, or cannot import jax.
    """
    job = {"task": "observe", "path": str(path.resolve()), "calls": list(calls)}
    answers, why = run_child(
        job, {"before": content}, python=python, platform=platform, timeout=timeout
    )
    found = next((a["facts"] for a in answers if "facts" in a), {"failed": [why]})
    return _facts(found), list(found["failed"])


def _facts(found: dict[str, Any]) -> Facts:
    def value(noted: dict[str, Any]) -> Value:
        item = noted.pop("item", None)
        return Value(**noted, item=value(item) if item else None)

    def places(noted: list[Any]) -> dict[tuple[str, str], frozenset[Value]]:
        return {(function, text): frozenset(map(value, values)) for function, text, values in noted}

    kinds = ("expressions", "first", "later")
    return Facts(tuple(Seen(*(places(c[k]) for k in kinds)) for c in found.get("calls", ())))


def run_child(
    content: dict[str, Any],
    sources: dict[str, bytes],
    *,
    python: str = sys.executable,
    platform: str | None = None,
    timeout: float = 300.0,
    progress: Tell | None = None,
) -> tuple[list[dict[str, Any]], str]:
    """Runs one job in a child process: what it answered, and why it ended, should it matter.

    Args:
      content: what the job is about; its `task` is "verify", "observe" or "tune".
      sources: versions of the module; the child finds the path of each under its name.
      progress: is told what goes on.

    Raises:
      VerifyUnavailable: the interpreter cannot be started, or cannot import jax.
    """
    with (
        tempfile.TemporaryDirectory(prefix="forscan-") as folder,
        Answers(Path(folder)) as answering,
    ):
        job = _job(Path(folder), content, sources, timeout, answering)
        code, log = _run(job, python, platform, timeout, progress, answering)
        answers = answering.read()
    if any(a.get("unavailable") for a in answers):
        raise VerifyUnavailable(f"{python} cannot import jax: {INSTALL}")
    stages = [a["stage"] for a in answers if "stage" in a]
    return answers, _why(code, log, timeout, stages[-1] if stages else "starting")


def _job(
    folder: Path,
    content: dict[str, Any],
    sources: dict[str, bytes],
    timeout: float,
    answering: Answers,
) -> Path:
    for name, source in sources.items():
        (folder / name).write_bytes(source)
    job = folder / "job.json"
    content = {
        **content,
        **{name: str(folder / name) for name in sources},
        "timeout": timeout,
        "answers": str(answering.path),
        "token": answering.token,
    }
    job.write_text(json.dumps(content))
    return job


def _run(
    job: Path,
    python: str,
    platform: str | None,
    timeout: float,
    progress: Tell | None,
    answering: Answers,
) -> tuple[int | None, str]:
    """The exit code (None: timed out) and the end of what the child printed."""
    environment = dict(os.environ)
    # Compiling is what is measured: a cache on disk would hide it.
    environment["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if platform is not None:
        environment["JAX_PLATFORMS"] = platform
    with (job.parent / "log").open("a+b") as log:
        try:
            child = subprocess.Popen(
                [python, str(_CHILD), str(job)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError as e:
            raise VerifyUnavailable(f"{python} cannot be started: {e.strerror}") from None
        try:
            code = _wait(child, log, timeout, progress, answering)
        finally:
            _end(child)
        log.seek(max(0, _size(log) - 2000))
        return code, log.read().decode(errors="replace")


def _wait(
    child: subprocess.Popen[bytes],
    log: IO[bytes],
    timeout: float,
    progress: Tell | None,
    answering: Answers,
) -> int | None:
    """The exit code of the child, None where the time was up before."""
    end = time.monotonic() + timeout
    while True:
        left = max(0.0, end - time.monotonic())
        try:
            return child.wait(min(left, _GLANCE))
        except subprocess.TimeoutExpired:
            if left <= _GLANCE:
                return None
        if _size(log) > _MOST_LOG:
            log.truncate(0)
        stages = [a["stage"] for a in answering.read() if "stage" in a] if progress else []
        if progress and stages:
            progress(stages[-1])


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the child and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _why(code: int | None, log: str, timeout: float, stage: str) -> str:
    """Why there is no answer."""
    if code is None:
        return f"no result within {timeout:g} s, which ended while {stage}"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        memory = " (perhaps memory ran out)" if name == "SIGKILL" else ""
        return f"the process was killed by {name}{memory} while {stage}"
    last = next((s.strip() for s in reversed(log.splitlines()) if s.strip()), "")
    return f"the process ended with exit code {code}" + (f": {last}" if last else "")


def _early(answer: dict[str, Any], why: str) -> str:
    """What is said of an answer that would have got better."""
    return "; ".join(filter(None, (answer.get("reason"), f"nothing was measured: {why}")))


def _verification(path: Path, call: str, answer: dict[str, Any] | None, why: str) -> Verification:
    function = call.split("(")[0].strip()
    if answer is None:
        return Verification(str(path), function, call, "unknown", reason=why)
    costs = [Cost(**c) if c else None for c in (answer.get("before"), answer.get("after"))]
    before, after = costs
    return Verification(
        str(path),
        function,
        call,
        answer["status"],
        answer.get("evidence"),
        _early(answer, why) if answer.get("early") else answer["reason"],
        answer.get("max_ulp"),
        answer.get("gradient", "unknown"),
        answer.get("gradient_evidence"),
        tuple(answer.get("types", ())),
        before,
        after,
        break_even(before, after) if before and after else None,
        answer.get("environment", ""),
        answer.get("vmap", "unknown"),
        answer.get("jvp", "unknown"),
        answer.get("first", ""),
        answer.get("smallest", ""),
        answer.get("raises", ""),
        None if answer.get("reached") is None else tuple(answer["reached"]),
        answer.get("cut_to"),
    )
