"""The language server, asked by a client with the capabilities of real editors."""

from __future__ import annotations

import ast
import asyncio
import gc
import os
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.syntax.source import Text
from forscan.types import Selection
from tests.conftest import FIXTURES, ROOT, Run
from tests.samples import DECAY, DECAY_SCAN, LOOPS, long_text
from tests.samples import MIXED as ORDINARY

pytest.importorskip("pygls", reason="pygls is not installed: the extra `lsp`")
pytest.importorskip("pytest_lsp", reason="pytest-lsp, which knows the editors, is not installed")

from lsprotocol import types as lsp

from forscan.lsp.actions import Client, Request, actions
from forscan.lsp.document import Document
from forscan.lsp.edits import Positions, text_edits
from forscan.lsp.server import Server, follow_texts
from tests.benchmarks.soak import soak
from tests.editor import EDITORS, Editor, edited, play

# Convertible at 7, refused at 14, a scan at 22.
MIXED = ORDINARY.partition("def plain")[0] + """\
@jax.jit
def total(xs):
    s, _ = jax.lax.scan(lambda s, x: (s + x, None), 0.0, xs)
    return s
"""


def by_command(text: str, line: int, to: str, **style: str) -> str:
    """What `forscan convert file.py:LINE` makes of it."""
    content = text.encode()
    config = Config(to=to, **style)  # type: ignore[arg-type]
    result = convert_bytes(content, Path("a.py"), config, Selection(line=line))
    assert result.changed
    return result.after.decode()


# Diagnostics.


@pytest.mark.parametrize("profile", EDITORS[2:])
def test_diagnostics(tmp_path: Path, profile: str) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        first, second = await editor.diagnostics()
        assert (first.code, second.code) == ("FSC101", "FSC302")
        assert {first.source, second.source} == {"forscan"}
        assert {first.severity, second.severity} == {lsp.DiagnosticSeverity.Hint}
        assert first.range == lsp.Range(lsp.Position(6, 4), lsp.Position(6, 21))  # its head
        assert second.related_information
        assert second.related_information[0].location.range.start == lsp.Position(14, 8)

    play(tmp_path / "a.py", scenario, profile)


def test_diagnostics_follow_the_buffer(tmp_path: Path) -> None:
    """Not the file, which need not exist; and not each key."""

    async def scenario(editor: Editor) -> None:
        await editor.open("import jax\n")
        assert await editor.diagnostics() == []
        count = len(editor.published)
        for end in range(len(DECAY) - 10, len(DECAY) + 1):
            await editor.type(DECAY[:end])
        assert [d.code for d in await editor.diagnostics()] == ["FSC101"]
        assert len(editor.published) == count + 1
        await editor.type(DECAY + "x = (\n")  # other servers say that this is wrong
        assert await editor.diagnostics() == []
        await editor.type(DECAY.replace("range(4):", "range(4):  # forscan: ignore[FSC301]"))
        hint, unused = await editor.diagnostics()
        assert (hint.code, unused.code) == ("FSC101", "FSC903")
        assert list(unused.tags or ()) == [lsp.DiagnosticTag.Unnecessary]
        name = lsp.TextDocumentIdentifier(editor.uri)
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(name))
        await asyncio.sleep(0.2)
        assert not editor.published[-1].diagnostics

    play(tmp_path / "a.py", scenario)


def test_settings_of_the_project_hold(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.forscan]\nto = "for"\n')

    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        assert [d.code for d in await editor.diagnostics()] == ["FSC102"]
        (tmp_path / "pyproject.toml").write_text("[tool.forscan]\nmin-trips = 9\n")
        await editor.type(DECAY)
        assert await editor.diagnostics() == []
        assert "Convert to jax.lax.scan" in await editor.actions(6)  # asked for
        (tmp_path / "pyproject.toml").write_text("[tool.forscan]\nwrong = 9\n")
        await editor.type(f"{DECAY}\n")
        assert [d.code for d in await editor.diagnostics()] == ["FSC101"]
        assert any("unknown key 'wrong'" in m for m in editor.messages)

    play(tmp_path / "a.py", scenario)


# Rewriting.


