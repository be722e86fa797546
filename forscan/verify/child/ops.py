"""What is known about single operations."""

from __future__ import annotations

# Calls whose body stands for them, and where the body is.
CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}

# Each element of the result depends on the elements at its place only.
# fmt: off
ELEMENTWISE = frozenset({
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2",
    "atanh", "bessel_i0e", "bessel_i1e", "bitcast_convert_type", "cbrt", "ceil", "clamp",
    "clz", "complex", "conj", "convert_element_type", "cos", "cosh", "digamma", "div", "eq",
    "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt", "igamma",
    "igammac", "imag", "integer_pow", "is_finite", "le", "lgamma", "log", "log1p",
    "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not", "or",
    "polygamma", "population_count", "pow", "real", "reduce_precision",
    "regularized_incomplete_beta", "rem", "round", "rsqrt", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt",
    "square", "sub", "tan", "tanh", "xor", "zeta",
})
# fmt: on

# IEEE addition and multiplication are commutative, and not associative.
COMMUTATIVE = frozenset({"add", "add_any", "mul", "and", "or", "xor", "eq", "ne"})
# Of floats, which zero and which NaN comes back may depend on the order.
INTEGER_COMMUTATIVE = frozenset({"max", "min"})

# The same comparison read from the other side.
FLIPPED = {"gt": ("lt", True), "ge": ("le", True), "add_any": ("add", False)}

# What leaves its first operand as it is, bit for bit: the operation and the second operand.
NEUTRAL = {"mul": 1, "div": 1, "sub": 0}
# Differentiation starts sums at zero, or does not; that the other summand stays as it is
# but for the sign of a zero is what compilers take for granted as well.
NEUTRAL_SUMS = {"add_any": 0}
NEUTRAL_INTEGERS = {"add": 0, "or": 0, "xor": 0, "shift_left": 0}

# Parts of the names of operations that are not functions of their operands.
HOST = ("callback", "infeed", "outfeed", "rng_uniform")
