"""Operations that only move elements, done on the numbers of the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .graph import Array, Shape

Params = dict[str, Any]


def _slice(ids: list[Array], params: Params, shape: Shape) -> Array:
    starts, limits = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or (1,) * len(starts)
    return ids[0][tuple(map(slice, starts, limits, strides))]


def _reshape(ids: list[Array], params: Params, shape: Shape) -> Array:
    return np.reshape(ids[0], shape)


def _broadcast(ids: list[Array], params: Params, shape: Shape) -> Array:
    wide = [1] * len(shape)
    for axis, size in zip(params["broadcast_dimensions"], ids[0].shape, strict=True):
        wide[axis] = size
    return np.broadcast_to(ids[0].reshape(wide), shape)


def _transpose(ids: list[Array], params: Params, shape: Shape) -> Array:
    return np.transpose(ids[0], params["permutation"])


def _rev(ids: list[Array], params: Params, shape: Shape) -> Array:
    return np.flip(ids[0], params["dimensions"])


def _concatenate(ids: list[Array], params: Params, shape: Shape) -> Array:
    return np.concatenate(ids, params["dimension"])


def _stack(ids: list[Array], params: Params, shape: Shape) -> Array:
    return np.stack(ids, params["axis"])


def _split(ids: list[Array], params: Params, shape: Shape) -> list[Array]:
    ends = np.cumsum([int(s) for s in params["sizes"]])[:-1]
    return np.split(ids[0], ends, params["axis"])


def _pad(ids: list[Array], params: Params, shape: Shape) -> Array:
    """Low and high may be negative, which cuts; between neighbours there may be a gap."""
    inner = ids[0]
    for axis, (low, high, gap) in enumerate(params["padding_config"]):
        low, high, gap = int(low), int(high), int(gap)
        count = inner.shape[axis]
        spread = count + max(0, count - 1) * gap
        full = list(inner.shape)
        full[axis] = spread + max(low, 0) + max(high, 0)
        outer = np.full(full, ids[1].reshape(()), np.int64)
        at: list[slice] = [slice(None)] * inner.ndim
        at[axis] = slice(max(low, 0), max(low, 0) + spread, gap + 1)
        outer[tuple(at)] = inner
        at[axis] = slice(max(-low, 0), full[axis] - max(-high, 0))
        inner = outer[tuple(at)]
    return inner


def _same(ids: list[Array], params: Params, shape: Shape) -> list[Array]:
    return ids


Move = Callable[[list[Array], Params, Shape], Array | list[Array]]

MOVES: dict[str, Move] = {
    "slice": _slice,
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "rev": _rev,
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "pad": _pad,
}

# Operations whose results are their operands.
IDENTITIES = {"copy", "copy_p", "optimization_barrier", "stop_gradient", "pvary"}
