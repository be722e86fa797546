"""Where a Python value is needed and a tracer is not enough: shapes, axes, counts.

The names are those of functions of JAX and of Python, by their last part.
"""

# Functions of jax whose first argument is a shape or a bound.
SHAPE_FIRST = {
    "zeros", "ones", "empty", "full", "eye", "identity", "tri", "arange", "linspace", "iota",
    "broadcasted_iota", "broadcast", "logspace", "geomspace", "indices",
}  # fmt: skip
# Functions of jax whose later arguments are shapes, axes or counts.
SHAPE_LATER = {
    "reshape", "broadcast_to", "tile", "repeat", "expand_dims", "squeeze", "split", "swapaxes",
    "moveaxis", "transpose", "one_hot", "sum", "mean", "max", "min", "prod", "stack",
    "concatenate", "take_along_axis", "cumsum", "flip", "pad", "argmax", "argmin", "any",
    "all", "std", "var", "softmax", "log_softmax", "norm", "top_k", "diff", "rot90", "resize",
    "array_split", "full_like_shape", "diag", "triu", "tril", "matrix_power", "sort",
    "argsort",
}  # fmt: skip
# Functions of jax that take a tracer for any number.
ANY_INTEGER = {
    "fold_in", "PRNGKey", "key", "dynamic_slice", "dynamic_update_slice",
    "dynamic_index_in_dim", "dynamic_update_index_in_dim", "dynamic_slice_in_dim",
    "dynamic_update_slice_in_dim", "take", "one_hot",
}  # fmt: skip
# Functions of Python that need a value.
CONCRETE_BUILTINS = {
    "int", "float", "bool", "complex", "str", "range", "len", "print", "round", "min", "max",
    "divmod", "pow", "bin", "hex", "oct", "chr", "hash", "format", "repr", "isinstance",
    "list", "tuple", "set", "sorted", "any", "all", "slice", "getattr", "type", "enumerate",
    "iter", "next", "id", "zip", "map", "filter", "reversed",
}  # fmt: skip
# Keywords whose values are static, whatever the function.
STATIC_KEYWORDS = {
    "axis", "axes", "argnums", "shape", "length", "num", "ndim", "dtype", "repeats",
    "num_classes", "k", "newshape", "axis1", "axis2", "keepdims", "precision", "unroll",
    "total_repeat_length", "size", "side", "order", "deg", "degree", "n", "decimals",
}  # fmt: skip
# What of an array is known while tracing.
STATIC_ATTRIBUTES = {
    "shape", "ndim", "dtype", "size", "weak_type", "aval", "sharding",
}  # fmt: skip
