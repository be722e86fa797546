"""Operations on constants, done where there is only one possible result.

Integers and booleans are exact: JAX wraps around as NumPy does. Floats are compared,
converted and computed with only where nothing is rounded and nothing is denormal: that is
the one result whatever a compiler does, and whether Python has computed it before.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from .graph import Array, Shape

_EXACT = "biu"
_FEW = 256  # elements that are looked at one by one


def fold(name: str, known: list[Array], params: dict[str, Any], dtype: Any) -> Array | None:
    """The result of an operation on known arrays; None where it is not sure.

    Args:
      name: of the primitive.
      known: its operands.
      params: its parameters.
      dtype: of the result.
    """
    if name == "convert_element_type":
        return _converted(known[0], dtype)
    exact = all(k.dtype.kind in _EXACT for k in known)
    if name in _COMPARISONS and (exact or all(map(_plain, known))):
        return np.asarray(_COMPARISONS[name](*known))
    if not exact:
        return _without_rounding(name, known, dtype)
    with np.errstate(all="ignore"):
        if name in _ARITHMETIC:
            return np.asarray(_ARITHMETIC[name](*known)).astype(dtype, copy=False)
        if name in _REDUCTIONS:
            axes = tuple(params["axes"])
            return np.asarray(_REDUCTIONS[name](known[0], axes)).astype(dtype, copy=False)
        if name in ("div", "rem") and np.all(known[1] != 0) and _no_overflow(known):
            return _divided(name, known, dtype)
        if name == "integer_pow" and 0 <= params["y"] < 128:
            power = np.power(known[0], known[0].dtype.type(params["y"]))
            return np.asarray(power, dtype)
        if name in _SHIFTS and _few_bits(known[0], known[1]):
            return np.asarray(_SHIFTS[name](*known), dtype)
    return None


def iota(params: dict[str, Any]) -> Array | None:
    """Counts along an axis; None where the type cannot hold all numbers."""
    shape, axis = tuple(params["shape"]), params["dimension"]
    along: Shape = tuple(shape[axis] if d == axis else 1 for d in range(len(shape)))
    numbers = np.arange(shape[axis])
    with np.errstate(all="ignore"):
        counted = numbers.astype(params["dtype"])
        if not np.array_equal(counted.astype(np.float64), numbers):
            return None
    return np.broadcast_to(counted.reshape(along), shape)


def overflows(array: Array, dtype: Any) -> bool:
    """Whether floats become integers that cannot hold them.

    What they become is not defined: NumPy, a compiler and the machine may each give another.
    """
    if not jnp.issubdtype(array.dtype, jnp.floating) or not jnp.issubdtype(dtype, jnp.integer):
        return False
    whole = np.trunc(array.astype(np.float64))
    limits = jnp.iinfo(dtype)
    return not bool(np.all((whole >= float(limits.min)) & (whole < float(limits.max) + 1)))


def _plain(array: Array) -> bool:
    """Floats that every machine compares alike."""
    if array.dtype.kind in _EXACT:
        return True
    if not jnp.issubdtype(array.dtype, jnp.floating):
        return False
    tiny = float(jnp.finfo(array.dtype).tiny)
    wide = array.astype(np.float64)
    return bool(np.all(np.isfinite(wide) & ((wide == 0) | (np.abs(wide) >= tiny))))


def _converted(array: Array, dtype: Any) -> Array | None:
    dtype = np.dtype(dtype)
    if array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        new = array.astype(dtype)
        if array.dtype.kind in _EXACT and dtype.kind in _EXACT:
            return new
        if not _plain(array) or not _plain(new):
            return None
        return new if new.astype(array.dtype).tobytes() == array.tobytes() else None


def _without_rounding(name: str, known: list[Array], dtype: Any) -> Array | None:
    """A sum, difference or product of floats that happens to be exact."""
    operation = _EXACTLY.get(name)
    size = max(k.size for k in known)
    if operation is None or size > _FEW or not all(map(_plain, known)):
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(_FLOATING[name](*known)).astype(dtype, copy=False)
    if not _plain(result):
        return None
    columns = [np.broadcast_to(k, result.shape).astype(np.float64).flat for k in (*known, result)]
    fine = all(
        operation(*map(Fraction, row[:-1])) == Fraction(row[-1])
        for row in zip(*columns, strict=True)
    )
    return result if fine else None


def _no_overflow(known: list[Array]) -> bool:
    a, b = known
    if a.dtype.kind != "i":
        return bool(a.dtype.kind == "u")
    return not bool(np.any((a == np.iinfo(a.dtype).min) & (b == -1)))


def _divided(name: str, known: list[Array], dtype: Any) -> Array:
    """Towards zero, as in C; the remainder has the sign of what is divided."""
    remainder = np.fmod(known[0], known[1])
    if name == "rem":
        return np.asarray(remainder).astype(dtype, copy=False)
    return np.asarray((known[0] - remainder) // known[1]).astype(dtype, copy=False)


def _few_bits(a: Array, count: Array) -> bool:
    return bool(np.all((count >= 0) & (count < a.dtype.itemsize * 8)))


def _shift_right_logical(a: Array, count: Array) -> Array:
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    shifted = np.right_shift(a.astype(unsigned), count.astype(unsigned))
    return np.asarray(shifted).astype(a.dtype)


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}
_FLOATING = {name: _ARITHMETIC[name] for name in ("add", "sub", "mul", "neg", "abs")}
_EXACTLY: dict[str, Callable[..., Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": abs,
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "reduce_sum": lambda a, axes: np.sum(a, axes, dtype=a.dtype),
    "reduce_max": lambda a, axes: np.max(a, axes),
    "reduce_min": lambda a, axes: np.min(a, axes),
    "reduce_and": lambda a, axes: np.bitwise_and.reduce(a, axes),
    "reduce_or": lambda a, axes: np.bitwise_or.reduce(a, axes),
}
_SHIFTS: dict[str, Callable[..., Any]] = {
    "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift,
    "shift_right_logical": _shift_right_logical,
}
