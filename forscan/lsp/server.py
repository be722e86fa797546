"""The protocol: what the editor tells and asks, by way of pygls."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from forscan import __version__
from forscan.config import Config, ConfigError, load
from forscan.lsp import actions as offered
from forscan.lsp.actions import Client, Request, Wanted
from forscan.lsp.diagnostics import diagnostics
from forscan.lsp.document import Document
from forscan.lsp.protocol import Protocol
from forscan.recording import with_traced
from forscan.types import Status

_PAUSE = 0.3  # seconds without a change before a text is looked at


class Server(LanguageServer):
    """The server of one editor.

    Attributes:
      documents: the last version that was looked at, by uri.
      waiting: texts that are about to be looked at, by uri.
      aside: the thread that looks at them; several would each keep memory for themselves.
      python: the interpreter that runs the user's code for a verification.
    """

    def __init__(self) -> None:
        # Whole texts: pygls cuts lines where Python's `splitlines` does, editors do not.
        whole = lsp.TextDocumentSyncKind.Full
        super().__init__("forscan", __version__, whole, protocol_cls=Protocol)
        self.documents: dict[str, Document] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.aside = ThreadPoolExecutor(1, "diagnostics")
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
            return with_traced(load(Path(os.path.realpath(path.parent))), path)
        except ConfigError as e:
            if str(e) not in self.troubles:  # said once, not at each key
                self.troubles.add(str(e))
                self.say(f"forscan: {e}", lsp.MessageType.Error)
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

    def say(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Shows a message to the person."""
        self.window_show_message(lsp.ShowMessageParams(kind, text))

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
        loop = asyncio.get_running_loop()  # in a thread: meanwhile questions are answered
        encoding = self.client.encoding
        found = await loop.run_in_executor(self.aside, diagnostics, document, uri, encoding)
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, version=version)
        )
        gc.collect()  # the trees of texts that are gone; who types has paused


def follow_texts(server: Server) -> None:
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


def offer_actions(server: Server) -> None:
    options = lsp.CodeActionOptions(code_action_kinds=list(offered.KINDS), resolve_provider=True)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri, line = params.text_document.uri, params.range.start.line + 1
        request = replace(server.request(uri, line), diagnostics=tuple(params.context.diagnostics))
        only = [str(getattr(k, "value", k)) for k in params.context.only or ()]
        return offered.actions(request, only)

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    def resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        if not isinstance(action.data, dict):
            return action
        data: dict[str, Any] = action.data
        request = server.request(data["uri"], data["line"])
        if request.version != data["version"]:
            raise JsonRpcInvalidParams.of(ValueError("the text has changed in the meantime"))
        change = Wanted(data["line"], data["to"], tuple(data["style"].items())).of(request.document)
        if change is None or change.outcome is None:
            return action
        if change.outcome.status is Status.CONVERTED:
            action.edit = offered.edit(request, change)
        else:  # it was offered before its text was checked
            said = f"forscan: {change.outcome.code} {change.outcome.message}"
            server.say(said, lsp.MessageType.Warning)
        return action
