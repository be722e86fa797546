"""New names: what nothing else uses, and what reads well."""

from __future__ import annotations

import keyword
from collections.abc import Iterable


def singular(name: str) -> str | None:
    """A name for one item of `names`, None where the name is no plural."""
    if len(name) > 2 and name.endswith("s") and not name.endswith(("ss", "us", "is", "ies")):
        return name[:-1]
    return None


class Fresh:
    """Gives names that nothing in a scope uses.

    Attributes:
      taken: all identifiers of the scope, those around it, and the names given so far.
      read: the names that the scope reads.
    """

    def __init__(self, taken: Iterable[str], read: frozenset[str]) -> None:
        self.taken = {*taken, *keyword.kwlist}
        self.read = read

    def name(self, *wishes: str) -> str:
        """The first wish that is free, else the last one with a number.

        What is no name, as one made of `a, b`, is no wish.
        """
        names = [wish for wish in wishes if wish.isidentifier()] or ["item"]
        for wish in names:
            if wish not in self.taken:
                break
        else:
            number = 2
            while f"{names[-1]}_{number}" in self.taken:
                number += 1
            wish = f"{names[-1]}_{number}"
        self.taken.add(wish)
        return wish
