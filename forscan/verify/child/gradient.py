"""Gradients of both versions: the pullback of random cotangents to all float inputs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .call import is_float, widened
from .program import Program, Result


class NoGradient(Exception):
    """Nothing to differentiate, or the original cannot be differentiated."""


def pullback(program: Program, data: list[Any], *, eager: bool = False) -> Result:
    """The gradient with respect to the floats among the data.

    Args:
      program: the version.
      data: where to take the gradient.
      eager: operation by operation, where compiling would take too long.
    """
    places = [i for i, leaf in enumerate(data) if is_float(leaf)]
    if not places:
        raise NoGradient

    def outputs(floats: list[Any]) -> list[Any]:
        full = list(data)
        for place, value in zip(places, floats, strict=True):
            full[place] = value
        return [leaf for leaf in program.outputs(*full) if is_float(leaf)]

    def pulled(floats: list[Any]) -> list[Any]:
        values, back = jax.vjp(outputs, floats)
        if not values:
            raise NoGradient
        rng = np.random.default_rng(1)
        seeds = [jnp.asarray(rng.standard_normal(v.shape), v.dtype) for v in values]
        found: list[Any] = back(seeds)[0]
        return found

    floats = [jnp.asarray(data[p]) for p in places]
    if eager:
        with jax.disable_jit():
            return Result.of(pulled(floats))
    return Result.of(jax.block_until_ready(jax.jit(pulled)(floats)))


def wide_pullback(program: Program, data: list[Any], *, eager: bool) -> list[Any] | None:
    """The gradient in double precision, None where it cannot be had."""
    try:
        with jax.enable_x64(True):
            found = pullback(program, [widened(leaf) for leaf in data], eager=eager)
            return [np.asarray(leaf) for leaf in found.leaves]
    except Exception:
        return None
