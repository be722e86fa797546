"""The file in which a child answers, whatever else is written to it."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any


class Answers:
    """Lines that carry the token of this job; the file is open here before anybody knows it.

    Attributes:
      path: where the child finds the file.
      token: at the head of its lines.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers"
        self.token = secrets.token_hex(16)
        # What stands at the path later on may be another file, or none that ends.
        self._file = self.path.open("w+b")

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self) -> list[dict[str, Any]]:
        """What the child wrote itself so far."""
        self._file.seek(0)
        answers = []
        for line in self._file.read().decode(errors="replace").splitlines():
            head, _, rest = line.partition(" ")
            found = _parsed(rest) if head == self.token else None
            if isinstance(found, dict):
                answers.append(found)
        return answers


def _parsed(text: str) -> Any:
    """None where a line was cut off, as by a child that was killed at it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
