"""Which names surely hold floating-point (or complex) numbers, and where.

An index that meets such a number takes its type, whether the index is a Python int, a
weakly typed counter or an element of `jnp.arange`: int32 and int64 are below every
floating-point type in JAX's lattice of types.
"""

from __future__ import annotations

import ast
from functools import cached_property

from forscan.analyse.cfg import Node
from forscan.analyse.dataflow import Names, solve
from forscan.find.context import FunctionContext
from forscan.syntax.names import is_place
from forscan.syntax.walk import walk

_PREFIXES = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.scipy.")
# These give floating-point numbers of any numbers.
_ALWAYS = {
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh",
    "arctanh", "hypot", "logaddexp", "sinc", "mean", "average", "var", "std", "true_divide",
    "divide", "deg2rad", "rad2deg", "linspace", "rsqrt", "logistic", "sigmoid", "softplus",
    "softmax", "log_softmax", "log_sigmoid", "silu", "swish", "gelu", "logsumexp", "erf", "expit",
    "norm", "inv", "det", "solve", "cholesky",
}  # fmt: skip
_RANDOM = {
    "uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "beta", "gamma", "cauchy",
    "truncated_normal", "multivariate_normal", "dirichlet", "t", "pareto",
}  # fmt: skip
# These give them where the first argument has them, or any of several.
_OF_FIRST = {
    "sum", "prod", "max", "min", "amax", "amin", "cumsum", "cumprod", "abs", "absolute", "negative",
    "square", "sign", "clip", "reshape", "ravel", "transpose", "swapaxes", "moveaxis", "squeeze",
    "expand_dims", "broadcast_to", "roll", "flip", "tile", "repeat", "take", "triu", "tril", "diag",
    "sort", "copy", "conj", "relu", "stop_gradient", "atleast_1d", "atleast_2d", "trace",
}  # fmt: skip
_OF_ANY = {
    "add", "subtract", "multiply", "maximum", "minimum", "dot", "matmul", "vdot", "inner", "outer",
    "where", "power", "mod", "einsum", "tensordot", "cross", "kron",
}  # fmt: skip
# Where these take a dtype by position; without one they make floating-point numbers, or the
# numbers that they are given.
_MAKERS = {"zeros": 1, "ones": 1, "empty": 1, "eye": 3, "identity": 1}
_COPIERS = {"zeros_like": 1, "ones_like": 1, "array": 1, "asarray": 1}
_FLOATING_METHODS = {"mean", "std", "var"}
_KEEPING_METHODS = {
    "sum", "prod", "max", "min", "cumsum", "cumprod", "reshape", "ravel", "flatten", "transpose",
    "swapaxes", "squeeze", "clip", "take", "repeat", "copy", "conj", "dot", "sort", "round", "trace",
}  # fmt: skip
_KEEPING_ATTRIBUTES = {"T", "mT", "real"}


