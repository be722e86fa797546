"""One line on a terminal that says what goes on."""

from __future__ import annotations

import sys
from types import TracebackType

import click


class Progress:
    """Shows the stage on stderr, where that is a terminal; each in place of the one before.

    As a context it leaves the line empty for what comes next, whatever ends it.
    """

    def __init__(self) -> None:
        self.shown = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.shown:
            _write("")
            self.shown = ""

    def __call__(self, stage: str) -> None:
        if stage != self.shown and sys.stderr.isatty():
            _write(stage)
            self.shown = stage


def _write(text: str) -> None:
    # Clearing the line is no colour, so it is not for those to leave out who want none.
    click.echo(f"\r\033[K{text}", nl=False, err=True, color=True)
