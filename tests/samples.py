"""Modules that several tests convert."""

# One loop that can be converted; line 6.
DECAY = """\
import jax


@jax.jit
def decay(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x
"""

DECAY_SCAN = """\
import jax


@jax.jit
def decay(x, ws):
    def step(x, ws_i):
        x = 0.5 * x + ws_i
        return x, None

    x, _ = jax.lax.scan(step, x, ws[:4], length=4)
    return x
"""

# One loop of each kind: convertible at 7, refused at 14, not traced at 21.
MIXED = """\
import jax
import jax.numpy as jnp


@jax.jit
def decay(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x


@jax.jit
def noisy(x):
    for i in range(4):
        print(i)
        x = jnp.sin(x)
    return x


def plain(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x
"""


# How the loops of `long_text` begin their lines.
LOOPS = ("    for", "    x, _ = jax.lax.scan")


def long_text(lines: int, sample: str = DECAY) -> str:
    """A module of at least that many lines, with DECAY or DECAY_SCAN as every fourth function."""
    pieces = ["import jax\nimport jax.numpy as jnp\n"]
    while sum(p.count("\n") for p in pieces) < lines:
        number = len(pieces)
        loop = sample.replace("import jax\n", "").replace("decay", f"decay_{number}")
        other = f"\n\ndef other_{number}(x, y):\n    z = jnp.sin(x) + y\n    return z - y * 2\n"
        pieces.append(loop.replace("4", "50") + other * 3)
    return "".join(pieces)