class Floating:
    """The names of one function that hold floating-point numbers.

    Attributes:
      assumed: arguments, never bound anew, that are known to.
    """

    def __init__(self, context: FunctionContext, assumed: Names = frozenset()) -> None:
        self.context = context
        self.assumed = assumed

    @cached_property
    def names(self) -> list[Names]:
        """For each node of the function's graph those names that do when it is reached."""
        universe = self.context.assigned - self.context.outside
        return solve(
            self.context.graph,
            self._behind,
            backward=False,
            must=True,
            start=Names(),
            universe=universe,
        )

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression of the function surely gives floating-point numbers."""
        place: ast.AST | None = node
        while place is not None and place not in self.context.graph.statements:
            if isinstance(place, ast.Lambda | ast.comprehension | ast.ListComp | ast.GeneratorExp):
                return False  # names of its own
            place = self.context.module.functions.parents.get(place)
        if not isinstance(place, ast.stmt):
            return False
        known = self.names[self.context.graph.statements[place]]
        return self._of(node, known)

    def _behind(self, node: Node, before: Names) -> Names:
        changed = frozenset(node.activity.binds) | frozenset(node.activity.deletes)
        after = before - changed
        match node.syntax:
            case (ast.Assign(targets=targets, value=value),) if self._of(value, before):
                # Unpacked, an array gives arrays of its type.
                bound = [n.id for t in targets for n in walk(t) if isinstance(n, ast.Name)]
                stored = {n for n in bound if n in node.activity.binds}
                return after | stored
            case (ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)),):
                pairs = zip(names, values, strict=False) if len(names) == len(values) else ()
                return after | {
                    n.id for n, v in pairs if isinstance(n, ast.Name) and self._of(v, before)
                }
            case (ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value),):
                return after | ({name} if self._of(value, before) else set())
            case (ast.AugAssign(target=ast.Name(id=name), op=op, value=value),):
                made = isinstance(op, ast.Div) or name in before or self._of(value, before)
                return after | ({name} if made else set())
        return after

    def _of(self, node: ast.expr, known: Names) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, float | complex)
            case ast.Name(id=name):
                return name in known or name in self.assumed
            case ast.BinOp(op=op, left=left, right=right):
                if isinstance(op, ast.Mod):  # of a text it is one
                    return self._of(left, known)
                return isinstance(op, ast.Div) or any(self._of(s, known) for s in (left, right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self._of(operand, known)
            case ast.IfExp(body=body, orelse=orelse):
                return self._of(body, known) and self._of(orelse, known)
            case ast.Subscript(value=base):
                return self._of(base, known)
            case ast.Attribute(value=base, attr=attribute):
                return attribute in _KEEPING_ATTRIBUTES and self._of(base, known)
            case ast.Call():
                return self._of_call(node, known)
        return False

    def _of_call(self, node: ast.Call, known: Names) -> bool:  # noqa: C901
        path = self.context.resolve(node.func)
        if path is None:
            return self._of_method(node, known)
        tail = path.rsplit(".", 1)[-1]
        if path.startswith("jax.random."):
            return tail in _RANDOM
        if not path.startswith(_PREFIXES) or any(isinstance(a, ast.Starred) for a in node.args):
            return False
        if tail in _MAKERS:
            dtype = _dtype(node, _MAKERS[tail])
            return dtype is None or _is_floating_type(dtype)
        if tail in _COPIERS:
            dtype = _dtype(node, _COPIERS[tail])
            if dtype is not None:
                return _is_floating_type(dtype)
            return any(self._items(a, known) for a in node.args[:1])
        if any(k.arg == "dtype" for k in node.keywords):
            return False
        if tail in _ALWAYS:
            return True
        if tail in _OF_FIRST:
            return any(self._of(a, known) for a in node.args[:1])
        if tail == "where":
            return any(self._of(a, known) for a in node.args[1:])
        return tail in _OF_ANY and any(self._of(a, known) for a in node.args)

    def _items(self, node: ast.expr, known: Names) -> bool:
        if isinstance(node, ast.List | ast.Tuple):
            return any(self._items(e, known) for e in node.elts)
        return self._of(node, known)

    def _of_method(self, node: ast.Call, known: Names) -> bool:
        if not isinstance(node.func, ast.Attribute):
            return False
        base, method = node.func.value, node.func.attr
        if is_place(base):  # out.at[i].set(…) keeps the type of out
            assert isinstance(base, ast.Subscript) and isinstance(base.value, ast.Attribute)
            return self._of(base.value.value, known)
        if method == "astype":
            return bool(node.args) and _is_floating_type(node.args[0])
        if any(k.arg == "dtype" for k in node.keywords):
            return False
        if method in _FLOATING_METHODS:
            return self._of(base, known)
        return method in _KEEPING_METHODS and self._of(base, known)


def _dtype(node: ast.Call, position: int) -> ast.expr | None:
    """The dtype that a call names, None without one."""
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            return None if _is_none(keyword.value) else keyword.value
    given = node.args[position] if len(node.args) > position else None
    return None if given is None or _is_none(given) else given


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_floating_type(node: ast.expr) -> bool:
    """`jnp.bfloat16`, `float`, `"float32"`."""
    name = node.value if isinstance(node, ast.Constant) else ast.unparse(node)
    tail = str(name).rsplit(".", 1)[-1]
    return tail.startswith(("float", "bfloat16", "complex"))
