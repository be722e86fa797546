"""The protocol: what the editor tells and asks, by way of pygls."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from forscan import __version__
from forscan.config import Config, ConfigError, load
from forscan.diagnostics.explain import explain as explanation
from forscan.lsp import actions as offered
from forscan.lsp.actions import Client, Request, Wanted
from forscan.lsp.diagnostics import diagnostics
from forscan.lsp.document import Change, Document
from forscan.plan import FORMS
from forscan.types import Status
from forscan.verify import VerifyUnavailable, verify_sources
from forscan.verify.text import format_verification

_PAUSE = 0.3  # seconds without a change before a text is looked at


class Server(LanguageServer):
    """The server of one editor.

    Attributes:
      documents: the last version that was looked at, by uri.
      waiting: texts that are about to be looked at, by uri.
      python: the interpreter that runs the user's code for a verification.
    """

    def __init__(self) -> None:
        # Whole texts: pygls cuts lines where Python's `splitlines` does, editors do not.
        super().__init__("forscan", __version__, lsp.TextDocumentSyncKind.Full)
        self.documents: dict[str, Document] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.python = sys.executable
        self.troubles: set[str] = set()

    def document(self, uri: str) -> Document:
        """The text as it stands in the editor, with the settings as they are now."""
        text = self.workspace.get_text_document(uri).source
        path = Path(to_fs_path(uri) or "untitled.py")
        config = self._config(path)
        known = self.documents.get(uri)
        if known is None or (known.text, known.config) != (text, config):
            known = self.documents[uri] = Document(text, path, config)
        return known

    def _config(self, path: Path) -> Config:
        try:
            return load(Path(os.path.realpath(path.parent)))
        except ConfigError as e:
            if str(e) not in self.troubles:  # said once, not at each key
                self.troubles.add(str(e))
                self.window_show_message(
                    lsp.ShowMessageParams(lsp.MessageType.Error, f"forscan: {e}")
                )
            return Config()

    @property
    def client(self) -> Client:
        known = self.client_capabilities
        action = "text_document.code_action"
        resolved = get_capability(known, f"{action}.resolve_support.properties", None) or []
        return Client(
            encoding=lsp.PositionEncodingKind(self.workspace.position_encoding).value,
            resolves=bool(get_capability(known, f"{action}.data_support", False))
            and "edit" in resolved,
            disabled=bool(get_capability(known, f"{action}.disabled_support", False)),
            versioned=bool(
                get_capability(known, "workspace.workspace_edit.document_changes", False)
            ),
        )

    def request(self, uri: str, line: int) -> Request:
        version = self.workspace.get_text_document(uri).version
        return Request(self.document(uri), uri, version, line, self.client)

    def look(self, uri: str, pause: float = 0.0) -> None:
        """Publishes diagnostics, unless the text changes again before that."""
        self.forget(uri)
        self.waiting[uri] = task = asyncio.ensure_future(self._publish(uri, pause))
        task.add_done_callback(self._report)

    def forget(self, uri: str) -> None:
        task = self.waiting.pop(uri, None)
        if task is not None:
            task.cancel()

    def _report(self, task: asyncio.Task[None]) -> None:
        """A fault is for the editor's log, and not for the next one who looks for it."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            said = f"a fault of forscan: {type(error).__name__}: {error}"
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, said))

    async def _publish(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        document = self.document(uri)
        version = self.workspace.get_text_document(uri).version
        # In a thread: meanwhile questions are answered.
        found = await asyncio.to_thread(diagnostics, document, uri, self.client.encoding)
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, version=version)
        )


def make_server() -> Server:
    """The server with all that it answers."""
    server = Server()
    _follow_texts(server)
    _offer_actions(server)
    _take_commands(server)
    return server


def _follow_texts(server: Server) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        given = params.initialization_options
        if isinstance(given, dict) and isinstance(given.get("python"), str):
            server.python = given["python"]

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.look(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.look(params.text_document.uri, _PAUSE)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.look(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.forget(uri)
        server.documents.pop(uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _offer_actions(server: Server) -> None:
    options = lsp.CodeActionOptions(code_action_kinds=list(offered.KINDS), resolve_provider=True)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri, line = params.text_document.uri, params.range.start.line + 1
        asked = server.request(uri, line)
        about = tuple(params.context.diagnostics)
        asked = Request(asked.document, uri, asked.version, line, asked.client, about)
        only = [str(getattr(k, "value", k)) for k in params.context.only or ()]
        return offered.actions(asked, only)

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    def resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        if not isinstance(action.data, dict):
            return action
        data: dict[str, Any] = action.data
        request = server.request(data["uri"], data["line"])
        if request.version != data["version"]:
            raise JsonRpcInvalidParams.of(ValueError("the text has changed in the meantime"))
        change = Wanted(data["line"], data["to"], tuple(data["style"].items())).of(request.document)
        if change is not None:
            action.edit = offered.edit(request, change)
        return action


def _take_commands(server: Server) -> None:
    def say(text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        server.window_show_message(lsp.ShowMessageParams(kind, text))

    def change(uri: str, line: int, to: str) -> tuple[Request, Change] | None:
        """The conversion of the loop at a line, from 0; None where there is none, which is said."""
        request = server.request(uri, line + 1)
        place = request.document.at(line + 1)
        found = request.document.change(place, to) if place and to in FORMS else None
        if found is None or found.outcome is None:
            say(f"forscan: there is no loop here to convert to {to}", lsp.MessageType.Warning)
            return None
        if found.outcome.status is not Status.CONVERTED:
            code, message = found.outcome.code, found.outcome.message
            say(f"forscan: {code} {message}", lsp.MessageType.Warning)
            return None
        return request, found

    @server.command(offered.EXPLAIN)
    def explain(code: str) -> str | None:
        text = explanation(code)
        if text is not None:
            say(text)
        return text

    @server.command(offered.CONVERT)
    async def convert(uri: str, line: int, to: str) -> bool:
        found = change(uri, line, to)
        if found is None:
            return False
        edit = lsp.ApplyWorkspaceEditParams(offered.edit(*found), label="forscan")
        return (await server.workspace_apply_edit_async(edit)).applied

    @server.command(offered.VERIFY)
    async def verify(uri: str, line: int, to: str, call: str) -> list[dict[str, Any]]:
        """Runs the user's code, which nothing else does."""
        found = change(uri, line, to)
        if found is None:
            return []
        request, converted = found
        document, encoding = request.document, request.document.source.encoding
        try:
            verdicts = await asyncio.to_thread(
                verify_sources,
                document.text.encode(encoding),
                converted.text.encode(encoding),
                document.path,
                [call],
                python=server.python,
            )
        except VerifyUnavailable as e:
            say(f"forscan: {e}", lsp.MessageType.Error)
            return []
        for verdict in verdicts:
            say(format_verification(verdict))
        return [verdict.as_json() for verdict in verdicts]


def serve() -> None:
    """Speaks over stdin and stdout until the editor ends it."""
    make_server().start_io()
