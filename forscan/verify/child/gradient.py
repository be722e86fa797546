"""Gradients of both versions: the pullback of random cotangents to all float inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .call import double_precision, is_float, widened
from .compare import compare
from .errors import line
from .evaluate import evaluate
from .program import Program, Result

_SLACK = 64.0  # ULPs that are always allowed


class NoGradient(Exception):
    """Nothing to differentiate, or the original cannot be differentiated."""


def pullback(program: Program, data: list[Any], *, eager: bool = False) -> Result:
    """The gradient with respect to the floats among the data.

    Args:
      program: the version.
      data: where to take the gradient.
      eager: operation by operation, where compiling would take too long.
    """
    floats, outputs = of_floats(program, data)
    rng = np.random.default_rng(1)

    def pulled(floats: list[Any]) -> list[Any]:
        values, back = jax.vjp(outputs, floats)
        if not values:
            raise NoGradient
        seeds = [jnp.asarray(rng.standard_normal(v.shape), v.dtype) for v in values]
        found: list[Any] = back(seeds)[0]
        return found

    if eager:
        return _strong(evaluate(jax.make_jaxpr(pulled)(floats), floats))
    return _strong(jax.jit(pulled)(floats))


def compared(
    old: Program, new: Program, stage: Callable[[str], None], *, slow: bool
) -> tuple[str, str]:
    """The verdict on the gradients of two versions, and a reason where it is not plain.

    Args:
      stage: is told what goes on.
      slow: whether the original takes too long to compile.
    """

    @lru_cache(None)
    def yardstick() -> list[Any] | None:
        return wide_pullback(old, old.data, eager=slow)

    stage("differentiating the original")
    try:
        want = pullback(old, old.data, eager=slow)
    except NoGradient:
        return "none", ""
    except Exception:
        return "none", "the original cannot be differentiated in reverse"
    stage("differentiating the new version")
    try:
        have = pullback(new, new.data, eager=new.estimate is not None)
    except Exception as e:
        return "different", f"the gradient of the new version raises {line(e)}"
    found = compare(want, have, yardstick, _SLACK)
    if not found.reason:
        return "equal", ""
    if slow or new.estimate is not None:
        # Operation by operation the original rounds in other places than under jit.
        return "unknown", f"gradient not sure: {found.reason}"
    return "different", f"gradient: {found.reason}"


def _strong(found: list[Any]) -> Result:
    """Gradients without weak types: which of them are weak is for JAX to say, in each version."""
    return Result.of([np.asarray(leaf) for leaf in found])


def traced_pullback(program: Program, data: list[Any]) -> Any:
    """The program of the gradient, a closed jaxpr: floats and any cotangents in."""
    floats, outputs = of_floats(program, data)
    shapes = jax.eval_shape(outputs, floats)
    if not shapes:
        raise NoGradient

    def pulled(floats: list[Any], seeds: list[Any]) -> Any:
        return jax.vjp(outputs, floats)[1](seeds)[0]

    return jax.make_jaxpr(pulled)(floats, [jnp.zeros(s.shape, s.dtype) for s in shapes])


def with_gradient(call: Callable[[list[Any]], Any], data: list[Any]) -> Callable[[list[Any]], Any]:
    """The call together with the gradient of the sum of its floats.

    Raises:
      NoGradient: there is nothing to differentiate.
    """
    places = [i for i, leaf in enumerate(data) if is_float(leaf)]
    if not places:
        raise NoGradient("no float goes into the call")

    def both(given: list[Any]) -> Any:
        def summed(floats: list[Any]) -> tuple[Any, Any]:
            full = list(given)
            for place, value in zip(places, floats, strict=True):
                full[place] = value
            value = call(full)
            parts = [jnp.sum(leaf) for leaf in jax.tree.leaves(value) if is_float(leaf)]
            return jnp.sum(jnp.stack([p.astype(jnp.float32) for p in parts])), value

        return jax.value_and_grad(summed, has_aux=True)([given[p] for p in places])

    return both


def of_floats(
    program: Program, data: list[Any]
) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
    """The floats among the data, and the floating outputs as a function of them alone.

    Raises:
      NoGradient: there are no floats.
    """
    places = [i for i, leaf in enumerate(data) if is_float(leaf)]
    if not places:
        raise NoGradient

    def outputs(floats: list[Any]) -> list[Any]:
        full = list(data)
        for place, value in zip(places, floats, strict=True):
            full[place] = value
        return [leaf for leaf in program.outputs(*full) if is_float(leaf)]

    return [jnp.asarray(data[p]) for p in places], outputs


def wide_pullback(program: Program, data: list[Any], *, eager: bool) -> list[Any] | None:
    """The gradient in double precision, None where it cannot be had."""
    if not program.has_yardstick:
        return None
    try:
        with double_precision():
            found = pullback(program, [widened(leaf) for leaf in data], eager=eager)
            return [np.asarray(leaf) for leaf in found.leaves]
    except Exception:
        return None
