"""What an editor waits for, on 1,000 lines: `python -m tests.benchmarks.lsp`.

    an edit     until its diagnostics are there, everything read anew
    actions     with the cursor in a loop that was not asked about before
    resolve     the edit of an action

First inside of one process, by processor time: what else a machine does counts little. Then
through the protocol by the clock, the pause that the server makes after an edit left out.
Each figure stands beside `ast.parse` of the same text in the same run.
"""

from __future__ import annotations

import ast
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from forscan.config import Config
from forscan.lsp import server
from forscan.lsp.actions import Client, Request, Wanted, actions, edit
from forscan.lsp.diagnostics import diagnostics
from forscan.lsp.document import Document
from tests.editor import Editor, play
from tests.samples import DECAY, DECAY_SCAN, LOOPS, long_text

ROUNDS = 15
URI = "file:///a.py"
_CAPTURES = """\
import jax
import jax.numpy as jnp


@jax.jit
def decay(x, ws, k, m):
    def step(carry, w):
        a, b = carry
        a = jnp.sin(a) * k + m
        b = b + a * w
        return (a, b), jnp.cos(b)

    x, _ = jax.lax.scan(step, (x, jnp.zeros(4)), ws[:4], length=4)
    return x
"""
SAMPLES = {"for": DECAY, "lax.scan": DECAY_SCAN, "lax.scan that captures": _CAPTURES}


class Took:
    """How long things took, by name."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.seconds: dict[str, list[float]] = {}
        self._start = 0.0

    def start(self) -> None:
        self._start = self.clock()

    def stop(self, name: str, left_out: float = 0.0) -> None:
        self.seconds.setdefault(name, []).append(self.clock() - self._start - left_out)

    def show(self, head: str) -> None:
        parse = min(self.seconds["parse"])
        for name, seconds in self.seconds.items():
            median, best = statistics.median(seconds), min(seconds)
            print(
                f"{head}: {name}: median {1000 * median:.0f} ms, best {1000 * best:.0f} ms, "
                f"{best / parse:.1f} times ast.parse",
                flush=True,
            )


def heads(text: str) -> list[int]:
    return [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(LOOPS)][:ROUNDS]


def parsed(took: Took, text: str) -> None:
    took.start()
    ast.parse(text)
    took.stop("parse")


def inside(text: str, took: Took) -> None:
    client = Client("utf-16", resolves=True, disabled=True, versioned=True)
    for head in heads(text):
        changed = f"{text}# {head}\n"
        parsed(took, changed)
        took.start()
        document = Document(changed, Path("a.py"), Config())
        diagnostics(document, URI, client.encoding)
        took.stop("an edit")
        request = Request(document, URI, 1, head, client)
        actions(Request(document, URI, 1, heads(text)[0] if head > 99 else 200, client), None)
        took.start()
        found = actions(request, None)
        took.stop("actions")
        chosen = next(a for a in found if isinstance(a.data, dict))
        assert isinstance(chosen.data, dict)
        took.start()
        change = Wanted(head, chosen.data["to"]).of(document)
        assert change is not None and edit(request, change)
        took.stop("resolve")


async def outside(editor: Editor, text: str, took: Took) -> None:
    await editor.open(text)
    await editor.diagnostics()
    for head in heads(text):
        changed = f"{text}# {head}\n"
        parsed(took, changed)
        took.start()
        await editor.type(changed)
        await editor.diagnostics()
        took.stop("an edit", left_out=server._PAUSE)
        took.start()
        found = await editor.actions(head)
        took.stop("actions")
        chosen = next(a for a in found.values() if a.data is not None)
        took.start()
        assert (await editor.client.code_action_resolve_async(chosen)).edit is not None
        took.stop("resolve")


def main() -> None:
    for name, sample in SAMPLES.items():
        text = long_text(1000, sample)
        took = Took(time.process_time)
        inside(text, took)
        took.show(f"{name}, processor")
        took = Took(time.perf_counter)
        with tempfile.TemporaryDirectory() as folder:
            play(Path(folder) / "a.py", lambda e, t=text, k=took: outside(e, t, k))
        took.show(f"{name}, protocol")


if __name__ == "__main__":
    main()
