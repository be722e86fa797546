"""Words that tell arrays from other things: attributes, functions, types."""

from __future__ import annotations

ARRAY_ATTRIBUTES = {
    "shape",
    "ndim",
    "dtype",
    "T",
    "mT",
    "at",
    "size",
    "real",
    "imag",
    "weak_type",
}
ARRAY_METHODS = {
    "astype",
    "reshape",
    "sum",
    "mean",
    "transpose",
    "min",
    "max",
    "dot",
    "ravel",
    "flatten",
    "squeeze",
    "cumsum",
    "prod",
    "std",
    "var",
    "any",
    "all",
    "argmax",
    "argmin",
    "swapaxes",
    "repeat",
    "clip",
    "conj",
    "take",
    "round",
}
ARRAY_PREFIXES = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "jax.scipy.")
# These take lists and numbers as well: being handed to one proves nothing.
OF_ANYTHING = {
    "jax.numpy.meshgrid", "jax.numpy.split", "jax.numpy.array_split", "jax.numpy.shape",
    "jax.numpy.broadcast_arrays", "jax.numpy.nonzero", "jax.numpy.ndim", "jax.numpy.unstack",
}  # fmt: skip
# Functions of jax and NumPy that give tuples, lists or iterators of arrays, wherever they live.
TUPLES = {
    "hsplit", "vsplit", "dsplit", "split", "array_split", "gradient", "qr", "svd", "eig", "eigh",
    "slogdet", "lstsq", "lu", "lu_factor", "schur", "polar", "rsf2csf", "hessenberg",
    "expm_frechet", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
    "diag_indices", "diag_indices_from", "mask_indices", "ix_", "unravel_index", "modf",
    "divmod", "frexp", "polydiv", "meshgrid", "nonzero", "broadcast_arrays", "unstack",
    "unique_all", "unique_counts", "unique_inverse", "top_k", "approx_max_k", "approx_min_k",
    "sort_key_val", "rng_bit_generator",
}  # fmt: skip
SEVERAL = TUPLES | {
    "cho_factor", "histogram", "histogram2d", "histogramdd", "ogrid", "shape",
    "ndim", "broadcast_shapes", "reduce", "reduce_window", "optimization_barrier", "psum", "pmean",
    "pmax", "pmin", "all_gather", "ppermute", "all_to_all", "stop_gradient", "custom_root",
    "custom_linear_solve", "platform_dependent", "associative_scan", "cond", "switch", "map",
    "scan", "while_loop", "fori_loop", "ndindex", "nditer", "ndenumerate", "issubdtype",
    "result_type", "finfo", "iinfo", "isscalar", "load",
}  # fmt: skip
# These do so with several arguments only, or when they are told to.
PERHAPS_SEVERAL = {
    "atleast_1d": 1, "atleast_2d": 1, "atleast_3d": 1, "sort": 1, "average": 2, "unique": 1,
    "polyfit": 3,
}  # fmt: skip
TREE_MAPS = {"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"}
# Functions that make one array of a list of arrays.
STACKS = {"jax.numpy.stack", "jax.numpy.array", "jax.numpy.asarray"}
# Functions that take a sequence of arrays: being handed to one proves nothing.
OF_SEQUENCES = {
    "stack",
    "array",
    "asarray",
    "concatenate",
    "hstack",
    "vstack",
    "dstack",
    "column_stack",
    "block",
    "unstack",
}
ARRAY_TYPES = {
    "Array",
    "ndarray",
    "ArrayLike",
    "Float",
    "Int",
    "Bool",
    "Complex",
    "Key",
}
CONTAINERS = {
    "list",
    "tuple",
    "dict",
    "set",
    "List",
    "Tuple",
    "Dict",
    "Sequence",
    "Iterable",
    "Mapping",
    "PyTree",
}
