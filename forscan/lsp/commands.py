"""What a person asks for by name: in a palette, or by an action that has no edit."""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types as lsp

from forscan.diagnostics.explain import explain as explanation
from forscan.lsp.actions import CONVERT, EXPLAIN, VERIFY, Request, edit
from forscan.lsp.document import Change
from forscan.lsp.server import Server
from forscan.plan import FORMS
from forscan.report.verification import format_verification
from forscan.types import Status
from forscan.verify import Verification, VerifyUnavailable, verify_sources


def take_commands(server: Server) -> None:
    """Lines count from 0 here, as editors count them."""

    @server.command(EXPLAIN)
    def explain(code: str) -> str | None:
        text = explanation(code)
        if text is not None:
            server.say(text)
        return text

    @server.command(CONVERT)
    async def convert(uri: str, line: int, to: str) -> bool:
        found = _conversion(server, uri, line, to)
        if found is None:
            return False
        wanted = lsp.ApplyWorkspaceEditParams(edit(*found), label="forscan")
        return (await server.workspace_apply_edit_async(wanted)).applied

    @server.command(VERIFY)
    async def verify(uri: str, line: int, to: str, call: str) -> list[dict[str, Any]]:
        found = _conversion(server, uri, line, to)
        if found is None:
            return []
        try:
            verdicts = await asyncio.to_thread(_verified, server.python, *found, call)
        except VerifyUnavailable as e:
            server.say(f"forscan: {e}", lsp.MessageType.Error)
            return []
        for verdict in verdicts:
            server.say(format_verification(verdict))
        return [verdict.as_json() for verdict in verdicts]


def _conversion(server: Server, uri: str, line: int, to: str) -> tuple[Request, Change] | None:
    """The conversion of the loop at a line; None where there is none, which is said."""
    request = server.request(uri, line + 1)
    place = request.document.at(line + 1)
    found = request.document.change(place, to) if place and to in FORMS else None
    if found is None or found.outcome is None:
        server.say(f"forscan: there is no loop here to convert to {to}", lsp.MessageType.Warning)
        return None
    if found.outcome.status is not Status.CONVERTED:
        said = f"forscan: {found.outcome.code} {found.outcome.message}"
        server.say(said, lsp.MessageType.Warning)
        return None
    return request, found


def _verified(python: str, request: Request, change: Change, call: str) -> list[Verification]:
    """Runs the user's code, which nothing else in this room does."""
    document = request.document
    before, after = (document.source.encode(t) for t in (document.text, change.text))
    assert change.outcome is not None
    span = change.outcome.span
    loops = [(span.line, span.column)]
    return verify_sources(before, after, document.path, [call], loops=loops, python=python)
