"""Are two results the same? Structure, shape, dtype, then values in ULPs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FEW_ULP = 4.0


@dataclass
class Difference:
    """The first difference, or none.

    Attributes:
      reason: what differs and where, empty when nothing does.
      max_ulp: the largest difference of floats.
      notes: what differs without being a difference (weak types).
    """

    reason: str = ""
    max_ulp: float = 0.0
    notes: str = ""


def compare(old: Any, new: Any, yardstick: Any = None, slack: float = FEW_ULP) -> Difference:
    """Compares two results leaf by leaf.

    Args:
      old, new: the results of the two versions.
      yardstick: the result of the old version in float64, if there is one: the new
        version may be a few times as far from it as the old one is.
      slack: ULPs that are always allowed.
    """
    old_leaves, old_tree = jax.tree_util.tree_flatten_with_path(old)
    new_leaves, new_tree = jax.tree_util.tree_flatten_with_path(new)
    if old_tree != new_tree:
        return Difference(f"structure {old_tree} became {new_tree}")
    exact = jax.tree.leaves(yardstick) if yardstick is not None else [None] * len(old_leaves)
    if len(exact) != len(old_leaves):
        exact = [None] * len(old_leaves)
    found = Difference()
    for (path, a), (_, b), e in zip(old_leaves, new_leaves, exact, strict=True):
        name = jax.tree_util.keystr(path) or "the result"
        reason, ulp, note = _leaf(a, b, e, slack)
        found.max_ulp = max(found.max_ulp, ulp)
        if note:
            found.notes = found.notes or f"{note} at {name}"
        if reason:
            found.reason = f"{reason} at {name}"
            return found
    return found


def _leaf(a: Any, b: Any, exact: Any, slack: float) -> tuple[str, float, str]:
    a, b = _data(a), _data(b)
    if not hasattr(a, "dtype") or not hasattr(b, "dtype"):
        same = type(a) is type(b) and (a == b or a is b)
        return ("" if same else f"{a!r} became {b!r}"), 0.0, ""
    if a.shape != b.shape:
        return f"shape {a.shape} became {b.shape}", 0.0, ""
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} became {b.dtype}", 0.0, ""
    weak = [bool(getattr(x, "weak_type", False)) for x in (a, b)]
    note = f"weak type {weak[0]} became {weak[1]}" if weak[0] != weak[1] else ""
    x, y = np.asarray(a), np.asarray(b)
    if not jnp.issubdtype(a.dtype, jnp.inexact):
        if np.array_equal(x, y):
            return "", 0.0, note
        return _where(x, y, x != y), 0.0, note
    reason, ulp = _floats(x, y, exact, slack)
    return reason, ulp, note


def _data(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return leaf


def _floats(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], exact: Any, slack: float) -> tuple[str, float]:
    """A reason, and the largest difference in ULPs of the array's own scale."""
    precision = float(jnp.finfo(x.dtype).eps)
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    a, b = x.astype(wide), y.astype(wide)
    odd = ~np.isfinite(a) | ~np.isfinite(b)
    same_odd = (a == b) | (np.isnan(a) & np.isnan(b))
    if np.any(odd & ~same_odd):
        return _where(x, y, odd & ~same_odd), float("inf")
    a, b = np.where(odd, 0, a), np.where(odd, 0, b)
    if a.size == 0:
        return "", 0.0
    scale = np.abs(a).max()
    unit = max(precision * scale, float(jnp.finfo(x.dtype).tiny))
    error = np.abs(a - b) / unit
    largest = float(error.max())
    if largest <= slack:
        return "", largest
    if exact is not None and np.shape(exact) == a.shape:
        truth = np.where(odd, 0, np.asarray(exact).astype(wide))
        old_error = float(np.nanmax(np.abs(a - truth)) / unit)
        new_error = float(np.nanmax(np.abs(b - truth)) / unit)
        if new_error <= 8 * old_error + slack:
            return "", largest
        return _where(x, y, error > slack), largest
    tolerance = {2: 16.0}.get(x.dtype.itemsize, 64.0)
    return ("" if largest <= tolerance else _where(x, y, error > slack)), largest


def _where(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], wrong: np.ndarray[Any, Any]) -> str:
    index = tuple(int(i) for i in np.argwhere(wrong)[0]) if np.ndim(wrong) else ()
    place = f" at index {list(index)}" if index else ""
    return f"values differ{place}: {x[index]} became {y[index]}"
