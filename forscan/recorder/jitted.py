"""The values behind the tracers, where the function that is traced is what was jitted.

While `jit` traces, the call that made it do so stands further up the stack.
"""

from __future__ import annotations

import inspect
from types import FrameType
from typing import Any

_NEAR = 80  # frames


def given_to_jit(frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments that a jitted function was called with, None where that is not known.

    Args:
      frame: of the function, while it is traced.
    """
    outer = frame.f_back
    for _ in range(_NEAR):
        if outer is None:
            return None
        code = outer.f_code
        if code.co_name == "cache_miss" and code.co_filename.endswith("pjit.py"):
            return _bound(frame, outer.f_locals)
        outer = outer.f_back
    return None


def _bound(frame: FrameType, names: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    function = names.get("fun")
    if getattr(function, "__code__", None) is not frame.f_code or "args" not in names:
        return None
    bound = inspect.signature(function).bind(*names["args"], **names["kwargs"])
    bound.apply_defaults()
    owner = getattr(function, "__self__", None)
    first = () if owner is None or isinstance(owner, type) else (owner,)
    return (*first, *bound.args), bound.kwargs
