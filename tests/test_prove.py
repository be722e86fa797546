"""The prover: what is the same is shown to be, and what is not never is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from forscan.verify.child.call import Call
from forscan.verify.child.prove import proved
from forscan.verify.child.trips import few_trips
from tests.conftest import FIXTURES, runnable
from tests.running import arguments, function, load

PAIRS = sorted(FIXTURES.glob("loops/*/*.to_*.py"))
X = jnp.arange(4.0)
HALF = jnp.ones(2, jnp.bfloat16)
TABLE = jnp.arange(12.0).reshape(4, 3)

# They compute in half precision what Python computes in double precision, or in batches; or the
# blocks of a reshaped array are not seen to be its columns.
OTHER_ROUNDING = {
    "arithmetic.to_fori",
    "arithmetic.to_scan",
    "map_rows.to_for",
    "named_bounds.to_scan",
}


@pytest.mark.parametrize("pair", runnable(PAIRS), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_fixtures_are_proved(pair: Path) -> None:
    path = pair.with_name(f"{pair.stem.rpartition('.to_')[0]}.py")
    old, new = load(path.read_bytes(), path), load(pair.read_bytes(), path)
    name, args, kwargs = arguments(old, old.CALL)
    proof = proved(function(old, name), function(new, name), *args, **kwargs)
    assert bool(proof) is (pair.stem not in OTHER_ROUNDING), proof.reason


def unrolled(body: Callable[[int, Any], Any], trips: int) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for i in range(trips):
            x = body(i, x)
        return x

    return run


def looped(body: Callable[[Any, Any], Any], trips: int) -> Callable[[Any], Any]:
    return lambda x: lax.fori_loop(0, trips, body, x)


BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "read": lambda i, x: x * TABLE[:, 1] + x[i],
    "read from the end": lambda i, x: jnp.roll(x, 1) * x[-i - 1],
    "window": lambda i, x: x * lax.dynamic_slice(TABLE, (i, 1), (1, 2)).sum(),
    "write": lambda i, x: x.at[i].set(x[3 - i] * 2),
    "write a slice": lambda i, x: lax.dynamic_update_slice(x, jnp.sin(x[1:3]), (i,)),
    "remainder": lambda i, x: jnp.where(i % 2 == 0, x + 1, x * 2),
    "branch": lambda i, x: lax.cond(i < 2, jnp.sin, jnp.cos, x),
    "unknown branch": lambda i, x: lax.cond(x[i] < 2, jnp.sin, jnp.cos, x),
    "switch": lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x),
    "inner loop": lambda i, x: lax.fori_loop(0, i + 1, lambda j, y: y + x[j] * i, x),
    "unknown inner loop": lambda i, x: lax.while_loop(
        lambda y: y[0] < 3.0, lambda y: y + x[i] + 1, x
    ),
    "jit": lambda i, x: jax.jit(jnp.tanh)(x) + i,
    "remat": lambda i, x: jax.checkpoint(jnp.tanh)(x) + i,
    "custom derivative": lambda i, x: jax.nn.relu(x) + i,
    "random": lambda i, x: x + jax.random.normal(jax.random.fold_in(jax.random.key(1), i), (4,)),
    "sort": lambda i, x: jnp.sort(x) + x[i],
    "outer product": lambda i, x: jnp.outer(x, x)[i] @ TABLE @ TABLE.T,
    "half precision": lambda i, x: (x.astype(jnp.bfloat16) * i).astype(jnp.float32),
}


@pytest.mark.parametrize("name", BODIES)
def test_equal(name: str) -> None:
    body = BODIES[name]
    proof = proved(unrolled(body, 4), looped(body, 4), X)
    assert proof, proof.reason


@pytest.mark.parametrize("name", BODIES)
def test_one_round_less_is_not_equal(name: str) -> None:
    assert not proved(unrolled(BODIES[name], 3), looped(BODIES[name], 4), X)


def doubled(x: Any) -> Any:
    return x * 2


# Pairs that are not the same function, though some of them nearly are.
WRONG: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "association": (lambda x: x[0] + x[1] + x[2], lambda x: x[0] + (x[1] + x[2]), (X,)),
    "sign of zero": (lambda x: x + 0.0, lambda x: x, (X,)),
    "subtraction": (lambda x: x[0] - x[1], lambda x: x[1] - x[0], (X,)),
    "dtype": (lambda x: x, lambda x: x.astype(jnp.float16), (X,)),
    "weak type": (lambda x: x * 2.0 * HALF, lambda x: jnp.float32(x) * 2.0 * HALF, (0.5,)),
    "one result less": (lambda x: (x, x), lambda x: x, (X,)),
    "structure": (lambda x: (x, x), lambda x: [x, x], (X,)),
    "python value": (lambda x: (x, 1), lambda x: (x, 2), (X,)),
    "zero and minus zero": (lambda x: x * 0.0, lambda x: x * -0.0, (X,)),
    "another constant": (lambda x: x + TABLE[0, 0], lambda x: x + TABLE[0, 1], (X,)),
    "large constant": (
        lambda x: x @ np.arange(8000.0).reshape(4, 2000),
        lambda x: x @ np.r_[np.arange(7999.0), 7.0].reshape(4, 2000),
        (X,),
    ),
    "order of writes": (
        lambda x: x.at[jnp.array([1, 1])].set(jnp.array([5.0, 6.0])),
        lambda x: x.at[1].set(5.0),
        (X,),
    ),
    "clipped read": (
        lambda x: lax.dynamic_slice(x, (3,), (2,)),
        lambda x: jnp.stack([x[3], x[3]]),
        (X,),
    ),
    "wrapped integer": (lambda n: n * (2**31 - 1) * 2, lambda n: n * -3, (jnp.arange(3),)),
    "shadowed argument": (
        lambda x: lax.while_loop(lambda y: y[0] < 9, lambda y: y + x, x),
        lambda x: lax.while_loop(lambda y: y[0] < 9, lambda y: y + y, x),
        (X,),
    ),
    "counting too far": (
        lambda x: x[0] + lax.iota(jnp.bfloat16, 400),
        lambda x: x[0] + jnp.minimum(lax.iota(jnp.bfloat16, 400), 256),
        (X.astype(jnp.bfloat16),),
    ),
    "other half": (lambda x: jnp.split(x, 2)[0], lambda x: jnp.split(x, 2)[1], (X,)),
    "callback": (
        lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, X, x),
        lambda x: jax.pure_callback(lambda y: np.asarray(y) * 3, X, x),
        (X,),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_not_equal(name: str) -> None:
    old, new, args = WRONG[name]
    proof = proved(old, new, *args)
    assert not proof
    assert proof.reason


def test_what_calls_the_host_is_not_proved() -> None:
    def noisy(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x

    for f in (noisy, lambda x: jax.pure_callback(np.sin, X, x)):
        proof = proved(f, f, X)
        assert not proof
        assert "effects" in proof.reason or "host" in proof.reason


def test_long_loops_end_soon() -> None:
    proof = proved(looped(lambda i, x: jnp.sin(x) + i, 10**9), doubled, X)
    assert "too many" in proof.reason
    proof = proved(
        lambda x: lax.while_loop(lambda s: s[0] < 10**9, lambda s: (s[0] + 1, s[1] + 1), (0, x)),
        doubled,
        X,
    )
    assert not proof


def test_large_arrays_need_not_be_written_out() -> None:
    large = jax.ShapeDtypeStruct((4000, 4000), jnp.float32)

    def body(i: Any, x: Any) -> Any:
        return jnp.tanh(x) * i

    assert proved(unrolled(body, 50), looped(body, 50), jnp.zeros(large.shape, large.dtype))


def summed(last: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    def run(x: Any, steps: int) -> Any:
        return last(lax.scan(lambda c, _: (c + 1, c), x, length=steps), steps)

    return run


@pytest.mark.parametrize(
    "name, new, loud",
    [
        ("no difference", lambda out, steps: out[1], None),
        ("never none", lambda out, steps: out[1] if steps else 1 / 0, True),
        ("another last round", lambda out, steps: out[1] * (2 if steps == 1 else 1), False),
    ],
)
def test_few_iterations(name: str, new: Callable[[Any, int], Any], loud: bool | None) -> None:
    """A number of the call may be the trip count: what holds for five need not for none."""
    old = summed(lambda out, steps: out[1])
    found = few_trips(Call(old, (X, 5), {}), Call(summed(new), (X, 5), {}))
    assert bool(found.reason) is (loud is not None)
    if loud is not None:
        assert found.loud is loud
        assert found.reason.startswith(f"with {0 if loud else 1} in place of 5 ")


def test_tables_and_rows() -> None:
    """Computed at once outside, or row by row inside."""

    def outside(x: Any, w: Any) -> Any:
        rows = jnp.exp(w) * 2
        return lax.scan(lambda c, r: (c + r, c), x, rows)

    def inside(x: Any, w: Any) -> Any:
        ys = []
        for i in range(4):
            ys.append(x)
            x = x + jnp.exp(w[i]) * 2
        return x, jnp.stack(ys)

    assert proved(outside, inside, TABLE[0], TABLE)
    wide = jnp.zeros((4, 100))
    assert proved(outside, inside, wide[0], wide)
