"""Operations that only move elements, done on the numbers of the elements.

A rule gives None where an operation is not plain, and it stays what it is. It is only asked
where it knows all parameters of the operation: one that it has not heard of may say anything,
such as the function that a scatter applies to what stands there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import places
from .graph import Array, Shape, Value
from .places import Params


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


def _unstack(ids: list[Array], params: Params, shape: Shape) -> list[Array]:
    return list(np.moveaxis(ids[0], params["axis"], 0))


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


Move = Callable[[list[Array], Params, Shape], Array | list[Array]]

_MOVES: dict[str, Move] = {
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
    "unstack": _unstack,
    "pad": _pad,
}


def _move(equation: Any, ins: list[Value]) -> list[Value] | None:
    name, params = equation.primitive.name, equation.params
    graph, shape = ins[0].graph, equation.outvars[0].aval.shape
    if name in ("reshape", "squeeze", "expand_dims") and ins[0].start is not None:
        return [Value(graph, shape, ins[0].start)]
    strides = params.get("strides")
    if name == "slice" and shape and not (strides and set(strides) != {1}):
        found = rows(ins[0], int(params["start_indices"][0]), shape)
        if found is not None:
            return [found]
    moved = _MOVES[name]([v.ids for v in ins], params, shape)
    return [graph.value(m) for m in (moved if isinstance(moved, list) else [moved])]


def rows(value: Value, first: int, shape: Shape) -> Value | None:
    """Some leading rows of a run are a run: nothing has to be written out."""
    if value.start is None or shape[1:] != value.shape[1:]:
        return None
    return Value(value.graph, shape, value.start + first * math.prod(shape[1:]))


def row(value: Value, index: int) -> Value:
    """One row of the leading axis."""
    if value.start is not None:
        shape = value.shape[1:]
        return Value(value.graph, shape, value.start + index * math.prod(shape))
    return value.graph.value(value.ids[index])


def _starts(equation: Any, ins: list[Value], first: int) -> list[int] | None:
    known = ins[0].graph.all_known(ins[first:], equation.invars[first:])
    return None if known is None else [int(k) for k in known]


def _dynamic_slice(equation: Any, ins: list[Value]) -> list[Value] | None:
    value, shape = ins[0], equation.outvars[0].aval.shape
    starts = _starts(equation, ins, 1)
    if starts is None:
        return None
    if shape:
        found = rows(value, min(max(starts[0], 0), value.shape[0] - shape[0]), shape)
        if found is not None:
            return [found]
    return [value.graph.value(places.dynamic_slice(value.ids, starts, equation.params))]


def _dynamic_update_slice(equation: Any, ins: list[Value]) -> list[Value] | None:
    starts = _starts(equation, ins, 2)
    if starts is None:
        return None
    return [ins[0].graph.value(places.dynamic_update_slice(ins[0].ids, ins[1].ids, starts))]


def _gather(equation: Any, ins: list[Value]) -> list[Value] | None:
    known = ins[0].graph.all_known(ins[1:2], equation.invars[1:2])
    if known is None:
        return None
    shape = equation.outvars[0].aval.shape
    found = places.gather(ins[0].ids, known[0], equation.params, shape)
    return None if found is None else [ins[0].graph.value(found)]


def _scatter(equation: Any, ins: list[Value]) -> list[Value] | None:
    known = ins[0].graph.all_known(ins[1:2], equation.invars[1:2])
    if known is None:
        return None
    update = np.broadcast_to(ins[2].ids, equation.invars[2].aval.shape)
    found = places.scatter(ins[0].ids, known[0], update, equation.params)
    return None if found is None else [ins[0].graph.value(found)]


def _identity(equation: Any, ins: list[Value]) -> list[Value] | None:
    return ins


# What each rule knows of its operation: parameters that it reads, or that say nothing of values.
# What is not here must be None or empty.
_KNOWN: dict[str, set[str]] = {
    "slice": {"start_indices", "limit_indices", "strides"},
    "reshape": {"new_sizes", "sharding"},
    "squeeze": {"dimensions"},
    "expand_dims": {"dimensions"},
    "broadcast_in_dim": {"shape", "broadcast_dimensions", "sharding"},
    "transpose": {"permutation"},
    "rev": {"dimensions"},
    "concatenate": {"dimension"},
    "stack": {"axis"},
    "split": {"sizes", "axis"},
    "unstack": {"axis"},
    "pad": {"padding_config"},
    "device_put": {"devices", "srcs", "copy_semantics"},
    "pvary": {"axes", "axis_index_groups"},
    "dynamic_slice": {"slice_sizes"},
    "gather": {
        "dimension_numbers",
        "slice_sizes",
        "indices_are_sorted",
        "unique_indices",
        "mode",  # no window that is known reaches beyond the array
        "fill_value",
    },
    "scatter": {"dimension_numbers", "indices_are_sorted", "unique_indices", "mode"},
}


def move(equation: Any, ins: list[Value]) -> list[Value] | None:
    """What an operation gives that only moves elements; None where it may do more."""
    name = equation.primitive.name
    rule = _RULES.get(name)
    known = _KNOWN.get(name, set())
    if rule is None or any(not _empty(v) for k, v in equation.params.items() if k not in known):
        return None
    return rule(equation, ins)


def _empty(value: Any) -> bool:
    return value is None or value == ()


_RULES: dict[str, Callable[[Any, list[Value]], list[Value] | None]] = {
    **dict.fromkeys(_MOVES, _move),
    **dict.fromkeys(
        ("copy", "copy_p", "device_put", "optimization_barrier", "stop_gradient", "pvary"),
        _identity,
    ),
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
}
