"""Sameness of what is no array: each version has classes and functions of its own.

Each version is a module of its own, so `Point` of one is another class than `Point` of the
other. They are the same if they come from the same module under the same name.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import Any

import jax
import numpy as np

from .load import origin


def same_class(a: type, b: type) -> bool:
    """Whether two classes are one, of one version or of both."""
    return _same_definition(a, b)


def same_structure(old: Any, new: Any) -> bool:
    """Whether two tree structures are the same, node by node."""
    if _equal(old, new):
        return True
    mine, theirs = old.children(), new.children()
    same_node = len(mine) == len(theirs) and same_value(old.node_data(), new.node_data())
    return same_node and all(map(same_structure, mine, theirs))


def same_value(a: Any, b: Any) -> bool:  # noqa: C901
    """Whether two Python values are the same, whichever version made them."""
    if a is b:
        return True
    if isinstance(a, type) and isinstance(b, type):
        return _same_definition(a, b)
    if not _same_definition(type(a), type(b)):
        return False
    if isinstance(a, types.MethodType):
        return same_value(a.__func__, b.__func__) and same_value(a.__self__, b.__self__)
    if hasattr(a, "__qualname__"):  # a function, jitted or not
        return _same_definition(a, b)
    if isinstance(a, enum.Enum):
        return same_value(a.name, b.name)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_value(v, b[k]) for k, v in a.items())
    if isinstance(a, np.ndarray | jax.Array):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if type(a) is type(b):
        return _equal(a, b)
    parts = _parts(a), _parts(b)  # of a class of each version's own
    return None not in parts and same_value(*parts)


def _same_definition(a: Any, b: Any) -> bool:
    """Whether two classes or functions are one in the source."""
    if a is b:
        return True
    names = [(origin(x), x.__qualname__, _field_names(x)) for x in (a, b)]
    return names[0] == names[1]


def _field_names(definition: Any) -> tuple[str, ...]:
    fields = getattr(definition, "_fields", getattr(definition, "__dataclass_fields__", ()))
    return tuple(fields)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # of the user's own __eq__
        return False


def _parts(value: Any) -> dict[str, Any] | None:
    """The fields of an object, None where they are not to be seen."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
    return getattr(value, "__dict__", None)


@jax.tree_util.register_pytree_with_keys_class
class Record:
    """A dataclass that JAX would take for a leaf, with its fields open."""

    def __init__(self, kind: type, parts: dict[str, Any]) -> None:
        self.kind = kind
        self.parts = parts

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], tuple[type, tuple[str, ...]]]:
        keys = [(jax.tree_util.GetAttrKey(name), part) for name, part in self.parts.items()]
        return keys, (self.kind, tuple(self.parts))

    @classmethod
    def tree_unflatten(cls, shape: tuple[type, tuple[str, ...]], parts: Any) -> Record:
        return cls(shape[0], dict(zip(shape[1], parts, strict=True)))


def opened(value: Any) -> Any:
    """A value whose arrays JAX finds, those in plain dataclasses as well."""

    def open_leaf(leaf: Any) -> Any:
        is_open = dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)
        parts = _parts(leaf) if is_open else None
        return leaf if parts is None else Record(type(leaf), opened(parts))

    return jax.tree.map(open_leaf, value)
