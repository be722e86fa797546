"""A call expression taken apart: what is called, and its arguments made anew each time."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass
class Call:
    """One call in the namespace of one version.

    Attributes:
      function: what is called.
      args, kwargs: its arguments, evaluated once.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @classmethod
    def parse(cls, text: str, module: types.ModuleType) -> Call:
        """Raises ValueError when the text is no call."""
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call):
            raise ValueError(f"{text!r} is not a call such as f(jnp.ones(3))")
        space = {"jax": jax, "jnp": jnp, "np": np, **module.__dict__}

        def value(part: ast.expr) -> Any:
            return eval(compile(ast.Expression(part), "<call>", "eval"), space)

        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(value(argument.value))
            else:
                args.append(value(argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(value(keyword.value))
            else:
                kwargs[keyword.arg] = value(keyword.value)
        return cls(value(node.func), tuple(args), kwargs)

    def split(self) -> tuple[list[Any], Callable[[list[Any]], tuple[tuple[Any, ...], dict[str, Any]]]]:
        """The dynamic leaves (arrays and floats), and how to put them back."""
        leaves, tree = jax.tree.flatten((self.args, self.kwargs))
        where = [i for i, leaf in enumerate(leaves) if is_dynamic(leaf)]

        def rebuild(dynamic: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            full = list(leaves)
            for index, leaf in zip(where, dynamic, strict=True):
                full[index] = leaf
            args, kwargs = jax.tree.unflatten(tree, full)
            return args, kwargs

        return [leaves[i] for i in where], rebuild


def is_dynamic(leaf: Any) -> bool:
    """Whether a leaf is data: an array or a Python float. Ints stay static."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | float | complex) and not (
        isinstance(leaf, bool)
    )


def is_jitted(function: Callable[..., Any]) -> bool:
    return hasattr(function, "lower") and hasattr(function, "trace")


def copied(leaf: Any) -> Any:
    """A fresh buffer, since a call may donate its arguments."""
    if isinstance(leaf, jax.Array):
        return jnp.array(leaf, copy=True) if not _is_key(leaf) else jax.tree.map(jax.random.clone, leaf)
    return leaf


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


class Program:
    """One version of a call, ready to run under jit.

    Attributes:
      dynamic: the leaves that are data.
      eager: run without jit, because the function is a driver that jit cannot trace.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self.dynamic, self.rebuild = call.split()
        self.eager = False
        self.jitted = jax.jit(self.pure)

    def pure(self, *dynamic: Any) -> Any:
        args, kwargs = self.rebuild(list(dynamic))
        return self.call.function(*args, **kwargs)

    def run(self, dynamic: list[Any]) -> Any:
        """The outputs for these data."""
        fresh = [copied(leaf) for leaf in dynamic]
        if self.eager:
            return self.pure(*fresh)
        if is_jitted(self.call.function):
            args, kwargs = self.rebuild(fresh)
            return self.call.function(*args, **kwargs)
        return self.jitted(*fresh)

    def trace(self) -> Any:
        """The first ahead-of-time stage."""
        fresh = [copied(leaf) for leaf in self.dynamic]
        if is_jitted(self.call.function):
            args, kwargs = self.rebuild(fresh)
            return self.call.function.trace(*args, **kwargs)  # type: ignore[attr-defined]
        return jax.jit(self.pure).trace(*fresh)
