"""Functions that are traced because traced code of another file of the project uses them.

Each file is summed up by itself, wherever it is parsed; the sums are small, and together they
show what one file alone does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forscan.find.functions import Function
from forscan.find.module import ModuleContext
from forscan.find.traced import CALLABLE
from forscan.syntax.names import dotted

Scope = Function | ast.Lambda


@dataclass(frozen=True)
class Summary:
    """What a file says about traced functions, its own and those of others.

    Functions and lambdas are numbered; the last number is the module around them.

    Attributes:
      module: its dotted name.
      imported: local names for modules and what is in them, relative imports worked out.
      names: the qualified name of each function, which several may share; lambdas have none.
      traced: the functions that the file itself shows to be traced.
      uses: for each function the dotted names of imported things that it calls or hands
        on; for the module those that are handed to a transform anywhere.
      reaches: for each function those of the file that are traced when it is.
    """

    module: str
    imported: Mapping[str, str]
    names: tuple[str, ...]
    traced: frozenset[int]
    uses: tuple[frozenset[str], ...]
    reaches: tuple[frozenset[int], ...]

    def packed(self) -> list[Any]:
        """The same as JSON."""
        uses, reaches = ([sorted(part) for part in parts] for parts in (self.uses, self.reaches))
        traced, imported = sorted(self.traced), dict(self.imported)
        return [self.module, imported, list(self.names), traced, uses, reaches]

    @staticmethod
    def unpacked(found: Any) -> Summary:
        """Raises TypeError or ValueError where it is no JSON of a summary."""
        module, imported, names, traced, uses, reaches = found
        return Summary(
            module,
            imported,
            tuple(names),
            frozenset(traced),
            tuple(map(frozenset, uses)),
            tuple(map(frozenset, reaches)),
        )


def summary(path: Path, context: ModuleContext) -> Summary:
    """The sum of the file at a path."""
    return _Summing(path, context).summary()


class _Summing:
    def __init__(self, path: Path, context: ModuleContext) -> None:
        self.module, self.is_package = _dotted_name(path)
        self.context = context
        self.functions = context.functions
        self.imported = dict(self._imported())
        scopes = self.functions.scopes
        self.numbers: dict[ast.AST | None, int] = {s: k for k, s in enumerate(scopes)}
        self.numbers[None] = len(scopes)
        self.uses: list[set[str]] = [set() for _ in self.numbers]
        self.reaches: list[set[int]] = [set() for _ in self.numbers]

    def summary(self) -> Summary:
        for scope, inside in self.functions.inside.items():
            for node in inside:
                if isinstance(node, ast.Call):
                    self._add(node, scope)
                elif scope is not None:  # what a module defines need not be traced
                    self.reaches[self.numbers[scope]].add(self.numbers[node])
        named = [s for s in self.numbers if s is not None]
        return Summary(
            self.module,
            self.imported,
            tuple("" if isinstance(s, ast.Lambda) else self.functions.qualified(s) for s in named),
            frozenset(self.numbers[f] for f in self.context.traced.why if f in self.numbers),
            tuple(map(frozenset, self.uses)),
            tuple(map(frozenset, self.reaches)),
        )

    def _add(self, call: ast.Call, scope: ast.AST | None) -> None:
        number = self.numbers[scope]
        used: list[str] = []
        for part in (call.func, *call.args, *[k.value for k in call.keywords]):
            if type(part) not in CALLABLE:
                continue
            name = self._imported_name(part)
            if name is not None:
                used.append(name)
            if scope is not None:
                for function in self.context.traced.candidates(part):
                    self.reaches[number].add(self.numbers[function])
        if scope is not None:
            self.uses[number].update(used)
        if used and self.context.traced.transforms.path(call.func):
            self.uses[-1].update(used)

    def _imported(self) -> Iterator[tuple[str, str]]:
        for node in self.functions.imports:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    yield alias.asname or whole, whole
            else:
                base = self._base(node)
                for alias in node.names:
                    yield alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name

    def _base(self, node: ast.ImportFrom) -> str:
        """The module that `from … import` names."""
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def _imported_name(self, node: ast.expr) -> str | None:
        """What a name or an attribute stands for in full, where it is imported."""
        if type(node) is ast.Name:
            return self.imported.get(node.id)
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id not in self.imported:
            return None
        rest = (dotted(node) or "").partition(".")[2]
        return ".".join(filter(None, [self.imported[root.id], rest]))


@dataclass(frozen=True)
class Elsewhere:
    """Functions of a file that only other files show to be traced, by qualified name.

    Attributes:
      used: those that others use.
      reached: those, and what is traced with them.
    """

    used: frozenset[str]
    reached: frozenset[str]


def traced_across(files: Mapping[Path, Summary]) -> dict[Path, Elsewhere]:
    """What the files of one project show about each other."""
    project = _Project(files)
    return {path: found for path in files if (found := project.found(path)).used}


class _Project:
    def __init__(self, files: Mapping[Path, Summary]) -> None:
        self.files = files
        self.by_module = {file.module: path for path, file in files.items()}
        self.by_name = {
            path: {name: number for number, name in enumerate(file.names) if name}
            for path, file in files.items()
        }
        self.used: dict[Path, set[str]] = {path: set() for path in files}
        self.traced = {path: set(file.traced) for path, file in files.items()}
        work = [(path, n) for path, file in files.items() for n in (*file.traced, -1)]
        while work:
            path, number = work.pop()
            for use in files[path].uses[number]:
                work += self._found(use)
            work += self._spread(path, files[path].reaches[number])

    def found(self, path: Path) -> Elsewhere:
        names = self.files[path].names
        reached = (names[n] for n in self.traced[path] - self.files[path].traced)
        return Elsewhere(frozenset(self.used[path]), frozenset(reached))

    def _found(self, use: str) -> list[tuple[Path, int]]:
        """Notes the function that a dotted name means; it, where that is new."""
        place = self._definition(use)
        if place is None:
            return []
        path, name = place
        number = self.by_name[path][name]
        if number in self.files[path].traced:
            return []
        self.used[path].add(name)
        return self._spread(path, {number})

    def _spread(self, path: Path, numbers: frozenset[int] | set[int]) -> list[tuple[Path, int]]:
        new = numbers - self.traced[path]
        self.traced[path] |= new
        return [(path, number) for number in new]

    def _definition(self, use: str, depth: int = 4) -> tuple[Path, str] | None:
        """The file and the function in it that a name means, through what others import."""
        place = _place(use, self.by_module)
        if place is None or not depth:
            return None
        path, name = place
        if name in self.by_name[path]:
            return place
        root, _, rest = name.partition(".")
        if root not in self.files[path].imported:
            return None
        whole = ".".join(filter(None, [self.files[path].imported[root], rest]))
        return self._definition(whole, depth - 1)


def _place(use: str, modules: Mapping[str, Path]) -> tuple[Path, str] | None:
    """The file that a dotted name begins with, and the rest of it.

    A package whose outer folder has no `__init__.py` is known by a shorter name.
    """
    parts = use.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        for first in range(max(cut - 1, 1)):
            module = ".".join(parts[first:cut])
            if module in modules:
                return modules[module], ".".join(parts[cut:])
    return None


def _dotted_name(path: Path) -> tuple[str, bool]:
    """The dotted name of a module, by the packages around it, and whether it is one itself."""
    path = path.resolve()
    is_package = path.name == "__init__.py"
    parts = [] if is_package else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), is_package
