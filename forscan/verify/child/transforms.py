"""Both versions under vmap and jvp: what computes the same may still be transformed otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .call import double_precision, perturbed, widened
from .compare import compare
from .errors import line
from .gradient import NoGradient, of_floats
from .program import Program, Result
from .prove import same_outputs

_SLACK = 64.0  # ULPs: other code is compiled, which rounds in other places
Transformed = tuple[Callable[..., Any], list[Any]]
Transform = Callable[[Program, list[Any]], Transformed]


def under(transform: Transform, old: Program, new: Program, *, slow: bool) -> tuple[str, str]:
    """The verdict on both versions under a transform, and a reason where they differ.

    Args:
      slow: compiling takes too long, so that only the traces are compared.
    """
    try:
        function, given = transform(old, old.data)
        traced = jax.make_jaxpr(function)(*given)
    except Exception:  # there is nothing to compare with
        return "none", ""
    try:
        other, same = transform(new, new.data)
        new_traced = jax.make_jaxpr(other)(*same)
    except Exception as e:
        return "different", f"the new version raises {line(e)}"
    try:
        if same_outputs(traced, new_traced, any_order=True):
            return "equal", ""
    except Exception:  # of what is not known there: measuring will tell
        pass
    if slow:
        return "unknown", ""
    want, have = (Result.of(jax.jit(f)(*args)) for f, args in ((function, given), (other, same)))
    found = compare(want, have, lambda: _wide(transform, old), _SLACK)
    return ("different", found.reason) if found.reason else ("equal", "")


def _wide(transform: Transform, program: Program) -> list[Any] | None:
    """The same of the original in double precision, None where it cannot be had."""
    if not program.has_yardstick:
        return None
    try:
        with double_precision():
            function, given = transform(program, [widened(leaf) for leaf in program.data])
            return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*given))]
    except Exception:
        return None


def batched(program: Program, data: list[Any]) -> Transformed:
    """Two calls at once, of which the second has other numbers.

    Raises:
      NoGradient: no array goes into the call.
    """
    # A stack of weakly typed numbers would have another type than they.
    places = [
        k
        for k, leaf in enumerate(data)
        if isinstance(leaf, jax.Array | np.ndarray) and not getattr(leaf, "weak_type", False)
    ]
    if not places:
        raise NoGradient("no array goes into the call")
    others = perturbed(data, 2, 0.1)
    rows = [jnp.stack([jnp.asarray(data[p]), jnp.asarray(others[p])]) for p in places]

    def one(*row: Any) -> list[Any]:
        full = list(data)
        for place, value in zip(places, row, strict=True):
            full[place] = value
        return program.outputs(*full)

    return jax.vmap(one), rows


def pushed(program: Program, data: list[Any]) -> Transformed:
    """Values and derivatives along random directions.

    Raises:
      NoGradient: no float goes into the call.
    """
    floats, outputs = of_floats(program, data)
    rng = np.random.default_rng(2)
    tangents = [jnp.asarray(rng.standard_normal(f.shape), f.dtype) for f in floats]

    def both(floats: list[Any], tangents: list[Any]) -> Any:
        return jax.jvp(outputs, (floats,), (tangents,))

    return both, [floats, tangents]


TRANSFORMS: dict[str, Transform] = {"vmap": batched, "jvp": pushed}
