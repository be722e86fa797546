"""What an exception of the user's code means, in one line."""

from __future__ import annotations

import jax

_LENGTH = 300  # what JAX says about a carry names both types within that


def line(error: BaseException) -> str:
    """An exception in one line."""
    message = " ".join(str(error).split())
    if len(message) > _LENGTH:
        message = f"{message[:_LENGTH].rstrip()} …"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def needs_values(error: Exception) -> bool:
    """Whether tracing failed because the function looks at the values of its data."""
    return isinstance(
        error,
        jax.errors.ConcretizationTypeError
        | jax.errors.TracerArrayConversionError
        | jax.errors.TracerIntegerConversionError
        | jax.errors.NonConcreteBooleanIndexError,
    )
