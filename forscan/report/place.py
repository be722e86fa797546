"""How a file is named to programs that know the project by its root."""

from __future__ import annotations

import os
from pathlib import Path, PurePath


def from_here(name: str) -> PurePath:
    """A path from the current folder on, where the file is below it."""
    path = Path(name)
    if not path.is_absolute():
        return PurePath(os.path.normpath(path))
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
