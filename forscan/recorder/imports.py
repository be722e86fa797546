"""Has the files of the project compiled with probes in them, however they come to be run.

A module is compiled by its loader, so that is where it is caught; what Python has compiled
before is not used, and nothing compiled here is kept. A script is no module: Python asks
the import system first whether its path leads to a package, and is told that it does.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any

from .functions import Place, behind_docstring, instrumented

Add = Callable[[list[Place]], None]

_NOT_OURS = {"site-packages", "dist-packages", "node_modules", "__pypackages__", ".tox", ".nox"}
_WORDS = (b"for ", b"scan", b"_loop", b"lax.map")


def install(root: str, add: Add) -> None:
    """Looks at all files below a folder from now on.

    Args:
      root: the project.
      add: is told of the functions with a probe in them.
    """
    project = _Project(root, add)
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        code = project.compiled(str(self.path), script=False)
        return code if code is not None else original(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    _take_script(project)


class _Project:
    def __init__(self, root: str, add: Add) -> None:
        self.root = os.path.realpath(root)
        self.environment = os.path.realpath(sys.prefix)
        self.add = add
        self.count = 0

    def has(self, path: str) -> bool:
        """Whether a file is of the project, not of what is installed in it."""
        real = os.path.realpath(path)
        inside = real.startswith(self.root + os.sep)
        installed = real.startswith(self.environment + os.sep) and self.environment != self.root
        return inside and not installed and not _NOT_OURS & {*real.split(os.sep)}

    def compiled(self, path: str, *, script: bool) -> CodeType | None:
        """The file with its probes; None where it holds no loop, or is not ours."""
        if (not path.endswith(".py") and not script) or not self.has(path):
            return None
        try:
            with open(path, "rb") as file:
                content = file.read()
            if not any(word in content for word in _WORDS):
                return None
            name = os.path.relpath(os.path.realpath(path), self.root).replace(os.sep, "/")
            tree, places = instrumented(content, name, self.count)
            if not places:
                return None
            if script:
                _as_script(tree)
            code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        self.count += len(places)
        self.add(places)
        return code


def _take_script(project: _Project) -> None:
    """Sees to it that the script of this process, if it has one, is compiled here."""
    name = sys.argv[0] if sys.argv else ""
    if name in ("", "-c", "-m", "-") or not os.path.isfile(name) or not project.has(name):
        return
    finder = _Script(project, os.path.abspath(name))
    if finder.code is None:
        return
    for path in (name, os.path.join(os.getcwd(), name), os.path.abspath(name)):
        sys.path_importer_cache[path] = finder


class _Script:
    """Finds the script of the process under the name `__main__`."""

    def __init__(self, project: _Project, path: str) -> None:
        self.path = path
        self.code = project.compiled(path, script=True)

    def find_spec(self, name: str, target: Any = None) -> ModuleSpec | None:
        if name != "__main__":
            return None
        loader = _ScriptLoader("__main__", self.path)
        loader.code = self.code
        return spec_from_file_location("__main__", self.path, loader=loader)


class _ScriptLoader(SourceFileLoader):
    code: CodeType | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        # Python has put the path of the script where its folder belongs.
        folder = os.path.dirname(os.path.realpath(str(self.path)))
        sys.path[:1] = [] if sys.flags.safe_path else [folder]
        return self.code


def _as_script(tree: ast.Module) -> None:
    """Sets the names of a module that a script has none of."""
    at = behind_docstring(tree.body) if tree.body else 0
    while at < len(tree.body) and _is_future(tree.body[at]):
        at += 1
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in ("__spec__", "__package__")]
    statement = ast.Assign(targets, ast.Constant(None), lineno=1, col_offset=0)
    tree.body.insert(at, statement)
    ast.fix_missing_locations(tree)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
