"""What one read of a value asks of it, where a scan has a tracer for a Python number."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import IntEnum


class Kind(IntEnum):
    """In order of how much they ask of the value."""

    PURE = 0  # indexing, comparing, keys of the random generator: any integer will do
    ARITHMETIC = 1  # meets arrays as a number: must stay weakly typed
    HAZARD = 2  # Python gives another number than int32 arithmetic
    WINDOW = 3  # a bound of a slice whose width is constant
    CONCRETE = 4  # needs the Python value
    BRANCH = 5  # decides a Python branch
    PASSED = 6  # goes to a function that cannot be looked into


@dataclass(frozen=True)
class Use:
    """One read of the name.

    Attributes:
      node: the read.
      kind: what it asks.
      what: a few words for the message.
      read: the subscript `a[…i…]` for a plain read, else None.
      value: the largest Python-only expression around the read.
      unknown: what is made of it, where nothing shows that it is no Python number.
    """

    node: ast.Name
    kind: Kind
    what: str
    read: ast.Subscript | None = None
    value: ast.expr | None = None
    unknown: ast.expr | None = None


def worst(kind: Kind, hazard: str) -> Kind:
    return Kind.HAZARD if hazard else kind
