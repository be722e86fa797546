"""What the probes have seen: one line for each function and each new kind of call.

A line is written at once, so that it is there however the process ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from types import FrameType
from typing import Any

from .functions import Place
from .jitted import given_to_jit
from .values import Described, Values

_KINDS = 8  # of calls of one function that are kept
_FIRST = 64  # calls that are all looked at; then only the 128th, the 256th and so on


class _Function:
    """A function and what was seen of it."""

    __slots__ = ("calls", "kinds", "noted", "place", "traced")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.calls = 0
        self.traced = False
        self.noted = False
        self.kinds: dict[str, bool] = {}  # by key, whether all values are known


class Notes:
    """Takes what the probes see in this process.

    Args:
      parts: the folder for the lines of each process.
      values: the folder for arrays.
    """

    def __init__(self, parts: str, values: str) -> None:
        self.parts = parts
        self.values = Values(values)
        self.functions: list[_Function] = []
        self._busy = threading.local()
        self._lock = threading.Lock()
        self._process = 0
        self._file = -1
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def add(self, places: list[Place]) -> None:
        self.functions += map(_Function, places)

    def note(
        self, index: int, positional: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> None:
        """Notes a call; quick for a function that is called often, and never raises."""
        function = self.functions[index]
        function.calls = calls = function.calls + 1
        if calls > _FIRST and calls & (calls - 1):
            if function.traced or not _under_trace():
                return
        if getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            self._look(function, positional, named or {}, sys._getframe(1))
        except Exception:  # what cannot be noted is not noted, and the program goes on
            pass
        finally:
            self._busy.now = False

    def _look(
        self,
        function: _Function,
        positional: tuple[Any, ...],
        named: dict[str, Any],
        frame: FrameType,
    ) -> None:
        traced = _under_trace()
        with self._lock:
            if not function.noted or (traced and not function.traced):
                function.noted = True
                function.traced = function.traced or traced
                seen = {"traced": traced, "within": _within(frame), "why": function.place.why}
                self._write(function, seen)
            if function.place.why or len(function.kinds) >= _KINDS:
                return
            given = given_to_jit(frame) if traced else None
            own = frame.f_code.co_filename
            self._call(function, own, *(given or (positional, named)), jitted=given is not None)

    def _call(
        self,
        function: _Function,
        own: str,
        positional: tuple[Any, ...],
        named: dict[str, Any],
        *,
        jitted: bool,
    ) -> None:
        """Notes the arguments; those that jit was given were tracers in the function itself."""
        found = Described(own)
        names = function.place.parameters
        labels = [
            names[k] if k < len(names) else f"argument {k + 1}" for k in range(len(positional))
        ]
        nodes = [found.describe(v, n) for v, n in zip(positional, labels, strict=True)]
        keywords = {n: found.describe(v, n) for n, v in named.items()}
        place = (function.place.file, function.place.name)
        key = hashlib.sha256(repr((*place, found.signature())).encode()).hexdigest()[:8]
        if function.kinds.get(key) or (key in function.kinds and not found.is_known):
            return
        function.kinds[key] = found.is_known and not found.why
        if not found.why:
            found.save(self.values)
        call = {"key": key, "positional": nodes, "named": keywords, "why": found.why}
        self._write(function, {"call": call | {"x64": _is_x64(), "jitted": jitted}})

    def _forked(self) -> None:
        self._lock = threading.Lock()  # another thread may have held it

    def _write(self, function: _Function, content: dict[str, Any]) -> None:
        if self._process != os.getpid():  # a child that was forked has a file of its own
            self._process = os.getpid()
            name = os.path.join(self.parts, f"{self._process}-{os.urandom(4).hex()}.jsonl")
            self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        line = {"file": function.place.file, "function": function.place.name, **content}
        os.write(self._file, f"{json.dumps(line)}\n".encode())


def _within(frame: FrameType) -> bool:
    """Whether a function that is defined in another one runs while that one does."""
    outer = frame.f_code.co_qualname.rpartition(".<locals>.")[0]
    caller = frame.f_back if outer else None
    while caller is not None:
        if caller.f_code.co_qualname == outer:
            return caller.f_code.co_filename == frame.f_code.co_filename
        caller = caller.f_back
    return False


def _under_trace() -> bool:
    """Whether JAX traces something now."""
    core = sys.modules.get("jax._src.core")
    return core is not None and not core.trace_state_clean()


def _is_x64() -> bool:
    jax = sys.modules.get("jax")
    return bool(jax is not None and jax.config.jax_enable_x64)
