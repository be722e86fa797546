"""A client of the language server, with the capabilities of real editors."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Union

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter
from pytest_lsp import client_capabilities

from tests.conftest import ROOT

EDITORS = ["neovim@0.7.0", "neovim@0.11.0", "emacs@29.1", "visual_studio_code@1.65.2"]


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
        self.log: list[str] = []
        self.encoding = "utf-16"

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The server."""
        found = self.client._server
        assert found is not None
        return found

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

    @client.feature(lsp.WINDOW_LOG_MESSAGE)
    def log(params: lsp.LogMessageParams) -> None:
        editor.log.append(params.message)

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
