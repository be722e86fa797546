"""What a loop iterates, in the words of a scan."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.analyse.trip_count import Extent
from forscan.model import Counter, Element, Refusal, Refused


@dataclass(frozen=True)
class Space:
    """An iteration space.

    Attributes:
      counter: the induction variable, if there is one.
      elements: the slices taken per iteration.
      reverse: the last index comes first.
      head: statements that the body begins with (a pair put together again).
      before: statements in front of the loop.
      trips: normal forms of the trip count, one for each part of a zip.
      length: a name for the trip count, where the loop needs one.
    """

    counter: Counter | None = None
    elements: tuple[Element, ...] = ()
    reverse: bool = False
    head: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    trips: tuple[Extent, ...] = ()
    length: str | None = None


def unlike(code: str, node: ast.expr, message: str, help: str) -> Refused:
    """Why something has no counterpart in a scan."""
    return Refused(Refusal(code, message, help, node.lineno, node.col_offset + 1))


def single(target: ast.expr) -> str:
    """The one name that a target is.

    Raises:
      Refused: it is a pattern.
    """
    if isinstance(target, ast.Name):
        return target.id
    raise unlike(
        "FSC205",
        target,
        f"the items cannot be unpacked into {ast.unparse(target)}",
        "Use one name as the target.",
    )
