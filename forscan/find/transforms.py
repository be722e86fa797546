"""The transforms of JAX and its libraries that trace what they are given, in every spelling."""

from __future__ import annotations

import ast
from functools import cached_property

from forscan.find.imports import SAME, Imports

JIT = {
    "jax.jit",
    "jax.pmap",
    "equinox.filter_jit",
    "equinox.filter_pmap",
    "flax.nnx.jit",
    "flax.nnx.pmap",
    "flax.linen.jit",
    "flax.jax_utils.pmap",
}
_TRANSFORMS = JIT | {
    f"jax.{name}"
    for name in [
        "vmap",
        "grad",
        "value_and_grad",
        "jacfwd",
        "jacrev",
        "jacobian",
        "hessian",
        "checkpoint",
        "linearize",
        "jvp",
        "vjp",
        "custom_jvp",
        "custom_vjp",
        "eval_shape",
        "make_jaxpr",
        "shard_map",
        "custom_gradient",
        "closure_convert",
        "linear_transpose",
        "hvp",
        "numpy.vectorize",
        "lax.scan",
        "lax.fori_loop",
        "lax.while_loop",
        "lax.cond",
        "lax.switch",
        "lax.map",
        "lax.associative_scan",
        "lax.custom_root",
        "lax.custom_linear_solve",
        "custom_batching.custom_vmap",
        "experimental.checkify.checkify",
    ]
}
_PREFIXES = ("equinox.filter_", "flax.nnx.", "flax.linen.", "haiku.")
_LIFTED = {
    "jit",
    "vmap",
    "grad",
    "value_and_grad",
    "scan",
    "remat",
    "checkpoint",
    "cond",
    "while_loop",
    "fori_loop",
    "switch",
    "compact",
    "transform",
    "pmap",
    "custom_vjp",
    "transform_with_state",
    "shard_map",
    "eval_shape",
    "jvp",
    "vjp",
    "make_jaxpr",
    "filter_jit",
    "filter_grad",
    "filter_value_and_grad",
    "filter_vmap",
    "filter_jvp",
    "filter_vjp",
    "filter_checkpoint",
    "filter_custom_vjp",
    "filter_shard_map",
    "filter_eval_shape",
    "filter_pmap",
}
# How the name of a transform may end; a look at it spares the rest for nearly all calls.
_ENDS = {path.rsplit(".", 1)[-1] for path in (*_TRANSFORMS, *SAME)} | _LIFTED
MODULE_BASES = {
    "flax.linen.Module",
    "flax.nnx.Module",
    "equinox.Module",
    "haiku.Module",
}


class Transforms:
    """Which expressions of a module stand for a transform."""

    def __init__(self, module: ast.Module, imports: Imports) -> None:
        self.module = module
        self.imports = imports

    def path(self, node: ast.expr) -> str | None:
        """The transform that an expression stands for, through calls and partial."""
        if isinstance(node, ast.Attribute):
            if node.attr not in _ENDS:
                return None
        elif isinstance(node, ast.Name):
            if node.id not in self._by_name:
                self._by_name[node.id] = self._known(self.imports.resolve(node))
            return self._by_name[node.id]
        elif isinstance(node, ast.Call):
            path = self.imports.resolve(node.func)
            if path == "functools.partial" and node.args:
                return self.path(node.args[0])
            return self.path(node.func)
        else:
            return None
        return self._known(self.imports.resolve(node))

    @cached_property
    def _by_name(self) -> dict[str, str | None]:
        return {}

    def _known(self, path: str | None) -> str | None:
        if path is None or path in _TRANSFORMS:
            return path
        if path.startswith(_PREFIXES) and path.split(".")[-1] in _LIFTED:
            return path
        return self._named.get(path)

    @cached_property
    def _named(self) -> dict[str, str]:
        """Module-level names for a transform: `jit_static = partial(jax.jit, …)`."""
        found: dict[str, str] = {}
        for node in self.module.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                call = node.value
                is_partial = self.imports.resolve(call.func) == "functools.partial"
                path = self.imports.resolve(call.args[0]) if is_partial and call.args else None
                if path in _TRANSFORMS:
                    for target in node.targets:
                        if isinstance(target, ast.Name) and path:
                            found[target.id] = path
        return found
