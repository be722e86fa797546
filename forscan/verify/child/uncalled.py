"""Functions that a call gives back: their names are the same, but what they do nobody has seen."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import Any

from .program import Result


def uncalled(old: Result, new: Result) -> str:
    """The first function in two results of one structure that has other code in each.

    Returns:
      its name, empty where there is none.
    """
    parts = zip(_python_parts(old), _python_parts(new), strict=True)
    pairs = ((_code(a), _code(b)) for a, b in parts)
    changed = (a.co_name for a, b in pairs if a and b and not _same_code(a, b))
    return next(changed, "")


def _python_parts(result: Result) -> Iterator[Any]:
    """The leaves, and what the nodes above them hold besides."""
    yield from result.leaves
    work = [result.tree]
    while work:
        tree = work.pop()
        held = (tree.node_data() or (None, ()))[1]
        yield from held if isinstance(held, tuple) else (held,)
        work.extend(tree.children())


def _code(value: Any) -> CodeType | None:
    """What a function runs; a jitted one, a method and a partial hold it further inside."""
    while not hasattr(value, "__code__"):
        if isinstance(value, functools.partial):
            value = value.func
        elif hasattr(value, "__wrapped__") or hasattr(value, "__func__"):
            value = getattr(value, "__wrapped__", None) or value.__func__
        else:
            return None
    code = value.__code__
    return code if isinstance(code, CodeType) else None


def _same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two functions are one but for the lines that they stand on."""
    if a.co_code != b.co_code or len(a.co_consts) != len(b.co_consts):
        return False
    if (a.co_names, a.co_varnames, a.co_freevars) != (b.co_names, b.co_varnames, b.co_freevars):
        return False
    return all(map(_same_constant, a.co_consts, b.co_consts))


def _same_constant(a: Any, b: Any) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return _same_code(a, b)
    return repr(a) == repr(b)
