"""The verifier on wrong versions: none is proved, each is found to be different."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import pytest

from forscan.verify.child import judge
from tests.conftest import FIXTURES, needs_newer_jax
from tests.mutate import EDITS, mutants
from tests.running import assert_same, call, load
from tests.test_prove import OTHER_ROUNDING

# Without those that take long to compile.
PAIRS = [
    p
    for p in sorted(FIXTURES.glob("loops/*/*.to_*.py"))
    if p.parent.name != "rollout" and not needs_newer_jax(p)
]
EACH = 4  # wrong versions of a kind, each of another pair
TRIED = 20  # versions of a kind that are looked at: some compute the same
# Most loops compute the same without them: where to look first, and how many there are.
RARE = {"strong index": ("types", 2), "dropped cast": ("types", 3)}


@cache
def original(pair: Path) -> ModuleType:
    """The module that a pair starts from."""
    path = pair.with_name(f"{pair.stem.rpartition('.to_')[0]}.py")
    return load(path.read_bytes(), path)


@pytest.fixture(autouse=True)
def untimed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is timed here: what was traced once may stay, and compiling may be short."""
    monkeypatch.setattr(jax, "clear_caches", lambda: None)
    monkeypatch.setattr(judge, "costs", lambda old, new: (None, None))
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


class Proved(Exception):
    """There is an answer already: nothing needs to be compiled."""


def status(old: ModuleType, new: ModuleType) -> str:
    def early(answer: dict[str, Any]) -> None:
        raise Proved

    until = time.monotonic() + 60
    try:
        verdict = judge.Judge(old, new, old.CALL, until, lambda stage: None, early).verdict()
    except Proved:
        return "equal"
    return str(verdict["status"])


def versions(kind: str) -> Iterator[tuple[Path, ModuleType]]:
    """One version of a kind of each of some pairs, other pairs for other kinds."""
    first = 7 * list(EDITS).index(kind) % len(PAIRS)
    if kind in RARE:
        first = [p.parent.name for p in PAIRS].index(RARE[kind][0])
    texts = ((p, next(mutants(p.read_text(), kind), "")) for p in PAIRS[first:] + PAIRS[:first])
    for pair, text in islice(filter(itemgetter(1), texts), TRIED):
        yield pair, load(text.encode(), pair)


def computes_the_same(pair: Path, version: ModuleType) -> bool:
    """Whether a version gives the same when it is simply called."""
    old = original(pair)
    try:
        assert_same(call(old, old.CALL), call(version, old.CALL))
    except (AssertionError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("kind", EDITS)
def test_wrong_versions_differ(kind: str) -> None:
    """What is not found to differ was no wrong version."""
    count = 0
    for pair, version in versions(kind):
        if status(original(pair), version) == "different":
            count += 1
        else:
            assert computes_the_same(pair, version), pair.stem
        if count == EACH:
            break
    assert count == (RARE[kind][1] if kind in RARE else EACH)


@pytest.mark.parametrize("name", sorted(OTHER_ROUNDING))
def test_right_pair_that_is_not_proved_is_measured(name: str) -> None:
    """The others are proved."""
    (pair,) = FIXTURES.glob(f"loops/*/{name}.py")
    if why := needs_newer_jax(pair):
        pytest.skip(why)
    assert status(original(pair), load(pair.read_bytes(), pair)) == "equal"
