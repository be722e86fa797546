"""Executes a version of a module as if it stood at the module's own path."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The module of each version -> the module that it is a version of.
_VERSIONS: dict[str, str] = {}


def load(version: Path, path: Path) -> types.ModuleType:
    """A module object made from the source in `version`."""
    return load_tree(version.read_bytes(), path, {})


def load_tree(
    program: bytes | ast.Module, path: Path, names: Mapping[str, Any]
) -> types.ModuleType:
    """A module object made from a source or a tree, which finds some names in place.

    Each version gets a name of its own in `sys.modules`, so that dataclasses and
    NamedTuples find their module; inside a package it is a sibling, so that relative
    imports work.
    """
    package = _package(path.parent)
    root = path.parent
    for _ in package:
        root = root.parent
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if str(path.parent) not in sys.path and not package:
        sys.path.insert(0, str(path.parent))
    name = ".".join([*package, f"{path.stem}__version_{len(_VERSIONS) + 1}"])
    _VERSIONS[name] = ".".join([*package, path.stem])
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = ".".join(package)
    if package:
        __import__(module.__package__)
    sys.modules[name] = module
    module.__dict__.update(names)
    exec(compile(program, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def origin(definition: Any) -> str:
    """The module that a class or function stands in, the same for both versions."""
    module = str(getattr(definition, "__module__", ""))
    return _VERSIONS.get(module, module)


def _package(folder: Path) -> list[str]:
    """The dotted package of a folder, by its `__init__.py` files."""
    names: list[str] = []
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return names
