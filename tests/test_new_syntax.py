"""Syntax that newer versions of Python have: read where they run forscan, else refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import FileResult

HEAD = "import jax\nimport jax.numpy as jnp\n\n"
LOOP = "    for i in range(4):\n        x = 0.5 * x + ws[i]\n"
SCAN = """\
    def step(x, ws_i):
        x = 0.5 * x + ws_i
        return x, None

    x, _ = jax.lax.scan(step, x, ws[:4], length=4)
"""
ALIAS = "type Pair[T] = tuple[T, T]\n\n\n"
GENERIC = f"{HEAD}{ALIAS}@jax.jit\ndef f[T](x: T, ws: Pair[T]) -> T:\n{LOOP}    return x\n"
NAMED = f"{HEAD}@jax.jit\ndef f[step](x, ws):\n{LOOP}    y: step = x\n    return y\n"
INNER = f"""{HEAD}@jax.jit
def f(x, ws):
    for i in range(4):
        def g[S](y: S) -> S:
            return y * 2
        x = g(x) + ws[i]
    return x
"""
QUOTES = f"""{HEAD}@jax.jit
def f(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
        print_name(f"{{"a" + f"{{1!r:>{{"4"}}}}"}}"  # kept
                   f"{{
            2  # kept, too
        }}")
    return x
"""
TEXTS = [GENERIC, NAMED, INNER, QUOTES, GENERIC.replace("    x =", "    type L = int\n        x =")]

older = pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python reads it from 3.12 on")
newer = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python reads it from 3.12 on")


def converted(text: str, to: str = "scan") -> FileResult:
    return convert_bytes(text.encode(), Path("a.py"), Config(to=to))


@older
@pytest.mark.parametrize("text", TEXTS)
def test_is_refused_by_older_versions(text: str) -> None:
    result = converted(text)
    assert result.error is not None and result.error.code == "FSC901"
    assert result.after == text.encode()


@newer
def test_type_parameters_are_left_alone() -> None:
    assert converted(GENERIC).after.decode() == GENERIC.replace(LOOP, SCAN)


@newer
def test_type_parameter_is_no_free_name() -> None:
    assert converted(NAMED).after.decode() == NAMED.replace(LOOP, SCAN.replace("step", "body"))


@newer
@pytest.mark.parametrize("text", [GENERIC, NAMED, INNER])
def test_there_and_back(text: str) -> None:
    there = converted(text, "fori")
    assert there.changed
    assert converted(there.after.decode(), "for").after.decode() == text


@newer
@pytest.mark.parametrize("place", ["    for i", "        x ="])
def test_alias_in_the_function(place: str) -> None:
    """In front of the loop it stays, in the loop it is refused."""
    indentation = place[: len(place) - len(place.lstrip())]
    text = GENERIC.replace(place, f"{indentation}type step = int\n{place}")
    result = converted(text)
    (outcome,) = result.outcomes
    if place == "    for i":
        scan = "\n" + SCAN.replace("step", "body")
        assert result.after.decode() == text.replace(LOOP, scan)
    else:
        assert [r.code for r in outcome.reasons] == ["FSC304"]


@newer
def test_quotes_in_quotes() -> None:
    """Whatever becomes of the loop, no comment and no quote is lost."""
    text = QUOTES.replace("print_name(", "name = (")
    result = converted(text)
    assert result.changed
    assert result.after.decode().count("# kept") == 2
    assert 'f"{"a" + f"{1!r:>{"4"}}"}"' in result.after.decode()