@pytest.mark.parametrize("profile", EDITORS)
def test_actions_do_what_the_command_does(tmp_path: Path, profile: str) -> None:
    """With the cursor anywhere in the loop."""

    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        for title, line, to in (
            ("Convert to jax.lax.scan", 7, "scan"),
            ("Convert to jax.lax.scan", 8, "scan"),
            ("Convert to jax.lax.fori_loop", 8, "fori"),
            ("Convert to jax.lax.fori_loop", 22, "fori"),
            ("Convert to a Python for", 22, "for"),
        ):
            action = (await editor.actions(line, ["refactor.rewrite"]))[title]
            assert action.kind == "refactor.rewrite"  # plain: not every client knows families
            await editor.take(action)
            first = 7 if line < 10 else 22
            assert editor.text == by_command(MIXED, first, to)
            await editor.type(MIXED)

    play(tmp_path / "a.py", scenario, profile)


def test_styles(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        found = await editor.actions(22, ["refactor"])
        assert "Write the body as a lambda" not in found  # it is one
        await editor.take(found["Write the body as a def"])
        assert editor.text == by_command(MIXED, 22, "scan", body="def")

    play(tmp_path / "a.py", scenario)


def test_nothing_is_offered_outside_of_loops(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        for line in (1, 6, 9, 23):
            assert await editor.actions(line) == {}
        assert await editor.actions(7, ["source.organizeImports"]) == {}
        await editor.type("import jax\nfor x in (\n")
        assert await editor.actions(2) == {}

    play(tmp_path / "a.py", scenario)


@pytest.mark.parametrize("profile", EDITORS[2:])
def test_refusals(tmp_path: Path, profile: str) -> None:
    """A disabled action with the reason, where the client knows it; an explanation for all."""

    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        found = await editor.actions(15, about=await editor.diagnostics())
        disabled = found.get("Convert to jax.lax.scan")
        assert (disabled is not None) is ("code" in profile)
        if disabled is not None:
            assert disabled.disabled is not None and disabled.edit is None
            assert disabled.disabled.reason.startswith("FSC302: `print` acts on the host")
        explain = found["Explain FSC302: host-effect"]
        assert explain.command is not None and explain.diagnostics
        params = lsp.ExecuteCommandParams(explain.command.command, explain.command.arguments)
        text = await editor.client.workspace_execute_command_async(params)
        assert text in editor.messages
        assert str(text).startswith("FSC302 host-effect:")

    play(tmp_path / "a.py", scenario, profile)


@pytest.mark.parametrize("line", [7, 14, 22])
def test_ignoring(tmp_path: Path, line: int) -> None:
    """The comment hushes what is said about the loop."""
    if line == 22:
        (tmp_path / "pyproject.toml").write_text('[tool.forscan]\nto = "for"\n')

    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        before = await editor.diagnostics()
        found = await editor.actions(line)
        (action,) = (a for title, a in found.items() if title.startswith("Ignore FSC"))
        await editor.take(action)
        assert editor.text.count("\n") == MIXED.count("\n") + 1
        await editor.type(editor.text)
        after = await editor.diagnostics()
        assert len(after) == len(before) - 1
        assert all(d.range.start.line != line for d in after)

    play(tmp_path / "a.py", scenario)


def test_no_edit_that_did_not_pass_the_self_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the editor wants it with the action or when that is chosen."""
    text, checks = DECAY, []

    def failing(*_: Any, **__: Any) -> str:
        checks.append(1)
        return "made up"

    monkeypatch.setattr("forscan.rounds.fault", failing)
    for resolves in (True, False):
        document = Document(text, tmp_path / "a.py", Config())
        client = Client("utf-16", resolves=resolves, disabled=True, versioned=False)
        found = actions(Request(document, "file:///a.py", 1, 7, client), ["refactor.rewrite"])
        assert all(action.edit is None for action in found)
        assert bool(checks) is not resolves  # who asks for the edit later waits for no check now
        place = document.at(7)
        assert place is not None
        change = document.change(place, "scan")
        assert change.text == text
        assert change.outcome is not None and change.outcome.code == "FSC904"
        checks.clear()


# Texts as editors have them.

ODD = {
    "astral": ('"""🙂 🚀"""\n' + DECAY).replace("return x", "return x  # 𐍈"),
    "crlf": DECAY.replace("\n", "\r\n"),
    "form feed": "# \f page \u2028 two\n" + DECAY,
    "no end": DECAY.rstrip("\n"),
    "other encoding": "# -*- coding: latin-1 -*-\n# é\n" + DECAY,
    "wide": DECAY.replace("x = 0.5 * x", "x = x * len('🙂🙂') + 0.5 * x"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_odd_texts(tmp_path: Path, encoding: str) -> None:
    async def scenario(editor: Editor) -> None:
        assert editor.encoding == encoding
        await editor.open("")
        for name, text in ODD.items():
            line = text[: text.index("for i in")].count("\n") + 1
            await editor.type(text)
            (hint,) = await editor.diagnostics()
            start, end = editor.offset(hint.range.start), editor.offset(hint.range.end)
            assert text[start:end] == "for i in range(4)", name
            await editor.take((await editor.actions(line + 1))["Convert to jax.lax.scan"])
            assert editor.text == by_command(text, line, "scan"), name

    play(tmp_path / "a.py", scenario, encodings=[encoding])


def test_place_is_counted_in_the_units_of_the_client(tmp_path: Path) -> None:
    text = DECAY_SCAN.replace("x, _ =", "y = '🙂🙂'; x, _ =")

    async def scenario(editor: Editor) -> None:
        await editor.open(text)
        (tmp_path / "pyproject.toml").write_text('[tool.forscan]\nto = "for"\n')
        await editor.type(f"{text}\n")
        (hint,) = await editor.diagnostics()
        assert hint.range.start.character == 4 + len("y = ''; x, _ = ") + 4

    play(tmp_path / "a.py", scenario, encodings=["utf-16"])


def test_text_without_a_file(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        editor.uri = "untitled:Untitled-1"
        await editor.open(DECAY)
        assert [d.code for d in await editor.diagnostics()] == ["FSC101"]

    play(tmp_path / "a.py", scenario)


# All examples, without the protocol.


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*/*.py")), ids=lambda p: p.stem)
def test_actions_at_every_line_of_the_examples(path: Path) -> None:
    """Each edit gives what the command gives, and the line of a loop has an action or a reason."""
    text = path.read_text()
    document = Document(text, path, Config())
    client = Client("utf-16", resolves=False, disabled=True, versioned=False)
    for line in range(1, text.count("\n") + 2):
        request = Request(document, "file:///a.py", 1, line, client)
        for action in actions(request, ["refactor.rewrite"]):
            assert (action.edit is None) is (action.disabled is not None)
            if action.edit is not None and action.title.startswith("Convert"):
                ((_, edits),) = (action.edit.changes or {}).items()
                to = next(t for t in ("scan", "fori", "for") if t in action.title)
                place = document.at(line)
                assert place is not None
                assert edited(text, edits, "utf-16") == by_command(text, place.line, to)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize(
    "before, after",
    [
        ("", "a\n"),
        ("a\n", ""),
        ("a", "a\n"),
        ("a\n", "a"),
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nb", "a\nx\nb"),
        ("🙂\r\nb\r\n", "🙂\r\nc\r\nb\r\n"),
        ("x\x0cy\nb\n", "x\x0cy\nc\n"),
        ("a\n", "a\n"),
    ],
)
def test_edits(before: str, after: str, encoding: str) -> None:
    edits = text_edits(Positions(Text(before), encoding), after)
    assert edited(before, edits, encoding) == after
    assert bool(edits) is (before != after)


# Commands.


async def execute(editor: Editor, name: str, *arguments: Any) -> Any:
    params = lsp.ExecuteCommandParams(name, list(arguments))
    return await editor.client.workspace_execute_command_async(params)


def test_convert_command(tmp_path: Path) -> None:
    """For palettes and editors without code actions."""

    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        assert await execute(editor, "forscan.convert", editor.uri, 13, "scan") is False
        assert any("FSC302" in message for message in editor.messages)
        assert await execute(editor, "forscan.convert", editor.uri, 0, "scan") is False
        assert editor.text == MIXED
        assert await execute(editor, "forscan.convert", editor.uri, 7, "scan") is True
        assert editor.text == by_command(MIXED, 7, "scan")

    play(tmp_path / "a.py", scenario)


def test_only_verify_runs_code(tmp_path: Path) -> None:
    """Of the buffer, which is not the file."""
    call = "decay(jnp.ones(2), jnp.ones((4, 2)))"
    table = f'[tool.forscan]\ncalls = {{ "a.py" = ["{call}"] }}\n'
    (tmp_path / "pyproject.toml").write_text(table)
    ran = tmp_path / "ran"

    async def scenario(editor: Editor) -> None:
        await editor.open(f"open({str(ran)!r}, 'w')\n{MIXED}")
        await editor.diagnostics()
        found = await editor.actions(8)
        for title in ("Convert to jax.lax.scan", "Convert to jax.lax.fori_loop"):
            await editor.client.code_action_resolve_async(found[title])
        assert not ran.exists()
        command = found[f"Verify the conversion with {call}"].command
        assert command is not None
        (verdict,) = await execute(editor, command.command, *(command.arguments or ()))
        assert verdict["status"] == "equal"
        assert ran.exists()
        assert any(message.startswith("equal") for message in editor.messages)

    play(tmp_path / "a.py", scenario, python=sys.executable)


def test_verify_without_jax_says_so(tmp_path: Path) -> None:
    async def scenario(editor: Editor) -> None:
        await editor.open(MIXED)
        assert await execute(editor, "forscan.verify", editor.uri, 6, "scan", "decay(1, 2)") == []
        assert any("cannot be started" in message for message in editor.messages)

    play(tmp_path / "a.py", scenario, python=str(tmp_path / "missing"))


# Speed.


@pytest.mark.parametrize("sample, title", [(DECAY, "scan"), (DECAY_SCAN, "fori_loop")])
def test_answers_are_quick(tmp_path: Path, sample: str, title: str) -> None:
    """Of 1,000 lines no more is done for a loop than parsing them some times would take."""
    text = long_text(1000, sample)
    heads = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(LOOPS)]

    async def scenario(editor: Editor) -> None:
        await editor.open(text)
        await editor.diagnostics()
        await editor.actions(heads[0])
        answers, parses = [], []
        for head in heads[1:12]:
            start = time.perf_counter()
            assert f"Convert to jax.lax.{title}" in await editor.actions(head)
            answers.append(time.perf_counter() - start)
            start = time.perf_counter()
            ast.parse(text)
            parses.append(time.perf_counter() - start)
        assert min(answers) < 50 * min(parses)  # about 6 on a machine with nothing else to do

    play(tmp_path / "a.py", scenario)


# A long day; `python -m tests.benchmarks.soak` makes it longer.


def test_long_day(tmp_path: Path) -> None:
    done = asyncio.run(soak(tmp_path / "a.py", edits=200, actions=40, seed=1))
    assert done.faults == []
    assert done.shown == done.said
    assert done.memory[-1] < 1.15 * done.memory[0]


def test_nothing_is_kept_of_a_message(tmp_path: Path) -> None:
    """pygls keeps what each change of a text has come to."""

    async def kept(server: Server, changes: int) -> int:
        for version in range(changes):
            name = lsp.VersionedTextDocumentIdentifier(version, (tmp_path / "a.py").as_uri())
            change = lsp.TextDocumentContentChangeWholeDocument(f"x = {version}\n")
            given = lsp.DidChangeTextDocumentParams(name, [change])
            server.protocol.handle_message(lsp.DidChangeTextDocumentNotification(given))
            await asyncio.sleep(0)
        gc.collect()
        return sum(isinstance(o, Future) for o in gc.get_objects())

    async def scenario() -> None:
        server = Server()
        follow_texts(server)
        params = lsp.InitializeParams(lsp.ClientCapabilities())
        server.protocol.handle_message(lsp.InitializeRequest(1, params))
        few = await kept(server, 10)
        assert await kept(server, 100) < few + 10

    asyncio.run(scenario())


# Without the extra.


def test_without_pygls(forscan: Run, tmp_path: Path) -> None:
    hidden = "raise ModuleNotFoundError('No module named pygls', name='pygls')\n"
    for name in ("pygls", "lsprotocol"):
        (tmp_path / f"{name}.py").write_text(hidden)
    done = forscan("lsp", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2
    assert done.stderr == "forscan: the language server needs pygls: pip install 'forscan[lsp]'\n"
