"""Why a loop stays as it is."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why a loop stays as it is: one entry of the registry, at one place.

    Attributes:
      code: the entry's id.
      message: what was found, by name, and why that cannot be converted.
      help: the way out, in one sentence.
      line, column: the place of the reason, 1-based, where it is not the loop.
    """

    code: str
    message: str
    help: str
    line: int | None = None
    column: int | None = None


def refuse(code: str, node: ast.expr | ast.stmt, message: str, help: str) -> Refusal:
    """A refusal whose reason is a node."""
    return Refusal(code, message, help, node.lineno, node.col_offset + 1)


class Refused(Exception):
    """Raised by a reader, pass or writer that cannot go on; holds all reasons."""

    def __init__(self, *reasons: Refusal) -> None:
        super().__init__(reasons[0].message if reasons else "")
        self.reasons = list(reasons)
