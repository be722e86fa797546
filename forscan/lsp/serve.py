"""The server as an editor starts it."""

from __future__ import annotations

from forscan.lsp.commands import take_commands
from forscan.lsp.server import Server, follow_texts, offer_actions
from forscan.memory import collect_rarely


def serve() -> None:
    """Speaks over stdin and stdout until the editor ends it."""
    server = Server()
    follow_texts(server)
    offer_actions(server)
    take_commands(server)
    collect_rarely()  # the protocol's own classes are no garbage, and are many
    server.start_io()
