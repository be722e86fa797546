"""Values without values: every element of every array has a number.

Two elements with the same number are the same number for every input. An array is a shape
and the numbers of its elements, so what only moves elements (slices, stacks, transposes,
updates at known places) is done on the numbers, and leaves no trace in them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

# Constants with more elements than this are looked at as a whole: what stands at one place
# of them is still known to be the same as what stands at that place of an equal constant.
_MANY = {"b": 1 << 17, "i": 1 << 17, "u": 1 << 17}
_MANY_OTHERS = 1 << 12


class Unproved(Exception):
    """Why equality was not shown; no verdict on the programs."""


class Value:
    """An array of numbered elements; a run of numbers is written out only when needed."""

    __slots__ = ("_ids", "content", "graph", "shape", "start")

    def __init__(
        self, graph: Graph, shape: Shape, start: int | None = None, ids: Array | None = None
    ) -> None:
        self.graph = graph
        self.shape = shape
        self.start = start
        self._ids = ids
        self.content: int | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ids(self) -> Array:
        """The number of each element."""
        if self._ids is None:
            assert self.start is not None
            self.graph.spend(elements=self.size)
            run = np.arange(self.start, self.start + self.size, dtype=np.int64)
            self._ids = run.reshape(self.shape)
        return self._ids


class Graph:
    """Gives out numbers: the same one for the same operation on the same elements.

    Constants have negative numbers, so that they are seen at a glance.

    Args:
      operations: how many may be looked at.
      elements: how many may be written out.
    """

    def __init__(self, operations: int, elements: int) -> None:
        self._operations = operations
        self._elements = elements
        self._next = 0
        self._starts: dict[Hashable, int] = {}
        self._keys: dict[Hashable, int] = {}
        self._scalars: dict[tuple[Hashable, ...], int] = {}
        self._constants: dict[tuple[str, bytes], int] = {}
        self._values: list[Any] = []
        self.operations = 0

    def spend(self, operations: int = 0, elements: int = 0) -> None:
        """Raises Unproved where more is asked for than is allowed."""
        self.operations += operations
        self._operations -= operations
        self._elements -= elements
        if self._operations < 0:
            raise Unproved("the programs have too many operations when unrolled")
        if self._elements < 0:
            raise Unproved("the arrays are too large")

    def affords(self, operations: int) -> None:
        """Raises Unproved where so many operations are too many, before they are tried."""
        if operations > self._operations:
            raise Unproved("the programs have too many operations when unrolled")

    def node(self, key: Hashable, shape: Shape) -> Value:
        """What is computed as a whole, under a name that says how."""
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._next
            self._next += max(1, math.prod(shape))
        return Value(self, shape, start)

    def scalar(self, key: tuple[Hashable, ...]) -> int:
        """What is computed for one element."""
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = self._next
            self._next += 1
        return found

    def value(self, ids: Array) -> Value:
        """An array of elements that have numbers already."""
        self.spend(elements=ids.size)
        return Value(self, ids.shape, None, ids)

    def intern(self, key: Hashable) -> int:
        """A small number that stands for a name."""
        return self._keys.setdefault(key, len(self._keys))

    def content(self, value: Value) -> int:
        """The same for two arrays of one shape just if all their elements are the same.

        Arrays that are the same all over have the content of that one element.
        """
        if value.content is None:
            value.content = self.intern(_content(value))
        return value.content

    def constant(self, array: Array) -> Value:
        """An array whose elements are known."""
        array = np.asarray(array)
        if array.size == 0:
            return Value(self, array.shape, None, np.zeros(array.shape, np.int64))
        if array.dtype.itemsize in (1, 2, 4, 8):
            bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
            if bits.size == 1 or bool((bits == bits[0]).all()):
                one = self.number(array.reshape(-1)[0])
                return Value(self, array.shape, None, np.broadcast_to(np.int64(one), array.shape))
            if bits.size <= _MANY.get(array.dtype.kind, _MANY_OTHERS):
                _, first, where = np.unique(bits, return_index=True, return_inverse=True)
                flat = array.reshape(-1)
                ids = np.array([self.number(flat[i]) for i in first], np.int64)
                return self.value(ids[where.reshape(-1)].reshape(array.shape))
        content = hashlib.blake2b(np.ascontiguousarray(array).tobytes()).digest()
        return self.node(("constant", str(array.dtype), array.shape, content), array.shape)

    def number(self, scalar: Any) -> int:
        """The number of a constant, which is a NumPy scalar."""
        key = (str(scalar.dtype), scalar.tobytes())
        found = self._constants.get(key)
        if found is None:
            self._values.append(scalar)
            found = self._constants[key] = -len(self._values)
        return found

    def known(self, value: Value, dtype: Any) -> Array | None:
        """The elements of a constant; None where one of them is not known."""
        if value.start is not None and value.size:
            return None
        ids = value.ids
        if ids.size == 0:
            return np.zeros(value.shape, dtype)
        if ids.size == 1:
            one = int(ids.reshape(-1)[0])
            return None if one >= 0 else np.full(value.shape, self._values[-one - 1], dtype)
        if int(ids.max()) >= 0:
            return None
        distinct, where = np.unique(ids, return_inverse=True)
        values = np.array([self._values[-one - 1] for one in distinct.tolist()], dtype)
        return values[where.reshape(-1)].reshape(value.shape)

    def all_known(self, values: Sequence[Value], atoms: Sequence[Any]) -> list[Array] | None:
        """The elements of constants; None where one of them is not known."""
        found = []
        for value, atom in zip(values, atoms, strict=True):
            array = self.known(value, atom.aval.dtype)
            if array is None:
                return None
            found.append(array)
        return found


def _content(value: Value) -> tuple[Hashable, ...]:
    """The elements, said in one way however the array came about."""
    if value.start is not None and value.size > 1:
        return ("run", value.start)
    flat = value.ids.reshape(-1)
    if flat.size == 0:
        return ("nothing",)
    first, last = int(flat[0]), int(flat[-1])
    if first == last and (flat.size == 1 or bool((flat == first).all())):
        return ("all", first)
    if last - first == flat.size - 1 and bool((np.diff(flat) == 1).all()):
        return ("run", first)
    return ("these", hashlib.blake2b(np.ascontiguousarray(flat).tobytes()).digest())
