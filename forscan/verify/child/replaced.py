"""Whether the user's module has replaced something that verifying itself relies on.

Where `all` or `jax.jit` means something else than it did, a comparison may come to any result.
The methods of classes are not looked at: nobody who means to deceive can be kept from it in
one process.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any


class Replaced(Exception):
    """A module has replaced what verifying relies on."""


class Watch:
    """What functions and classes the modules of this package, and those that they use, hold."""

    def __init__(self) -> None:
        ours = [m for name, m in sys.modules.items() if name.startswith(f"{__package__}.")]
        self._names = {name for module in ours for name in _names_in(module)}
        used = {builtins, *ours}
        for module in ours:
            used.update(v for v in vars(module).values() if isinstance(v, ModuleType))
        for module in list(used):
            used.update(v for _, v in self._held(module) if isinstance(v, ModuleType))
        self._known = {m: {n: v for n, v in self._held(m) if callable(v)} for m in used}

    def _held(self, module: ModuleType) -> Iterator[tuple[str, Any]]:
        return ((n, v) for n, v in list(vars(module).items()) if n in self._names)

    def replaced(self) -> str:
        """What was replaced since, in one line; empty where nothing was."""
        for module, known in self._known.items():
            now = vars(module)
            for name, value in known.items():
                if now.get(name) is not value:
                    what = f"{module.__name__}.{name}".removeprefix("builtins.")
                    return f"the module replaces {what}, which verifying relies on"
        return ""

    def check(self) -> None:
        """Raises Replaced where something was."""
        found = self.replaced()
        if found:
            raise Replaced(found)


def _names_in(module: ModuleType) -> Iterator[str]:
    """The names that the functions of a module use, its own functions and classes included."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) == module.__name__:
            yield name
            functions = vars(value).values() if isinstance(value, type) else (value,)
            for function in functions:
                function = getattr(function, "fget", getattr(function, "func", function))
                if isinstance(function, FunctionType):
                    yield from _names_of(function.__code__)


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_of(inner)
