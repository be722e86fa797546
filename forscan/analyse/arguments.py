"""A value of the loop as an argument: which functions of JAX and Python take a tracer."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.analyse.numbers import Numbers
from forscan.analyse.static_values import (
    ANY_INTEGER,
    CONCRETE_BUILTINS,
    SHAPE_FIRST,
    SHAPE_LATER,
    STATIC_KEYWORDS,
)
from forscan.analyse.use import Kind, Use, worst
from forscan.syntax.names import is_place

_EFFECTLESS = (
    "len", "isinstance", "type", "zip", "enumerate", "list", "tuple", "reversed",
)  # fmt: skip
_OF_PYTHON = ("numpy.", "math.", "random.", "time.", "scipy.")
_TRANSFORMS = {"jax.grad", "jax.value_and_grad", "jax.vmap", "jax.jit", "jax.jacfwd"}
# Functions that jump: numbers that are rounded otherwise may give another result.
_JUMPING = {
    "floor", "ceil", "round", "rint", "trunc", "fix", "sign", "mod", "remainder", "fmod", "modf",
    "floor_divide", "divmod", "heaviside", "searchsorted", "digitize", "greater", "less",
    "greater_equal", "less_equal", "equal", "not_equal", "isclose", "int32", "int64", "int8",
    "uint8", "uint32", "bool_",
}  # fmt: skip
_STATIC_OF_TRANSFORMS = {"argnums", "in_axes", "out_axes", "static_argnums", "length"}


@dataclass(frozen=True)
class Argument:
    """One value among the arguments of a call.

    Attributes:
      node: the read of the name.
      call: the call, and `place` the argument or keyword in it.
      path: the full name of what is called, where it is known.
      value: the largest Python-only expression around the read.
      integer: whether the name is a Python int for sure.
      python_only: whether the argument is made of Python numbers alone.
      hazard: what Python would compute otherwise than int32 arithmetic, if anything.
      numbers: what else is a Python number for each index.
      unknown: whether nothing shows that the argument is no Python number.
      top: whether the call stands in the loop's own function.
    """

    node: ast.Name
    call: ast.Call
    place: ast.AST
    path: str | None
    value: ast.expr
    integer: bool
    python_only: bool
    hazard: str
    numbers: Numbers
    unknown: bool
    top: bool

    @property
    def keyword(self) -> str | None:
        return self.place.arg if isinstance(self.place, ast.keyword) else None

    @property
    def position(self) -> int | None:
        return self.call.args.index(self.place) if self.place in self.call.args else None

    def use(self, kind: Kind, what: str) -> Use:
        return Use(self.node, kind, what)

    def as_number(self, what: str) -> Use | None:
        """The use where the whole call is a Python number for each index."""
        if self.python_only and self.top and self.numbers.is_number(self.call):
            return Use(self.node, Kind.HAZARD, what, value=self.call)
        return None


def of_python(argument: Argument) -> Use | None:
    """The use as an argument of a function of Python or NumPy, which needs a value."""
    path, what = argument.path or "", f"an argument of {argument.path}"
    if path.startswith(_OF_PYTHON):
        if argument.python_only and path.startswith(("numpy.", "math.")):
            call = argument.call
            if all(argument.numbers.is_number(a) for a in call.args) and not call.keywords:
                return Use(argument.node, Kind.HAZARD, what, value=call)
        return argument.use(Kind.CONCRETE, what)
    if path not in CONCRETE_BUILTINS or not isinstance(argument.call.func, ast.Name):
        return None
    if path == "print":
        return argument.use(Kind.CONCRETE, "print")
    if path in ("float", "int", "min", "max", "abs", "round"):
        number = argument.as_number(what)
        if number is not None:
            return number
    if not argument.integer and path in _EFFECTLESS:
        return argument.use(Kind.PURE, "its shape or type")
    return argument.use(Kind.CONCRETE, what)


def of_jax(argument: Argument) -> Use | None:
    """The use as an argument of JAX; None where the result is an array like any other."""
    path = argument.path or ""
    tail = path.rsplit(".", 1)[-1]
    if _is_static(path, tail, argument.position, argument.keyword):
        return argument.use(Kind.CONCRETE, f"a static argument of {path}")
    if tail in ANY_INTEGER:
        what = argument.hazard or "an index"
        return Use(argument.node, worst(Kind.PURE, argument.hazard), what, value=argument.value)
    if path in _TRANSFORMS and not isinstance(argument.place, ast.Lambda):  # which captures it
        return argument.use(Kind.CONCRETE, f"a static argument of {path}")
    if tail in _JUMPING:
        value = argument.value
        if argument.unknown and isinstance(argument.place, ast.expr):
            value = argument.place
        if argument.unknown or (argument.python_only and argument.numbers.is_float(value)):
            return Use(argument.node, Kind.HAZARD, f"an argument of {path}", value=value)
    return None


def _is_static(path: str, tail: str, position: int | None, keyword: str | None) -> bool:
    """Whether JAX needs the value of an argument while it traces."""
    of_arrays = path.startswith(("jax.numpy", "jax.lax", "jax.nn", "jax.random"))
    if keyword in _STATIC_OF_TRANSFORMS or (of_arrays and keyword in STATIC_KEYWORDS):
        return True
    if position is None:
        return False
    if tail == "full" and position in (1, 2):
        return False
    if tail == "linspace" and position == 1:
        return False
    if tail in SHAPE_FIRST or (tail == "linspace" and position == 2):
        return True
    if path in ("jax.lax.max", "jax.lax.min"):  # of two arrays
        return False
    if tail in SHAPE_LATER and tail != "one_hot" and position:
        return True
    if path.startswith("jax.random.") and tail not in ANY_INTEGER | {"randint", "uniform"}:
        return bool(position)
    return tail == "uniform" and position == 1


def of_method(argument: Argument) -> Use | None:
    """The use as an argument of a method that every array has; None for any other."""
    function = argument.call.func
    assert isinstance(function, ast.Attribute)
    if function.attr in SHAPE_LATER | {"reshape", "transpose"}:
        return argument.use(Kind.CONCRETE, f"an argument of .{function.attr}")
    return None


def is_kept(argument: Argument) -> bool:
    """Whether a method stores the value as it would an array: `out.append`, `x.at[i].set`."""
    function = argument.call.func
    assert isinstance(function, ast.Attribute)
    return function.attr == "append" or is_place(function.value)
