"""Values as plain data: types always, contents up to a size, and nothing pickled.

Of objects only those are noted that can be made again from the name of their class and
the values of their fields: named tuples, dataclasses and members of enumerations.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import os
import sys
from typing import Any

_MOST_BYTES = 1 << 20  # of one array whose values are kept
_MOST_IN_ALL = 1 << 26  # of all arrays of a process
_MOST_TEXT = 10_000
_MOST_NODES = 10_000
# Where functions are that are known by another name than that of the module they stand in.
_SHORT = ("jax.numpy", "jax.nn", "jax.lax", "jax", "numpy")

Node = dict[str, Any]


class Values:
    """A folder of arrays, each under a name that is made from its content."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.left = _MOST_IN_ALL

    def save(self, array: Any) -> str | None:
        """The name of the file, None where there is no room."""
        import numpy as np

        kept = np.ascontiguousarray(array).reshape(array.shape)
        text = f"{kept.dtype.str} {kept.shape}".encode()
        name = f"{hashlib.sha256(text + kept.tobytes()).hexdigest()[:32]}.npy"
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            if kept.nbytes > self.left:
                return None
            self.left -= kept.nbytes
            part = f"{path}.{os.getpid()}"
            with open(part, "wb") as file:
                np.save(file, kept, allow_pickle=False)
            os.replace(part, path)
        return name


class Described:
    """The description of the arguments of one call.

    Args:
      own: the file that the function stands in.

    Attributes:
      why: why the call cannot be made again, empty where it can.
      is_known: whether all values are there, or will be once they are saved.
    """

    def __init__(self, own: str) -> None:
        self.own = os.path.realpath(own)
        self.why = ""
        self.is_known = True
        self._arrays: list[tuple[Node, Any]] = []
        self._types: list[str] = []

    def signature(self) -> str:
        """All that tells one kind of call from another: types, integers, texts."""
        return "\n".join(self._types)

    def save(self, values: Values) -> None:
        """Saves the arrays of a call that is kept."""
        for node, array in self._arrays:
            try:
                data = _data(array)
                node["value"] = values.save(data) if data.nbytes <= _MOST_BYTES else None
            except Exception:  # deleted, or spread over several machines
                node["value"] = None

    def describe(self, value: Any, name: str) -> Node:
        """The value as plain data.

        Args:
          name: where it stands, for what is said about it.
        """
        if len(self._types) > _MOST_NODES:
            return self._opaque(value, name, "more values than are noted")
        node = _simple(value) or self._array(value) or self._container(value, name)
        if node is None:
            node = self._object(value, name)
        if "items" not in node:
            shown = node if node["kind"] not in ("float", "complex") else {"kind": node["kind"]}
            self._types.append(repr({k: v for k, v in shown.items() if k != "of"}))
        return node

    def _opaque(self, value: Any, name: str, what: str) -> Node:
        self.why = self.why or f"{name} is {what}"
        return {"kind": "opaque", "type": type(value).__qualname__}

    def _array(self, value: Any) -> Node | None:
        """The node of an array or a tracer; its content is taken when it is saved."""
        jax, np = sys.modules.get("jax"), sys.modules.get("numpy")
        if np is not None and isinstance(value, (np.ndarray, np.generic)):
            if value.dtype.hasobject or value.dtype.fields:
                return None
            of = "numpy" if isinstance(value, np.ndarray) else "scalar"
        elif jax is not None and isinstance(value, jax.Array):
            of = "jax"
        else:
            return None
        node: Node = {"kind": "array", "of": of, "dtype": str(value.dtype)}
        node |= {"shape": [*value.shape], "weak": bool(getattr(value, "weak_type", False))}
        if jax is not None and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            node |= {"kind": "key", "dtype": value.dtype._impl.name}
        if jax is not None and isinstance(value, jax.core.Tracer):
            self.is_known = False
        else:
            self._arrays.append((node, value))
        return node

    def _container(self, value: Any, name: str) -> Node | None:
        kind = type(value)
        if kind is dict:
            self._types.append(f"dict {len(value)}")
            pairs = [
                [self.describe(k, f"a key of {name}"), self.describe(v, f"{name}[{k!r}]")]
                for k, v in value.items()
            ]
            return {"kind": "dict", "items": pairs}
        if kind in (tuple, list):
            self._types.append(f"{kind.__name__} {len(value)}")
            return {"kind": kind.__name__, "items": self._items(value, name)}
        if isinstance(value, tuple) and hasattr(kind, "_fields") and self._class(value):
            self._types.append(f"{kind.__qualname__} {len(value)}")
            items = [
                self.describe(v, f"{name}.{f}") for f, v in zip(kind._fields, value, strict=True)
            ]
            return {"kind": "namedtuple", "class": self._class(value), "items": items}
        return None

    def _items(self, value: Any, name: str) -> list[Node]:
        return [self.describe(v, f"{name}[{k}]") for k, v in enumerate(value)]

    def _object(self, value: Any, name: str) -> Node:
        kind = type(value)
        if isinstance(value, enum.Enum) and self._class(value):
            return {"kind": "enum", "class": self._class(value), "name": value.name}
        if callable(value) and not dataclasses.is_dataclass(value):
            reference = self._reference(value)
            if reference is not None:
                return {"kind": "global", "class": reference}
            return self._opaque(value, name, "a function made at run time")
        if dataclasses.is_dataclass(value) and self._class(value):
            fields = [f.name for f in dataclasses.fields(value)]
            parts = {f: getattr(value, f) for f in fields if hasattr(value, f)}
            if {*getattr(value, "__dict__", {})} <= {*fields}:
                self._types.append(f"{kind.__qualname__} {[*parts]}")
                items = [[f, self.describe(v, f"{name}.{f}")] for f, v in parts.items()]
                return {"kind": "dataclass", "class": self._class(value), "items": items}
        article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
        return self._opaque(value, name, f"{article} {kind.__name__}, which cannot be made again")

    def _class(self, value: Any) -> list[str] | None:
        return self._reference(type(value))

    def _reference(self, definition: Any) -> list[str] | None:
        """Module and name of a class or function that is found there; "" for its own file."""
        module = getattr(definition, "__module__", None)
        name = getattr(definition, "__qualname__", getattr(definition, "__name__", None))
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        for place in (module, *_SHORT):
            if place in sys.modules and _found(sys.modules[place], name) is definition:
                file = getattr(sys.modules[place], "__file__", None)
                return ["" if file and os.path.realpath(file) == self.own else place, name]
        return None


def _simple(value: Any) -> Node | None:
    """The node of a plain Python value."""
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return {"kind": "plain", "value": value, "type": kind.__name__}
    if kind is str and len(value) <= _MOST_TEXT:
        return {"kind": "plain", "value": value, "type": "str"}
    if kind is float:
        return {"kind": "float", "value": value.hex()}
    if kind is complex:
        return {"kind": "complex", "value": [value.real.hex(), value.imag.hex()]}
    if kind is range:
        return {"kind": "range", "value": [value.start, value.stop, value.step]}
    np = sys.modules.get("numpy")
    if np is not None and isinstance(value, np.dtype):
        return {"kind": "dtype", "value": str(value)}
    return None


def _data(array: Any) -> Any:
    """An array as one that can be saved without pickling: keys and small floats as integers."""
    import numpy as np

    jax = sys.modules.get("jax")
    if jax is not None and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    data = np.asarray(array)
    if data.dtype.kind == "V" or data.dtype.num >= 256:
        return data.view(f"u{data.dtype.itemsize}")  # bfloat16, float8: numpy has no name for them
    return data


def _found(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module
