"""The parameters of an operation as something that can be compared."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from typing import Any

import jax
import numpy as np

_PLAIN = (int, str, bytes, type(None), np.dtype, type, enum.Enum)


class Freezer:
    """Freezes parameters; functions among them by their meaning.

    Args:
      meaning: of a jaxpr.
    """

    def __init__(self, meaning: Callable[[Any], Hashable]) -> None:
        self.meaning = meaning
        self._held: list[Any] = []  # what is known by its identity stays alive

    def freeze(self, value: Any) -> Hashable:
        if hasattr(value, "eqns"):
            return self.meaning(value)
        if isinstance(value, dict):
            items = sorted(value.items(), key=lambda item: str(item[0]))
            return ("dict", *((str(k), self.freeze(v)) for k, v in items))
        if isinstance(value, tuple | list):
            return (type(value).__name__, *map(self.freeze, value))
        if isinstance(value, float | complex):  # 0.0 is not -0.0
            return (type(value).__name__, repr(value))
        if isinstance(value, np.ndarray | np.generic | jax.Array):
            array = np.asarray(value)
            return ("array", str(array.dtype), array.shape, array.tobytes())
        if not isinstance(value, _PLAIN):
            self._held.append(value)
        try:
            hash(value)
        except TypeError:
            return ("object", id(value))
        return (type(value).__name__, value)
