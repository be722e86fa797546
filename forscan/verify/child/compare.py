"""Are two results the same? Structure, type, shape, then values in ULPs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .program import Result
from .same import same_structure, same_value

Array = np.ndarray[Any, Any]
Yardstick = Callable[[], list[Any] | None]

FEW_ULP = 4.0
# Where there is no yardstick: what reordering a sum may cost.
_TOLERANCE = {1: 1.0, 2: 16.0}
_TOLERANCE_WIDE = 64.0
# The new version may be so many times as far from the exact result as the old one is.
_WORSE = 8.0


@dataclass
class Difference:
    """The first difference, or none.

    Attributes:
      reason: what differs and where, empty when nothing does.
      max_ulp: the largest difference of floats, in ULPs of the array's own scale.
    """

    reason: str = ""
    max_ulp: float = 0.0


def compare(old: Result, new: Result, yardstick: Yardstick, slack: float = FEW_ULP) -> Difference:
    """Compares two results leaf by leaf.

    Args:
      old, new: the results of the two versions.
      yardstick: gives the leaves of the old result in double precision; asked only where
        the results differ by more than the slack.
      slack: ULPs that are always allowed.
    """
    if not same_structure(old.tree, new.tree):
        return Difference(f"structure {old.tree} became {new.tree}")
    found = Difference()
    for index, (name, a, b) in enumerate(zip(old.names, old.leaves, new.leaves, strict=True)):

        def exact(index: int = index) -> Any:
            leaves = yardstick()
            return leaves[index] if leaves and len(leaves) == len(old.leaves) else None

        reason, ulp = _leaf(a, b, exact, slack)
        found.max_ulp = max(found.max_ulp, ulp)
        if reason:
            found.reason = f"{reason} at {name}"
            return found
    return found


def retyped(old: Result, new: Result) -> str:
    """Which arrays of a result are weakly typed in one version only; empty where none is.

    The numbers are the same. What they become where they meet half precision need not be.
    """
    found: dict[str, list[str]] = {"weakly": [], "strongly": []}
    for name, a, b in zip(old.names, old.leaves, new.leaves, strict=True):
        before, now = (bool(getattr(leaf, "weak_type", False)) for leaf in (a, b))
        if before != now:
            found["weakly" if now else "strongly"].append(name)
    return "; ".join(
        f"now {how} typed: {', '.join(names)}" for how, names in found.items() if names
    )


def _leaf(a: Any, b: Any, exact: Callable[[], Any], slack: float) -> tuple[str, float]:
    a, b = _data(a), _data(b)
    if not hasattr(a, "dtype") or not hasattr(b, "dtype"):
        return "" if same_value(a, b) else f"{_shown(a)} became {_shown(b)}", 0.0
    if a.shape != b.shape:
        return f"shape {a.shape} became {b.shape}", 0.0
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} became {b.dtype}", 0.0
    x, y = np.asarray(a), np.asarray(b)
    if not jnp.issubdtype(a.dtype, jnp.inexact):
        return ("", 0.0) if np.array_equal(x, y) else (_where(x, y, x != y), 0.0)
    return _floats(x, y, exact, slack)


def _shown(leaf: Any) -> str:
    return f"an array {leaf.dtype}{list(leaf.shape)}" if hasattr(leaf, "dtype") else repr(leaf)


def _data(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return leaf


def _floats(x: Array, y: Array, exact: Callable[[], Any], slack: float) -> tuple[str, float]:
    """A reason, and the largest difference in ULPs of the array's own scale."""
    info = jnp.finfo(x.dtype)
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    a, b = x.astype(wide), y.astype(wide)
    odd = ~np.isfinite(a) | ~np.isfinite(b)
    same_odd = (a == b) | (np.isnan(a) & np.isnan(b))
    if np.any(odd & ~same_odd):
        return _where(x, y, odd & ~same_odd), float("inf")
    if a.size == 0:
        return "", 0.0
    a, b = np.where(odd, 0, a), np.where(odd, 0, b)
    unit = max(float(info.eps) * np.abs(a).max(), float(info.tiny))
    if x.dtype.itemsize == 1:  # a few of such units are most of the number
        slack = 1.0
    error = np.abs(a - b) / unit
    largest = float(error.max())
    if largest <= slack:
        return "", largest
    truth = exact()
    if truth is not None and np.shape(truth) == a.shape:
        truth = np.where(odd, 0, np.asarray(truth).astype(wide))
        old_error = float(np.nanmax(np.abs(a - truth)) / unit)
        new_error = float(np.nanmax(np.abs(b - truth)) / unit)
        fine = new_error <= _WORSE * old_error + slack
    else:
        fine = largest <= _TOLERANCE.get(x.dtype.itemsize, _TOLERANCE_WIDE)
    return "" if fine else _where(x, y, error > slack), largest


def _where(x: Array, y: Array, wrong: Array) -> str:
    index = tuple(int(i) for i in np.argwhere(wrong)[0]) if np.ndim(wrong) else ()
    place = f" at index {list(index)}" if index else ""
    return f"values differ{place}: {x[index]} became {y[index]}"
