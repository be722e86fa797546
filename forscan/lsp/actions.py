"""What an editor offers with the cursor anywhere in a loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol import types as lsp

from forscan.diagnostics.codes import name_of
from forscan.lsp.document import Change, Document, Place
from forscan.lsp.edits import Positions, text_edits
from forscan.plan import FORMS
from forscan.recording import recorded_calls
from forscan.types import Outcome, Status

EXPLAIN, VERIFY, CONVERT = "forscan.explain", "forscan.verify", "forscan.convert"
REWRITE, QUICK = lsp.CodeActionKind.RefactorRewrite, lsp.CodeActionKind.QuickFix
KINDS = [REWRITE, QUICK]
_TITLES = {
    "scan": "Convert to jax.lax.scan",
    "fori": "Convert to jax.lax.fori_loop",
    "for": "Convert to a Python for",
}
_STYLES = {
    "Write the body as a def": {"body": "def"},
    "Write the body as a lambda": {"body": "lambda"},
    "Capture what does not change": {"params": "closure"},
    "Carry what does not change": {"params": "carry"},
}


@dataclass(frozen=True)
class Wanted:
    """A change to the loop at a line, as it is written into an action and read again."""

    line: int
    to: str
    style: tuple[tuple[str, str], ...] = ()

    def of(self, document: Document) -> Change | None:
        """The change; None where there is no loop at the line."""
        place = document.at(self.line)
        return None if place is None else document.change(place, self.to, **dict(self.style))

    def outcome(self, document: Document) -> Outcome | None:
        """What the change comes to if its text passes the self-check."""
        place = document.at(self.line)
        return None if place is None else document.outcome(place, self.to, **dict(self.style))

    def data(self, uri: str, version: int | None) -> dict[str, object]:
        style = dict(self.style)
        return {"uri": uri, "version": version, "line": self.line, "to": self.to, "style": style}


@dataclass(frozen=True)
class Client:
    """What an editor can take.

    Attributes:
      encoding: in what it counts columns.
      resolves: whether it asks for the edit when an action is chosen.
      disabled: whether it shows actions that cannot be taken, and why.
      versioned: whether it takes edits of one version of a document.
    """

    encoding: str
    resolves: bool
    disabled: bool
    versioned: bool


@dataclass(frozen=True)
class Request:
    """What actions are asked for: at a line of one version of a text."""

    document: Document
    uri: str
    version: int | None
    line: int
    client: Client
    diagnostics: tuple[lsp.Diagnostic, ...] = ()

    def wants(self, kind: str, only: list[str] | None) -> bool:
        return not only or any(kind == o or kind.startswith(f"{o}.") for o in only)


def actions(request: Request, only: list[str] | None) -> list[lsp.CodeAction]:
    """The actions of the kinds that are asked for; none outside of loops."""
    place = request.document.at(request.line)
    if place is None:
        return []
    found: list[lsp.CodeAction] = []
    if request.wants(REWRITE, only):
        found += _rewrites(request, place)
    if request.wants(QUICK, only):
        found += _quick(request, place)
    return found


def _rewrites(request: Request, place: Place) -> Iterator[lsp.CodeAction]:
    for to, title in _TITLES.items():
        if FORMS[to] != place.form:
            yield from _rewrite(request, Wanted(place.line, to), title)
    for title, style in _STYLES.items() if place.form == "scan" else ():
        yield from _rewrite(request, Wanted(place.line, "scan", tuple(style.items())), title)


def _rewrite(request: Request, wanted: Wanted, title: str) -> Iterator[lsp.CodeAction]:
    """The action; its text is checked here only where the editor wants the edit at once."""
    change = None if request.client.resolves else wanted.of(request.document)
    outcome = change.outcome if change is not None else wanted.outcome(request.document)
    if outcome is None:
        return
    action = lsp.CodeAction(title, REWRITE)
    if outcome.status is Status.CONVERTED:
        if change is not None:
            action.edit = edit(request, change)
        else:
            action.data = wanted.data(request.uri, request.version)
        yield action
    elif request.client.disabled and not wanted.style:
        action.disabled = lsp.CodeActionDisabled(f"{outcome.code}: {outcome.message}")
        yield action


def edit(request: Request, change: Change) -> lsp.WorkspaceEdit:
    """The edit of a change, as the client can take it."""
    return _workspace_edit(request, text_edits(_positions(request), change.text))


def _positions(request: Request) -> Positions:
    return Positions(request.document.source, request.client.encoding)


def _workspace_edit(request: Request, edits: list[lsp.TextEdit]) -> lsp.WorkspaceEdit:
    if not request.client.versioned:
        return lsp.WorkspaceEdit(changes={request.uri: edits})
    name = lsp.OptionalVersionedTextDocumentIdentifier(request.uri, request.version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(name, edits)])


def _quick(request: Request, place: Place) -> Iterator[lsp.CodeAction]:
    """Ignoring, explaining and verifying what the diagnostics of the editor are about."""
    outcome = _reported(request.document, place)
    if outcome is None:
        return
    about = [d for d in request.diagnostics if d.code == outcome.code] or None
    for code in dict.fromkeys([outcome.code, *(r.code for r in outcome.reasons)]):
        command = lsp.Command("Explain", EXPLAIN, arguments=[code])
        title = f"Explain {code}: {name_of(code)}"
        yield lsp.CodeAction(title, QUICK, diagnostics=about, command=command)
    yield _ignore(request, place, outcome, about)
    document = request.document
    calls = document.config.calls_of(document.path)
    for call in calls or recorded_calls(document.path, [outcome.function]):
        if outcome.status is Status.CONVERTED:
            given = [request.uri, place.line - 1, document.config.to, call]
            command = lsp.Command("Verify", VERIFY, arguments=given)
            yield lsp.CodeAction(f"Verify the conversion with {call}", QUICK, command=command)


def _reported(document: Document, place: Place) -> Outcome | None:
    """The outcome in the form that the project asks for; None where that says nothing."""
    outcome = document.outcome(place, document.config.to)
    return None if outcome is None or outcome.status is Status.SKIPPED else outcome


def _ignore(
    request: Request, place: Place, outcome: Outcome, about: list[lsp.Diagnostic] | None
) -> lsp.CodeAction:
    """A comment of its own above the statement, which has room for it in any case."""
    source = request.document.source
    codes = ", ".join(dict.fromkeys([r.code for r in outcome.reasons] or [outcome.code]))
    start = source.line_starts[place.statement - 1]
    indentation = source.line(place.statement)
    indentation = indentation[: len(indentation) - len(indentation.lstrip())]
    new = f"{indentation}# forscan: ignore[{codes}]{source.newline_near(start)}"
    edits = [lsp.TextEdit(_positions(request).range(start, start), new)]
    change = _workspace_edit(request, edits)
    return lsp.CodeAction(f"Ignore {codes} at this loop", QUICK, diagnostics=about, edit=change)
