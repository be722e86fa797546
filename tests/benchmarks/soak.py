"""A long day in an editor: `python -m tests.benchmarks.soak [--edits N] [--actions N] [--seed N]`.

A file of some hundred lines is changed again and again, sane and broken (tests/distort.py),
saved now and then, and asked for actions at random lines, of which some are taken; another file
is opened and closed. No answer may be an error, the memory of the server is to be the same
after a tenth of that and after all of it, and the last diagnostics are what `forscan check`
says of the last text.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from lsprotocol import types as lsp

from tests.conftest import FIXTURES, ROOT
from tests.distort import distorted
from tests.editor import Editor, started
from tests.invariants import compiles

_LINES = 300
Row = tuple[int, int, str]  # line, column, code


@dataclass
class Soaked:
    """What came of it.

    Attributes:
      memory: kilobytes after each tenth of the edits, with the first text in the editor.
      faults: errors, and what the server has written to its log.
      offered, taken: actions.
      shown, said: the last diagnostics, and what the command says of the same text.
      seconds: how long the answers took.
    """

    memory: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    offered: int = 0
    taken: int = 0
    shown: list[Row] = field(default_factory=list)
    said: list[Row] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def first_text(random: Random) -> str:
    paths = sorted(FIXTURES.rglob("*.py"))
    text = ""
    while text.count("\n") < _LINES:
        text += random.choice(paths).read_text() + "\n\n"
    return text


def edited(text: str, first: str, random: Random) -> str:
    """The text after an edit; one that broke it is mended for the most part."""
    if random.random() < 0.05:
        text = first
    new = distorted(text, random, 1)
    for _ in range(5):
        if compiles(new.encode(errors="replace")) or random.random() < 0.2:
            return new
        new = distorted(text, random, 1)
    return first


async def soak(path: Path, edits: int, actions: int, seed: int) -> Soaked:
    random, done = Random(seed), Soaked()
    first = first_text(random)
    every = max(edits // actions, 1)
    async with started(path, "neovim@0.11.0") as editor:
        await _load(editor)
        await editor.type(first)
        for number in range(edits):
            await editor.type(edited(editor.text, first, random))
            try:
                if number % every == 0:
                    await _act(editor, random, done)
                if number % 40 == 0:
                    await _look_around(editor, path)
            except Exception as e:  # an answer that is an error
                done.faults.append(f"edit {number}: {type(e).__name__}: {e}")
            if (number + 1) % max(edits // 10, 1) == 0:
                last = editor.text
                await editor.type(first)
                await editor.diagnostics()
                done.memory.append(_memory(editor))
                await editor.type(last)
                print(f"... {number + 1}: {done.memory[-1]} kB", file=sys.stderr, flush=True)
        await editor.type(edited(first, first, random))
        shown = [d for d in await editor.diagnostics() if d.code != "FSC903"]
        done.shown = sorted(_row(editor, d) for d in shown)
        done.faults += [m for m in (*editor.log, *editor.messages) if "fault" in m]
        done.said = said_by_command(path, editor.text)
    errors = editor.process.stderr
    assert errors is not None
    done.faults += (await errors.read()).decode().splitlines()
    return done


async def _load(editor: Editor) -> None:
    """Has the server load what it loads with its first conversion, which is no growth."""
    await editor.open((FIXTURES / "loops/formatting/long_line.py").read_text())
    for line in range(1, editor.text.count("\n") + 2):
        for action in (await editor.actions(line)).values():
            if action.edit is None and action.data is not None:
                await editor.client.code_action_resolve_async(action)


async def _act(editor: Editor, random: Random, done: Soaked) -> None:
    """Asks for actions at a line, and takes one of them at times."""
    line = random.randint(1, editor.text.count("\n") + 1)
    start = time.perf_counter()
    found = [a for a in (await editor.actions(line)).values() if a.edit or a.data]
    done.seconds.append(time.perf_counter() - start)
    done.offered += len(found)
    if found and random.random() < 0.5:
        await editor.take(random.choice(found))
        await editor.type(editor.text)
        done.taken += 1


async def _look_around(editor: Editor, path: Path) -> None:
    """Saves, which has the file looked at right away; opens another one and closes it."""
    client = editor.client
    name = lsp.TextDocumentIdentifier(editor.uri)
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(name))
    uri = path.with_name("other.py").as_uri()
    item = lsp.TextDocumentItem(uri, "python", 1, editor.text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    await asyncio.sleep(0.05)
    other = lsp.TextDocumentIdentifier(uri)
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(other))


def _memory(editor: Editor) -> int:
    """Kilobytes that the server holds."""
    command = ["ps", "-o", "rss=", "-p", str(editor.process.pid)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


def _row(editor: Editor, hint: lsp.Diagnostic) -> Row:
    before = editor.text[: editor.offset(hint.range.start)]
    return hint.range.start.line + 1, len(before) - before.rfind("\n"), str(hint.code)


def said_by_command(path: Path, text: str) -> list[Row]:
    """What `forscan check` says; nothing of a text that is no Python."""
    path.write_bytes(text.encode())
    done = subprocess.run(
        [sys.executable, "-m", "forscan", "check", "--output-format", "json", str(path)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    rows = json.loads(done.stdout)
    reported = [r for r in rows if r["status"] in ("convertible", "refused")]
    return sorted((r["line"], r["column"], r["code"]) for r in reported)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--actions", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "a.py"
        done = asyncio.run(soak(path, options.edits, options.actions, options.seed))
    tenth, last = done.memory[0], done.memory[-1]
    median = 1000 * statistics.median(done.seconds)
    print(f"{options.edits} edits, {len(done.seconds)} requests for actions, seed {options.seed}")
    print(f"{done.offered} actions offered, {done.taken} taken; median answer {median:.0f} ms")
    print(f"memory: {tenth} kB after a tenth, {last} kB in the end ({last / tenth:.2f} times)")
    print(f"diagnostics: {len(done.shown)}, as the command says: {done.shown == done.said}")
    print(f"faults: {len(done.faults)}", *done.faults[:20], sep="\n    ")
    sys.exit(bool(done.faults or done.shown != done.said or last > 1.1 * tenth))


if __name__ == "__main__":
    main()
