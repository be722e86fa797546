"""The child process: runs both versions of the job and writes an answer for each call.

Run as a script by whatever interpreter has the user's packages; it needs jax and
numpy, and nothing of forscan but the modules in this folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    answers = os.open(job["answers"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def answer(content: dict[str, Any]) -> None:
        os.write(answers, f"{job['token']} {json.dumps(content)}\n".encode())

    try:
        import jax  # noqa: F401
    except ImportError:
        answer({"unavailable": True})
        return
    from judge import judge
    from load import load

    folder = str(Path(__file__).parent)
    sys.path[:] = [p for p in sys.path if p != folder]
    try:
        before = load(Path(job["before"]), Path(job["path"]))
        after = load(Path(job["after"]), Path(job["path"]))
    except BaseException as e:  # a module may raise anything, SystemExit included
        for index in range(len(job["calls"])):
            answer(_unknown(index, f"the module cannot be imported: {_short(e)}"))
        return
    for index, call in enumerate(job["calls"]):
        try:
            verdict = judge(before, after, call, job["timing"])
        except BaseException as e:
            verdict = _unknown(index, f"the call cannot be run: {_short(e)}")
        answer({**verdict, "index": index})


def _unknown(index: int, reason: str) -> dict[str, Any]:
    return {
        "index": index, "status": "unknown", "evidence": None, "reason": reason,
        "max_ulp": None, "gradient": "unknown", "before": None, "after": None,
    }  # fmt: skip


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


if __name__ == "__main__":
    main()
    # Threads and exit handlers of the module are of no interest any more.
    sys.stdout.flush()
    os._exit(0)
