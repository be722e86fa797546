"""Whether a call runs the loops that were converted: one that does not says nothing of them.

In the version as it was, what a loop runs over, or the `lax` function that is called, is handed
through a mark; in the new one the head of each function that differs is marked.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Iterator
from typing import Any

from .cuts import differing

MARK = "__forscan_mark__"
Place = tuple[int, int]  # line and column of a loop, both from 1


class Marks:
    """The marks in both versions.

    Args:
      loops: that were converted, by their places in the version as it was; without any
        nothing is marked, and nothing is asked.
      name: of the file.
    """

    def __init__(self, loops: list[Place], name: str = "") -> None:
        self.loops = loops
        self.name = name
        self._marked: set[int] = set()
        self._new_marked = False
        self._active = False
        self._seen: set[int] = set()
        self.clear()

    def clear(self) -> None:
        """Forgets what an earlier call has run."""
        self._seen = set()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """What runs now counts; not what evaluating arguments or trying other calls runs."""
        self._active = True
        try:
            yield
        finally:
            self._active = False

    def names(self) -> dict[str, Any]:
        """What the modules find in place."""
        return {MARK: self.pass_through}

    def pass_through(self, line: int, value: Any) -> Any:
        if self._active:
            self._seen.add(line)
        return value

    @property
    def reached(self) -> list[int] | None:
        """The lines of the loops that were run, None where no loop is known."""
        return sorted(self._seen - {_NEW}) if self._marked else None

    @property
    def missing(self) -> str:
        """Why the call says nothing of the conversion; empty where it does."""
        if self._marked and not self.reached:
            places = [f"{self.name}:{line}" for line in sorted(self._marked)]
            which = "the loop" if len(places) == 1 else "any of the loops"
            return f"the call never ran {which} at {', '.join(places)}"
        if self._marked and self._new_marked and _NEW not in self._seen:
            return "the call never ran what was converted in the new version"
        return ""

    def old(self, tree: ast.Module, source: bytes) -> None:
        """Marks the loops in the tree of the version as it was."""
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        lines = io.TextIOWrapper(io.BytesIO(source), encoding).readlines()
        for node in list(ast.walk(tree)):
            if not isinstance(node, ast.For | ast.Call):
                continue
            before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
            if (node.lineno, len(before) + 1) in self.loops:
                self._marked.add(node.lineno)
                _mark(node)
        ast.fix_missing_locations(tree)

    def new(self, tree: ast.Module, old: ast.Module) -> None:
        """Marks the functions in the tree of the new version that are not as they were."""
        for function in differing(old, tree)[1]:
            self._new_marked = True
            first = ast.get_docstring(function, clean=False) is not None
            line = ast.Expr(_passed(_NEW, ast.Constant(None)))
            function.body.insert(int(first), line)
        ast.fix_missing_locations(tree)


_NEW = -1  # stands for every function of the new version


def _mark(node: ast.For | ast.Call) -> None:
    if isinstance(node, ast.For):
        node.iter = _passed(node.lineno, node.iter)
    else:
        node.func = _passed(node.lineno, node.func)


def _passed(line: int, value: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(line), value], [])
