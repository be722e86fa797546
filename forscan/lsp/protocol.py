"""What pygls does with messages, without what it forgets to let go of."""

from __future__ import annotations

from typing import Any

from pygls.protocol import LanguageServerProtocol


class Protocol(LanguageServerProtocol):
    """Messages as pygls 2 handles them, in memory that does not grow with their number.

    It notes what each of them has come to, and strikes out only what was answered: of each
    change to a text two notes stay.
    """

    def handle_message(self, message: Any) -> None:
        super().handle_message(message)
        notes: dict[Any, Any] = getattr(self, "_request_futures", {})
        for key in [key for key, note in notes.items() if note.done()]:
            del notes[key]
