"""The arguments of a recorded call, made again from plain data; nothing is unpickled.

What the program had only as tracers, or what was too large to keep, is invented: positive
numbers, so that logarithms and divisions stay finite, and small integers.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FOLDER = ".forscan"
_FILE = re.compile(r"[0-9a-f]{32}\.npy")
Node = dict[str, Any]


class Arguments(tuple[Any, ...]):
    """The positional arguments of a call.

    Attributes:
      named: the others.
      jitted: whether the caller gave them to `jit`: the function itself saw tracers.
    """

    named: dict[str, Any]
    jitted: bool


def recorded(module: types.ModuleType, key: str) -> Arguments:
    """The arguments of the call that was recorded under a key.

    Args:
      module: a version of a file of the project; its classes stand for those recorded.

    Raises:
      ValueError: there is no such call, or it cannot be made again.
    """
    path = Path(module.__file__ or "").resolve()
    for folder in path.parents:
        file = folder / FOLDER / "recording.json"
        if file.is_file():
            break
    else:
        raise ValueError(f"nothing is recorded for {path.name}")
    name = path.relative_to(folder).as_posix()
    functions = json.loads(file.read_text())["files"].get(name, {})
    found = [c for f in functions.values() for c in f["calls"] if c["key"] == key]
    if not found or found[0]["why"]:
        raise ValueError(f"no call {key!r} is recorded for {name}")
    if found[0]["x64"]:
        jax.config.update("jax_enable_x64", True)
    again = _Again(module, file.with_name("values"))
    arguments = Arguments(map(again.make, found[0]["positional"]))
    arguments.jitted = found[0].get("jitted", False)
    arguments.named = {n: again.make(node) for n, node in found[0]["named"].items()}
    return arguments


def _weak(data: Any) -> Any:
    """A weakly typed array; JAX has no public way to make one of given numbers."""
    convert = import_module("jax._src.lax.lax")._convert_element_type
    return convert(jnp.asarray(data), data.dtype, weak_type=True)


class _Again:
    """Makes values from their descriptions."""

    def __init__(self, module: types.ModuleType, values: Path) -> None:
        self.module = module
        self.values = values
        self.invent = np.random.default_rng(0)

    def make(self, node: Node) -> Any:
        makers: dict[str, Callable[[], Any]] = {
            "plain": lambda: node["value"],
            "float": lambda: float.fromhex(node["value"]),
            "complex": lambda: complex(*map(float.fromhex, node["value"])),
            "range": lambda: range(*node["value"]),
            "dtype": lambda: jnp.dtype(node["value"]),
            "array": partial(self._array, node),
            "key": partial(self._key, node),
            "dict": lambda: {self.make(k): self.make(v) for k, v in node["items"]},
            "list": lambda: [*map(self.make, node["items"])],
            "tuple": lambda: (*map(self.make, node["items"]),),
            "namedtuple": partial(self._named_tuple, node),
            "dataclass": partial(self._dataclass, node),
            "enum": lambda: self._definition(node)[node["name"]],
            "global": lambda: self._definition(node),
        }
        return makers[node["kind"]]()

    def _array(self, node: Node) -> Any:
        kind, shape = jnp.dtype(node["dtype"]), tuple(node["shape"])
        data = self._load(node)
        if data is None:
            data = self._invented(kind, shape)
        elif data.dtype != kind:  # what numpy has no name for was kept as integers
            data = data.view(kind)
        if node["of"] != "jax":
            return data[()] if node["of"] == "scalar" else data
        return _weak(data) if node["weak"] else jnp.asarray(data)

    def _key(self, node: Node) -> Any:
        data = self._load(node)
        if data is not None:
            return jax.random.wrap_key_data(data, impl=node["dtype"])
        key = jax.random.key(0, impl=node["dtype"])
        return jax.random.split(key, tuple(node["shape"])) if node["shape"] else key

    def _load(self, node: Node) -> Any:
        name = node.get("value")
        if not name or _FILE.fullmatch(name) is None:
            return None
        return np.load(self.values / name, allow_pickle=False)

    def _invented(self, kind: Any, shape: tuple[int, ...]) -> Any:
        if jnp.issubdtype(kind, jnp.inexact):
            return self.invent.uniform(0.1, 1.0, shape).astype(kind)
        return np.asarray(self.invent.integers(0, 2, shape)).astype(kind)

    def _definition(self, node: Node) -> Any:
        """A class or function of this module, or of one that it has imported."""
        place, name = node["class"]
        found: Any = sys.modules.get(place) if place else self.module
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None:
            raise ValueError(f"{place or self.module.__name__} has no {name} any more")
        return found

    def _named_tuple(self, node: Node) -> Any:
        return self._definition(node)._make(map(self.make, node["items"]))

    def _dataclass(self, node: Node) -> Any:
        """The object with its fields, without running what the class does to make one."""
        made = object.__new__(self._definition(node))
        for name, part in node["items"]:
            object.__setattr__(made, name, self.make(part))
        return made
