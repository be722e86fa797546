"""What an exception of the user's code means, in one line."""

from __future__ import annotations

import jax


def line(error: BaseException) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def needs_values(error: Exception) -> bool:
    """Whether tracing failed because the function looks at the values of its data."""
    return isinstance(
        error,
        jax.errors.ConcretizationTypeError
        | jax.errors.TracerArrayConversionError
        | jax.errors.TracerIntegerConversionError
        | jax.errors.NonConcreteBooleanIndexError,
    )
