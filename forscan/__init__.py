"""forscan: rewrites loops in JAX code between `for`, `lax.scan` and `lax.fori_loop`."""

__version__ = "0.1.0"
