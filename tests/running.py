"""Runs fixtures: modules from source, calls, results and gradients compared."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_COUNT = [0]


def load(source: bytes, path: Path) -> types.ModuleType:
    """A module from source, as if it stood at the path."""
    _COUNT[0] += 1
    module = types.ModuleType(f"fixture_{_COUNT[0]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def call(module: types.ModuleType, text: str) -> Any:
    return eval(text, {"jax": jax, "jnp": jnp, "np": np, **module.__dict__})


def arguments(module: types.ModuleType, text: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """The function's dotted name and the evaluated arguments of a call."""
    name, _, rest = text.partition("(")
    space = {"jax": jax, "jnp": jnp, "np": np, **module.__dict__}
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({rest}", space)
    return name, args, kwargs


def function(module: types.ModuleType, dotted: str) -> Any:
    found: Any = module
    for part in dotted.split("."):
        found = getattr(found, part)
    return found


def jaxpr(module: types.ModuleType, text: str) -> str:
    """The jaxpr of a call; what is neither an array nor a float is static."""
    name, args, kwargs = arguments(module, text)
    leaves, tree = jax.tree.flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array | float)]

    def run(*data: Any) -> Any:
        full = list(leaves)
        for place, value in zip(places, data, strict=True):
            full[place] = value
        given, named = jax.tree.unflatten(tree, full)
        return function(module, name)(*given, **named)

    return str(jax.make_jaxpr(run)(*(leaves[p] for p in places)))


def assert_same(old: Any, new: Any) -> None:
    """The same structure, types and values, up to rounding."""
    assert jax.tree.structure(old) == jax.tree.structure(new)
    for a, b in zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True):
        if not hasattr(a, "dtype"):
            assert type(a) is type(b) and a == b
            continue
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert bool(getattr(a, "weak_type", False)) == bool(getattr(b, "weak_type", False))
        if not jnp.issubdtype(a.dtype, jnp.inexact):
            assert np.array_equal(a, b)
            continue
        tolerance = float(64 * jnp.finfo(a.dtype).eps)
        x, y = (np.asarray(v).astype(np.complex128) for v in (a, b))
        np.testing.assert_allclose(
            x, y, rtol=tolerance, atol=tolerance * np.nanmax(np.abs(x), initial=1)
        )


def gradient(module: types.ModuleType, text: str) -> Any:
    """The gradient of a call with respect to every float argument; None where there is none."""
    name, args, kwargs = arguments(module, text)
    places = tuple(i for i, a in enumerate(args) if _is_float(a))
    if not places:
        return None

    def total(*floats: Any) -> Any:
        full = list(args)
        for place, value in zip(places, floats, strict=True):
            full[place] = value
        leaves = jax.tree.leaves(function(module, name)(*full, **kwargs))
        return sum(jnp.sum(leaf) for leaf in leaves if _is_float(leaf))

    return jax.grad(total, argnums=tuple(range(len(places))))(*(args[p] for p in places))


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (
        hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jnp.floating)
    )
