"""Functions that are traced because traced code of another file of the project uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from forscan.find.context import ModuleContext
from forscan.find.traced import Function
from forscan.syntax.names import dotted


@dataclass
class _Module:
    """One file of the project under its dotted name.

    Attributes:
      is_package: whether it is the `__init__.py` of a package of that name.
    """

    name: str
    is_package: bool
    context: ModuleContext

    @cached_property
    def imported(self) -> dict[str, str]:
        """Local names for modules and what is in them, relative imports worked out."""
        table: dict[str, str] = {}
        for node in ast.walk(self.context.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    table[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    source = ".".join(filter(None, [self._base(node), alias.name]))
                    table[alias.asname or alias.name] = source
        return table

    def _base(self, node: ast.ImportFrom) -> str:
        """The module that `from … import` names."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The functions and methods at the top of the module, by qualified name."""
        functions = self.context.functions
        return {functions.qualified(f): f for f in functions.all}

    def uses(self) -> Iterator[str]:
        """Dotted names of imported things that traced code calls or hands on."""
        traced = self.context.traced
        for node in ast.walk(self.context.tree):
            if isinstance(node, ast.Call):
                inside = traced.reason(node) is not None
                if inside or traced.transform(node.func):
                    for part in (node.func, *node.args, *(k.value for k in node.keywords)):
                        yield from self._named(part)

    def _named(self, node: ast.expr) -> Iterator[str]:
        path = dotted(node)
        root, _, rest = (path or "").partition(".")
        if root in self.imported:
            yield ".".join(filter(None, [self.imported[root], rest]))


def traced_across(modules: Mapping[Path, ModuleContext]) -> dict[Path, frozenset[str]]:
    """The qualified names of functions, by file, that only other files show to be traced.

    Args:
      modules: the files of one project.
    """
    known = {path: _Module(*_dotted_name(path), context) for path, context in modules.items()}
    by_name = {module.name: path for path, module in known.items()}
    found: dict[Path, set[str]] = {}
    work = list(known)
    while work:
        for use in set(known[work.pop()].uses()):
            place = _definition(use, known, by_name)
            if place is None:
                continue
            path, function = place
            node = known[path].functions[function]
            if node in known[path].context.traced.why:
                continue
            found.setdefault(path, set()).add(function)
            known[path].context.traced.also(node, "used by traced code of another file")
            work.append(path)
    return {path: frozenset(names) for path, names in found.items()}


def _definition(
    use: str, known: Mapping[Path, _Module], by_name: Mapping[str, Path], depth: int = 4
) -> tuple[Path, str] | None:
    """The file and the function in it that a dotted name means, through what others import."""
    place = _place(use, by_name)
    if place is None or not depth:
        return None
    path, name = place
    if name in known[path].functions:
        return place
    root, _, rest = name.partition(".")
    if root not in known[path].imported:
        return None
    whole = ".".join(filter(None, [known[path].imported[root], rest]))
    return _definition(whole, known, by_name, depth - 1)


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
