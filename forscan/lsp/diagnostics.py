"""What an editor underlines."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from forscan.lsp.document import Document, Place
from forscan.lsp.edits import Positions
from forscan.model import Refusal
from forscan.types import Outcome, Status

SOURCE = "forscan"


def diagnostics(document: Document, uri: str, encoding: str) -> list[lsp.Diagnostic]:
    """A hint at each loop that is worth a word, and at comments that suppress nothing."""
    positions = Positions(document.source, encoding)
    result = document.checked
    places = {(place.line, place.column): place for place in document.loops}
    found = []
    for outcome in result.outcomes:
        place = places.get((outcome.span.line, outcome.span.column))
        if place is not None and outcome.status is not Status.SKIPPED:
            found.append(_of_loop(outcome, place, positions, uri))
    return found + [_of_comment(comment, document, positions) for comment in result.unused]


def _of_loop(outcome: Outcome, place: Place, positions: Positions, uri: str) -> lsp.Diagnostic:
    lines = [outcome.message]
    if outcome.size is not None and outcome.status is Status.CONVERTIBLE:
        lines[0] = f"{outcome.message}; {outcome.size}"
    lines += dict.fromkeys(r.help for r in outcome.reasons)
    return lsp.Diagnostic(
        range=positions.range(*place.head),
        message="\n".join(lines),
        severity=lsp.DiagnosticSeverity.Hint,
        code=outcome.code,
        source=SOURCE,
        related_information=list(_related(outcome, positions, uri)) or None,
    )


def _related(
    outcome: Outcome, positions: Positions, uri: str
) -> Iterator[lsp.DiagnosticRelatedInformation]:
    for reason in outcome.reasons:
        if reason.line is not None and reason.column is not None:
            place = lsp.Location(uri, positions.point(reason.line, reason.column))
            yield lsp.DiagnosticRelatedInformation(place, reason.message)


def _of_comment(comment: Refusal, document: Document, positions: Positions) -> lsp.Diagnostic:
    assert comment.line is not None and comment.column is not None
    source = document.source
    start = source.at(comment.line, comment.column)
    return lsp.Diagnostic(
        range=positions.range(start, source.line_end(start)),
        message=comment.message,
        severity=lsp.DiagnosticSeverity.Hint,
        code=comment.code,
        source=SOURCE,
        tags=[lsp.DiagnosticTag.Unnecessary],
    )
