"""Reads and writes at places that are known: they move elements as well.

A place outside of the array means what the operation says it means: dynamic slices move
back inside, a gather or scatter clips or drops. What is not plain gives None, and the
operation stays what it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Array, Shape

Params = dict[str, Any]


def dynamic_slice(ids: Array, starts: list[int], params: Params) -> Array:
    sizes = [int(s) for s in params["slice_sizes"]]
    return ids[_window(ids.shape, starts, sizes)]


def dynamic_update_slice(ids: Array, update: Array, starts: list[int]) -> Array:
    out = np.array(ids)
    out[_window(ids.shape, starts, list(update.shape))] = update
    return out


def _window(shape: Shape, starts: list[int], sizes: list[int]) -> tuple[slice, ...]:
    found = []
    for whole, start, size in zip(shape, starts, sizes, strict=True):
        start = min(max(start, 0), whole - size)
        found.append(slice(start, start + size))
    return tuple(found)


def gather(ids: Array, indices: Array, params: Params, shape: Shape) -> Array | None:
    how = params["dimension_numbers"]
    sizes = [int(s) for s in params["slice_sizes"]]
    batching = tuple(how.operand_batching_dims)
    windowed = [d for d in range(ids.ndim) if d not in (*how.collapsed_slice_dims, *batching)]
    places = _places(
        ids.shape,
        indices,
        sizes,
        dict(zip(how.start_index_map, range(len(how.start_index_map)), strict=True)),
        dict(zip(batching, how.start_indices_batching_dims, strict=True)),
        dict(zip(windowed, how.offset_dims, strict=True)),
        shape,
    )
    inside = _inside(places, ids.shape)
    if not inside.all():
        return None
    return np.asarray(ids[tuple(np.broadcast_to(p, shape) for p in places.values)])


def scatter(ids: Array, indices: Array, update: Array, params: Params) -> Array | None:
    how = params["dimension_numbers"]
    batching = tuple(how.operand_batching_dims)
    windowed = [d for d in range(ids.ndim) if d not in (*how.inserted_window_dims, *batching)]
    window = dict(zip(windowed, how.update_window_dims, strict=True))
    sizes = [update.shape[window[d]] if d in window else 1 for d in range(ids.ndim)]
    places = _places(
        ids.shape,
        indices,
        sizes,
        {d: k for k, d in enumerate(how.scatter_dims_to_operand_dims)},
        dict(zip(batching, how.scatter_indices_batching_dims, strict=True)),
        window,
        update.shape,
    )
    if not _inside(places, ids.shape).all():
        return None
    at = tuple(np.broadcast_to(p, update.shape) for p in places.values)
    flat = np.ravel_multi_index(at, ids.shape) if ids.ndim else np.zeros(update.shape, np.int64)
    if np.unique(flat).size != flat.size:
        return None  # which of two writes to one place wins is not said
    out = np.array(ids).reshape(-1)
    out[flat.reshape(-1)] = update.reshape(-1)
    return out.reshape(ids.shape)


class _Places:
    """Where each element of a gather's result, or of a scatter's update, stands."""

    def __init__(self, values: list[Any], starts: list[Any], sizes: list[int]) -> None:
        self.values = values
        self.starts = starts
        self.sizes = sizes


def _places(
    whole: Shape,
    indices: Array,
    sizes: list[int],
    indexed: dict[int, int],
    batching: dict[int, int],
    window: dict[int, int],
    shape: Shape,
) -> _Places:
    """The place in each dimension of the operand, to be broadcast over the elements.

    Args:
      whole: the operand's shape.
      indices: its last axis holds the components of one start.
      sizes: of the window, in each dimension of the operand.
      indexed: operand dimension -> component of the start.
      batching: operand dimension -> axis of the indices that runs along.
      window: operand dimension -> axis of the elements that runs inside of the window.
      shape: of the elements.
    """
    outer = [axis for axis in range(len(shape)) if axis not in window.values()]

    def spread(array: Array, axes: list[int]) -> Array:
        full = [1] * len(shape)
        for axis, size in zip(axes, array.shape, strict=True):
            full[axis] = size
        return array.reshape(full)

    values, starts = [], []
    for dimension in range(len(whole)):
        start: Any = np.zeros((1,) * len(shape), np.int64)
        if dimension in indexed:
            start = spread(indices[..., indexed[dimension]].astype(np.int64), outer)
        elif dimension in batching:
            axis = batching[dimension]
            start = spread(np.arange(indices.shape[axis]), [outer[axis]])
        starts.append(start)
        offset: Any = 0
        if dimension in window:
            axis = window[dimension]
            offset = spread(np.arange(shape[axis]), [axis])
        values.append(start + offset)
    return _Places(values, starts, sizes)


def _inside(places: _Places, whole: Shape) -> Array:
    """Whether no window reaches beyond the array."""
    fine = [
        bool(np.all((start >= 0) & (start + size <= length)))
        for start, size, length in zip(places.starts, places.sizes, whole, strict=True)
    ]
    return np.array(fine, bool)
