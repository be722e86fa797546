"""How often Python looks for objects that only hold each other.

A syntax tree is tens of thousands of objects that live until a file is done. By default the
collector goes through them again and again, which takes longer than parsing does.
"""

from __future__ import annotations

import gc


def collect_rarely() -> None:
    """For a process that is ours: a collection every few files, and not hundreds for each."""
    gc.freeze()  # modules stay
    gc.set_threshold(1_000_000, 20, 20)
