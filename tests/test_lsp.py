"""The language server, asked by a client with the capabilities of real editors."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Union

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.syntax.source import Text
from forscan.types import Selection
from tests.conftest import FIXTURES, ROOT, Run
from tests.samples import DECAY, DECAY_SCAN
from tests.samples import MIXED as ORDINARY

pytest.importorskip("pygls", reason="pygls is not installed: the extra `lsp`")
pytest.importorskip("pytest_lsp", reason="pytest-lsp, which knows the editors, is not installed")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter
from pytest_lsp import client_capabilities

from forscan.lsp.actions import Client, Request, actions
from forscan.lsp.document import Document
from forscan.lsp.edits import Positions, text_edits

EDITORS = ["neovim@0.7.0", "neovim@0.11.0", "emacs@29.1", "visual_studio_code@1.65.2"]

# Convertible at 7, refused at 14, a scan at 22.
MIXED = ORDINARY.partition("def plain")[0] + """\
@jax.jit
def total(xs):
    s, _ = jax.lax.scan(lambda s, x: (s + x, None), 0.0, xs)
    return s
"""


class Editor:
    """A client with one file open, whose buffer is what the server has been told."""

    def __init__(self, client: LanguageClient, path: Path) -> None:
        self.client = client
        self.path = path
        self.uri = path.as_uri()
        self.version = 0
        self.text = ""
        self.published: list[lsp.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.encoding = "utf-16"

    async def open(self, text: str) -> None:
        self.text = text
        item = lsp.TextDocumentItem(self.uri, "python", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    async def type(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        name = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(name, [change]))

    async def diagnostics(self) -> list[lsp.Diagnostic]:
        """What is published for the text as it is."""
        for _ in range(600):
            if self.published and self.published[-1].version == self.version:
                return list(self.published[-1].diagnostics)
            await asyncio.sleep(0.02)
        raise AssertionError("nothing was published")

    async def actions(
        self, line: int, only: list[str] | None = None, about: list[lsp.Diagnostic] | None = None
    ) -> dict[str, lsp.CodeAction]:
        """The actions at a line, from 1, by their titles."""
        place = lsp.Position(line - 1, 0)
        kinds: Any = only
        context = lsp.CodeActionContext(about or [], only=kinds)
        name = lsp.TextDocumentIdentifier(self.uri)
        params = lsp.CodeActionParams(name, lsp.Range(place, place), context)
        found = await self.client.text_document_code_action_async(params)
        assert found is not None
        return {a.title: a for a in found if isinstance(a, lsp.CodeAction)}

    async def take(self, action: lsp.CodeAction) -> None:
        """Does what an editor does when an action is chosen."""
        if action.edit is None and action.data is not None:
            action = await self.client.code_action_resolve_async(action)
        assert action.edit is not None
        self.apply(action.edit)

    def apply(self, edit: lsp.WorkspaceEdit) -> None:
        if edit.changes:
            ((uri, edits),) = edit.changes.items()
        else:
            (change,) = edit.document_changes or []
            assert isinstance(change, lsp.TextDocumentEdit)
            assert change.text_document.version == self.version
            uri = change.text_document.uri
            edits = [e for e in change.edits if isinstance(e, lsp.TextEdit)]
        assert uri == self.uri
        self.text = edited(self.text, edits, self.encoding)

    def offset(self, place: lsp.Position) -> int:
        return offset(self.text, place, self.encoding)


def edited(text: str, edits: Iterable[lsp.TextEdit], encoding: str) -> str:
    """A text after edits, of which the last is made first."""
    for edit in sorted(edits, key=lambda e: (-e.range.start.line, -e.range.start.character)):
        start, end = (offset(text, p, encoding) for p in (edit.range.start, edit.range.end))
        text = text[:start] + edit.new_text + text[end:]
    return text


def offset(text: str, place: lsp.Position, encoding: str) -> int:
    """Written anew, so that the server is not believed about lines and columns."""
    lines = text.replace("\r\n", "\n\0").split("\n")  # \0 keeps the length
    start = sum(len(line) + 1 for line in lines[: place.line])
    start += lines[place.line].startswith("\0")
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = "utf-8" if width == 1 else f"{encoding}-le"
    units = text[start:].encode(codec)[: place.character * width]
    return start + len(units.decode(codec))


Scenario = Callable[[Editor], Coroutine[Any, Any, None]]


def _converter() -> Any:
    """lsprotocol takes every action that has a command for a mere command."""
    converter = default_converter()
    converter.register_structure_hook(
        Union[lsp.Command, lsp.CodeAction],  # noqa: UP007
        lambda given, _: converter.structure(given, lsp.CodeAction),
    )
    return converter


@asynccontextmanager
async def started(path: Path, profile: str, **options: Any) -> AsyncIterator[Editor]:
    """A server as an editor starts it, with one file."""
    client = LanguageClient("editor", "1", converter_factory=_converter)
    editor = Editor(client, path)

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: lsp.PublishDiagnosticsParams) -> None:
        editor.published.append(params)

    @client.feature(lsp.WINDOW_SHOW_MESSAGE)
    def message(params: lsp.ShowMessageParams) -> None:
        editor.messages.append(params.message)

    @client.feature(lsp.WORKSPACE_APPLY_EDIT)
    def apply(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        editor.apply(params.edit)
        return lsp.ApplyWorkspaceEditResult(applied=True)

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    command = options.pop("command", [sys.executable, "-m", "forscan", "lsp"])
    await client.start_io(*command, env=environment, cwd=path.parent)
    capabilities = client_capabilities(profile)
    encodings = options.pop("encodings", None)
    if encodings is not None:
        capabilities.general = lsp.GeneralClientCapabilities(position_encodings=encodings)
    root = path.parent.as_uri()
    found = await client.initialize_async(
        lsp.InitializeParams(
            capabilities, process_id=None, root_uri=root, initialization_options=options or None
        )
    )
    client.initialized(lsp.InitializedParams())
    chosen = found.capabilities.position_encoding or "utf-16"
    editor.encoding = lsp.PositionEncodingKind(chosen).value
    try:
        yield editor
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def play(path: Path, scenario: Scenario, profile: str = EDITORS[0], **options: Any) -> None:
    async def run() -> None:
        async with started(path, profile, **options) as editor:
            await scenario(editor)

    asyncio.run(asyncio.wait_for(run(), 120))


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


def long_text(lines: int) -> str:
    """A module of that length with a loop in every other function."""
    pieces = ["import jax\nimport jax.numpy as jnp\n"]
    while sum(p.count("\n") for p in pieces) < lines:
        number = len(pieces)
        loop = DECAY.replace("import jax\n", "").replace("decay", f"decay_{number}")
        other = f"\n\ndef other_{number}(x, y):\n    z = jnp.sin(x) + y\n    return z - y * 2\n"
        pieces.append(loop.replace("range(4)", "range(50)") + other * 3)
    return "".join(pieces)


def test_answers_are_quick(tmp_path: Path) -> None:
    """Within 100 ms on 1,000 lines after the first one, at loops not asked about before."""
    text = long_text(1000)
    heads = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith("    for")]

    async def scenario(editor: Editor) -> None:
        await editor.open(text)
        await editor.diagnostics()
        await editor.actions(heads[0])
        took = []
        for head in heads[1:12]:
            start = time.perf_counter()
            assert "Convert to jax.lax.scan" in await editor.actions(head + 1)
            took.append(time.perf_counter() - start)
        print(f"{statistics.median(took) * 1000:.0f} ms, at best {min(took) * 1000:.0f} ms")
        assert min(took) < 0.1  # the best one: tests share their processors with others

    play(tmp_path / "a.py", scenario)


# Without the extra.


def test_without_pygls(forscan: Run, tmp_path: Path) -> None:
    hidden = "raise ModuleNotFoundError('No module named pygls', name='pygls')\n"
    for name in ("pygls", "lsprotocol"):
        (tmp_path / f"{name}.py").write_text(hidden)
    done = forscan("lsp", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2
    assert done.stderr == "forscan: the language server needs pygls: pip install 'forscan[lsp]'\n"
