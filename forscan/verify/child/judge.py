"""Judges one call: outputs, perturbed inputs, gradients; then what each version costs."""

from __future__ import annotations

import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from call import Call, Program, is_jitted
from compare import Difference, compare
from timing import costs


def judge(
    before: types.ModuleType, after: types.ModuleType, text: str, timing: bool
) -> dict[str, Any]:
    """The answer for one call."""
    old, new = Program(Call.parse(text, before)), Program(Call.parse(text, after))
    verdict: dict[str, Any] = {
        "status": "unknown", "evidence": None, "reason": "", "max_ulp": None,
        "gradient": "unknown", "before": None, "after": None,
    }  # fmt: skip
    first, failure = _run_both(old, new, old.dynamic)
    if failure is not None:
        return {**verdict, **failure}
    assert first is not None
    found = compare(*first, _float64(old, old.dynamic))
    verdict |= {"evidence": "measured", "max_ulp": found.max_ulp}
    if not found.reason:
        other = _perturbed(old, new)
        if other.reason:
            found = Difference(f"{other.reason} (on perturbed inputs)", other.max_ulp)
        verdict["max_ulp"] = max(found.max_ulp, other.max_ulp)
    gradient, why = _gradients(old, new) if not found.reason else ("unknown", "")
    verdict["gradient"] = gradient
    verdict["status"] = "different" if found.reason or gradient == "different" else "equal"
    verdict["reason"] = found.reason or why or found.notes
    if timing and verdict["status"] == "equal" and not old.eager:
        verdict["before"], verdict["after"] = costs(old, new)
    return verdict


def _run_both(
    old: Program, new: Program, dynamic: list[Any]
) -> tuple[tuple[Any, Any] | None, dict[str, Any] | None]:
    """Both results, or what an exception means."""
    errors: list[Exception | None] = []
    results = []
    for program in (old, new):
        try:
            results.append(jax.block_until_ready(program.run(dynamic)))
            errors.append(None)
        except Exception as e:
            results.append(None)
            errors.append(e)
        if program is old and errors[0] is not None and _needs_values(errors[0]):
            if not is_jitted(old.call.function):
                # A driver that looks at values: compared as it is run, without jit.
                old.eager = new.eager = True
                return _run_both(old, new, dynamic) if dynamic is not None else (None, None)
    if errors == [None, None]:
        return (results[0], results[1]), None
    kinds = [type(e).__name__ if e is not None else "" for e in errors]
    if kinds[0] == kinds[1]:
        return None, {"reason": f"both versions raise {_line(errors[0])}"}
    which = "the original" if errors[0] is not None else "the new version"
    error = errors[0] or errors[1]
    status = "unknown" if errors[0] is not None else "different"
    return None, {"status": status, "reason": f"{which} raises {_line(error)}"}


def _needs_values(error: Exception) -> bool:
    return isinstance(
        error,
        jax.errors.ConcretizationTypeError
        | jax.errors.TracerArrayConversionError
        | jax.errors.TracerIntegerConversionError
        | jax.errors.NonConcreteBooleanIndexError,
    )


def _line(error: Exception | None) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _float64(program: Program, dynamic: list[Any]) -> Any:
    """The old version in double precision, as a yardstick; None where it cannot run."""
    try:
        with jax.enable_x64(True):
            wide = [_widened(leaf) for leaf in dynamic]
            return jax.tree.map(np.asarray, jax.block_until_ready(program.run(wide)))
    except Exception:
        return None


def _widened(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.floating):
        return jnp.asarray(np.asarray(leaf).astype(np.float64))
    if isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.complexfloating):
        return jnp.asarray(np.asarray(leaf).astype(np.complex128))
    return leaf


def _perturbed(old: Program, new: Program) -> Difference:
    """The comparison for inputs that are a little different."""
    rng = np.random.default_rng(0)

    def change(leaf: Any) -> Any:
        if isinstance(leaf, float) or _is_float(leaf):
            factor = 1 + 0.1 * rng.standard_normal(np.shape(leaf))
            if isinstance(leaf, float):
                return float(leaf * factor)
            return jnp.asarray(np.asarray(leaf).astype(np.float64) * factor, leaf.dtype)
        return leaf

    if not any(isinstance(d, float) or _is_float(d) for d in old.dynamic):
        return Difference()
    dynamic = [change(leaf) for leaf in old.dynamic]
    results, failure = _run_both(old, new, dynamic)
    if failure is not None or results is None:
        different = failure is not None and failure.get("status") == "different"
        return Difference(failure["reason"] if different and failure else "")
    return compare(*results, _float64(old, dynamic))


def _is_float(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)


def _gradients(old: Program, new: Program) -> tuple[str, str]:
    """Compares the pullbacks of random cotangents with respect to all float inputs."""
    places = [i for i, d in enumerate(old.dynamic) if isinstance(d, float) or _is_float(d)]
    if not places or old.eager:
        return "none", ""

    def pullback(program: Program, dynamic: list[Any]) -> Any:
        def outputs(floats: list[Any]) -> list[Any]:
            full = list(dynamic)
            for place, value in zip(places, floats, strict=True):
                full[place] = value
            leaves = jax.tree.leaves(program.pure(*full))
            return [leaf for leaf in leaves if _is_float(leaf)]

        def pulled(floats: list[Any]) -> Any:
            values, back = jax.vjp(outputs, floats)
            rng = np.random.default_rng(1)
            seeds = [jnp.asarray(rng.standard_normal(v.shape), v.dtype) for v in values]
            return back(seeds)[0]

        floats = [jnp.asarray(dynamic[p]) for p in places]
        return jax.block_until_ready(jax.jit(pulled)(floats))

    try:
        want = pullback(old, old.dynamic)
    except Exception:
        return "none", ""
    if not want:
        return "none", ""
    try:
        have = pullback(new, new.dynamic)
    except Exception as e:
        return "different", f"the gradient of the new version raises {_line(e)}"
    try:
        with jax.enable_x64(True):
            exact = jax.tree.map(np.asarray, pullback(old, [_widened(d) for d in old.dynamic]))
    except Exception:
        exact = None
    found = compare(want, have, exact, slack=64.0)
    return ("different", f"gradient: {found.reason}") if found.reason else ("equal", "")
