"""Runs a traced program operation by operation, where compiling the whole would take too long.

What is run is the trace and not the function: called without jit, the function would be given
the caller's own objects where jit hands it tracers, and NumPy does not compute as JAX does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .ops import CALLS


def evaluate(closed: Any, data: Sequence[Any]) -> list[Any]:
    """The outputs of a closed jaxpr for data of its types; Python numbers may stand for arrays."""
    given = [
        leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf, variable.aval.dtype)
        for leaf, variable in zip(data, closed.jaxpr.invars, strict=True)
    ]
    return _run(closed.jaxpr, closed.consts, given)


def _run(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    reads = Counter(a for e in jaxpr.eqns for a in e.invars if not hasattr(a, "val"))
    reads.update(a for a in jaxpr.outvars if not hasattr(a, "val"))
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        if hasattr(atom, "val"):
            return atom.val
        reads[atom] -= 1
        # What nobody reads any more is let go: an unrolled loop leaves much behind.
        return env[atom] if reads[atom] else env.pop(atom)

    for equation in jaxpr.eqns:
        outs = _equation(equation, [read(a) for a in equation.invars])
        found = zip(equation.outvars, outs, strict=True)
        env.update((variable, out) for variable, out in found if reads[variable])
    return [read(a) for a in jaxpr.outvars]


def _equation(equation: Any, ins: list[Any]) -> Sequence[Any]:
    primitive, params = equation.primitive, equation.params
    if primitive.name in CALLS:
        inner = params[CALLS[primitive.name]]
        if hasattr(inner, "jaxpr"):
            return _run(inner.jaxpr, inner.consts, ins)
        return _run(inner, [], ins)
    bound = primitive.get_bind_params(params)
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)  # before jax 0.10
    with equation.ctx.manager:
        out = primitive.bind(*functions, *ins, **bound)
    return out if primitive.multiple_results else [out]
