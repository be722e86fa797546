"""A small input for which two versions still differ: short axes, few trips, plain numbers."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .call import Call, is_data, is_float
from .compare import compare
from .program import Result

_BUDGET = 20.0  # seconds
_SIZES = (1, 2, 3)
_SHORT = 16  # from here on one at a time
_SHOWN = 6  # numbers of an array that are written out

Leaves = list[Any]


def smallest(old: Call, new: Call, data: Leaves, until: float) -> str:
    """The arguments of the smallest call found on which two versions differ, in words.

    Args:
      data: in place of the data of the calls.
      until: no later than this, by `time.monotonic`.

    Returns:
      such as `x = float32[1] of zeros, steps = 2`; empty where none was found.
    """
    until = min(until, time.monotonic() + _BUDGET)
    leaves = _with_data(old, data)
    if not _differs(old, new, leaves):
        return ""
    for step in (_shorter, _plainer):
        changed = True
        while changed and time.monotonic() < until:
            changed = False
            for candidate in step(leaves):
                if time.monotonic() > until:
                    break
                if _differs(old, new, candidate):
                    leaves, changed = candidate, True
                    break
    return _described(old, leaves)


def _with_data(call: Call, data: Leaves) -> Leaves:
    """All leaves of a call with other data among them."""
    leaves = jax.tree.leaves((call.args, call.kwargs))
    for place, leaf in zip(call.data_places(), data, strict=True):
        leaves[place] = leaf
    return leaves


def _differs(old: Call, new: Call, leaves: Leaves) -> bool:
    """Whether both versions differ there; not where the original raises."""
    with jax.disable_jit():
        try:
            want = _result(old, leaves)
        except Exception:
            return False
        try:
            have = _result(new, leaves)
        except Exception:
            return True
        return bool(compare(want, have, lambda: None).reason)


def _result(call: Call, leaves: Leaves) -> Result:
    own, tree = jax.tree.flatten((call.args, call.kwargs))
    # What is no number is of each version's own, as a class of its module is.
    full = [leaf if _is_number(leaf) else mine for leaf, mine in zip(leaves, own, strict=True)]
    args, kwargs = jax.tree.unflatten(tree, full)
    return Result.of(call.function(*args, **kwargs))


def _is_number(leaf: Any) -> bool:
    return is_data(leaf) or type(leaf) is int


def _shorter(leaves: Leaves) -> Iterator[Leaves]:
    """Every axis and integer of one size made smaller together, as they belong together."""
    sizes = {n for leaf in leaves if hasattr(leaf, "shape") for n in leaf.shape}
    sizes |= {leaf for leaf in leaves if type(leaf) is int}
    for size in sorted(sizes):
        for other in sorted({*_SIZES, size // 2, size - 1 if size <= _SHORT else 0}):
            if 0 < other < size:
                yield [_cut(leaf, size, other) for leaf in leaves]


def _cut(leaf: Any, size: int, other: int) -> Any:
    if type(leaf) is int:
        return other if leaf == size else leaf
    if not hasattr(leaf, "shape") or size not in leaf.shape:
        return leaf
    return leaf[tuple(slice(other) if n == size else slice(None) for n in leaf.shape)]


def _plainer(leaves: Leaves) -> Iterator[Leaves]:
    """One leaf at a time of zeros, of ones, or rounded, unless it is as plain already."""
    makers: list[Callable[[Any], Any]] = [np.zeros_like, np.ones_like, np.round]
    for place, leaf in enumerate(leaves):
        if not is_float(leaf):
            continue
        plain = np.asarray(leaf).astype(np.float64)
        for make in makers:
            made = make(plain)
            if np.array_equal(made, plain):
                break  # what follows is less plain
            new = float(made) if isinstance(leaf, float) else jnp.asarray(made, leaf.dtype)
            yield [*leaves[:place], new, *leaves[place + 1 :]]


def _described(call: Call, leaves: Leaves) -> str:
    _, tree = jax.tree.flatten((call.args, call.kwargs))
    args, kwargs = jax.tree.unflatten(tree, leaves)
    names = {f"argument {k + 1}": value for k, value in enumerate(args)} | kwargs
    with contextlib.suppress(TypeError, ValueError):  # of what has no signature
        names = dict(inspect.signature(call.function).bind(*args, **kwargs).arguments)
    return ", ".join(
        f"{name}{jax.tree_util.keystr(path)} = {_shown(leaf)}"
        for name, value in names.items()
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]
        if _is_number(leaf)
    )


def _shown(leaf: Any) -> str:
    if not hasattr(leaf, "dtype"):
        return repr(leaf)
    kind = f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return kind
    array = np.asarray(leaf)
    for value, name in ((0, "zeros"), (1, "ones")):
        if array.size and np.all(array == value):
            return f"{kind} of {name}"
    return f"{kind} {array.tolist()}" if array.size <= _SHOWN else kind
