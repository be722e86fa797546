"""A call expression taken apart: what is called, its data, and the rest."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .recorded import recorded


@dataclass
class Call:
    """One call in the namespace of one version.

    Attributes:
      function: what is called.
      args, kwargs: its arguments, evaluated once.
      given_to_jit: whether they were recorded where a caller had jitted the function.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    given_to_jit: bool = False

    @classmethod
    def parse(cls, text: str, module: types.ModuleType) -> Call:
        """Raises ValueError when the text is no call."""
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call):
            raise ValueError(f"{text!r} is not a call such as f(jnp.ones(3))")
        known = {"jax": jax, "jnp": jnp, "np": np, "recorded": partial(recorded, module)}
        space = {**known, **module.__dict__}

        def value(part: ast.expr) -> Any:
            return eval(compile(ast.Expression(part), "<call>", "eval"), space)

        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        given_to_jit = False
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                several = value(argument.value)
                given_to_jit = getattr(several, "jitted", False)
                args.extend(several)
            else:
                args.append(value(argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(value(keyword.value))
            else:
                kwargs[keyword.arg] = value(keyword.value)
        return cls(value(node.func), tuple(args), kwargs, given_to_jit)

    def _static(self) -> list[bool]:
        """For each leaf whether jit was told that its argument is static."""
        info = getattr(self.function, "_jit_info", None)  # JAX has no public way to ask
        bound = isinstance(self.function, types.MethodType)  # its first argument is not given
        numbers = {n - bound for n in getattr(info, "static_argnums", ()) or ()}
        names = set(getattr(info, "static_argnames", ()) or ())
        args = [_all_leaves(a, k in numbers) for k, a in enumerate(self.args)]
        kwargs = {k: _all_leaves(v, k in names) for k, v in self.kwargs.items()}
        return jax.tree.leaves((tuple(args), kwargs))

    @property
    def jitted(self) -> bool:
        """Whether the function itself is jitted, so that no caller's own object gets into it."""
        return self.given_to_jit or getattr(self.function, "_jit_info", None) is not None

    def data_places(self, *, own: bool = False) -> list[int]:
        """Which leaves of the arguments are data.

        Args:
          own: arrays of JAX only, unless the function is jitted: what Python or NumPy would
            compute there is not computed by JAX, so nothing else may stand for such an object.
        """
        leaves, static = jax.tree.leaves((self.args, self.kwargs)), self._static()
        kept = own and not self.jitted
        return [
            i
            for i, leaf in enumerate(leaves)
            if is_data(leaf) and not static[i] and not (kept and not isinstance(leaf, jax.Array))
        ]

    def split(self, *, own: bool = False) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        """The leaves that are data, and the call with other data in their place."""
        leaves, tree = jax.tree.flatten((self.args, self.kwargs))
        where = self.data_places(own=own)

        def call(data: list[Any]) -> Any:
            full = list(leaves)
            for index, leaf in zip(where, data, strict=True):
                full[index] = leaf
            made = jax.tree.unflatten(tree, full)
            args, kwargs = _in_order((self.args, self.kwargs), made)
            return self.function(*args, **kwargs)

        return [leaves[i] for i in where], call


def _in_order(given: Any, made: Any) -> Any:
    """What was made of leaves, with the keys of its dicts in the order that they were given in.

    Unflattening sorts them, which the function that is called would see.
    """
    if type(given) is dict:
        return {key: _in_order(value, made[key]) for key, value in given.items()}
    if type(given) in (list, tuple):
        return type(given)(_in_order(a, b) for a, b in zip(given, made, strict=True))
    return made


def _all_leaves(tree: Any, value: bool) -> Any:
    return jax.tree.map(lambda _: value, tree)


def is_data(leaf: Any) -> bool:
    """Arrays and Python floats; ints and bools may be static, so they stay as they are."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | float | complex)


def is_float(leaf: Any) -> bool:
    return isinstance(leaf, float) or (
        hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)
    )


def double_precision() -> Any:
    """A context in which JAX computes in double precision."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return import_module("jax.experimental").enable_x64(True)  # older versions of JAX


def widened(leaf: Any) -> Any:
    """The leaf in double precision, for a yardstick."""
    if isinstance(leaf, jax.Array | np.ndarray | np.generic):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            return jnp.asarray(np.asarray(leaf).astype(np.float64))
        if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
            return jnp.asarray(np.asarray(leaf).astype(np.complex128))
    return leaf


def perturbed(data: list[Any], seed: int, size: float) -> list[Any]:
    """The same data with its floats a little different."""
    rng = np.random.default_rng(seed)

    def change(leaf: Any) -> Any:
        if not is_float(leaf):
            return leaf
        factor = 1 + size * rng.standard_normal(np.shape(leaf))
        if isinstance(leaf, float) and not isinstance(leaf, np.generic):
            return float(leaf * factor)
        if isinstance(leaf, jax.Array):
            return jnp.asarray(np.asarray(leaf).astype(np.float64) * factor, leaf.dtype)
        # NumPy stays NumPy, which computes in its own way.
        made = np.asarray(np.asarray(leaf).astype(np.float64) * factor, leaf.dtype)
        return made[()] if isinstance(leaf, np.generic) else made

    return [change(leaf) for leaf in data]
