"""There and back again: two conversions of a loop and its return are the same program.

What a `for` becomes, taken back to a `for` and converted again, has the same jaxpr; and
so has a scan or fori_loop that was a `for` in between. Nothing is lost on the way, and
nothing grows from trip to trip.
"""

from __future__ import annotations

import re
from pathlib import Path

import jax
import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import Outcome, Selection, Status
from tests.conftest import FIXTURES, runnable
from tests.running import assert_same, call, jaxpr, load

SCANS = sorted(FIXTURES.glob("loops/*/*.to_scan.py"))
FORIS = sorted(FIXTURES.glob("loops/*/*.to_fori.py"))
BACK = sorted(FIXTURES.glob("loops/*/*.to_for.py"))
LAX = [path.with_name(path.name.replace(".to_for", "")) for path in BACK]

_INLINED = "the body was called, and is called inside of another one"
_ORDER = "the parts of the state, or of the slices, come in another order"
_LESS = "a hint, or an output that nobody reads, is left out"
_FORM = "it was no scan and no fori_loop"
_CUT = "the parts of a zip, which may differ in length, are cut to the shortest"
_INDEX = "an index that counts down is an element on the way back"
_READS = "reads at the index are slices on the way back"
_SHARED = "the two calls do not share one body any more, which a jaxpr shows"
OTHER_PROGRAMS = {
    "appends/several": _INDEX,
    "iterables/enumerate_slice": _CUT,
    "typed/zipped_lists": _CUT,
    "algorithm/training_step": _INLINED,
    "algorithm/training_step_tuned": _LESS,
    "back/both_ways": _SHARED,
    "back/comments": _ORDER,
    "back/counted_backwards": _READS,
    "back/gradient_descent": _ORDER,
    "back/map_pairs": _FORM,
    "back/map_rows": _FORM,
    "back/newton": _FORM,
    "back/numbered": _ORDER,
    "back/one_item_of_outputs": _ORDER,
    "back/packed_state": _ORDER,
    "back/shared_body": _LESS,
    "back/unroll": _LESS,
    "back/ys_in_part": _LESS,
    "textbook/leapfrog": _ORDER,
}
"""Examples that come back as another program of the same values, and why."""


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem.partition('.')[0]}"


def converted(source: bytes, path: Path, to: str) -> tuple[bytes, list[Outcome]]:
    result = convert_bytes(source, path, Config(to=to))
    return result.after, [o for o in result.outcomes if o.status is Status.REFUSED]


def there(source: bytes, path: Path, to: str) -> bytes:
    """The conversion; the test is of no interest where a loop is refused."""
    after, refused = converted(source, path, to)
    if refused:
        pytest.skip(f"refused on the way: {refused[0].code} {refused[0].message}")
    return after


def plain(text: str) -> str:
    """A jaxpr without what its functions are called."""
    return re.sub(r"name=\w+|0x[0-9a-f]+", "", text)


def assert_same_program(first: bytes, second: bytes, path: Path) -> None:
    """One program, but for the examples that come back as another of the same values."""
    one, two = (load(source, path) for source in (first, second))
    if ids(path) in OTHER_PROGRAMS:
        assert_same(call(one, one.CALL), call(two, two.CALL))
        return
    assert plain_of(first, path) == plain_of(second, path)


def plain_of(source: bytes, path: Path) -> str:
    module = load(source, path)
    return plain(jaxpr(module, module.CALL))


@pytest.mark.parametrize("pair", runnable(SCANS), ids=ids)
def test_scan_to_for_and_back(pair: Path) -> None:
    first = pair.read_bytes()
    back = there(first, pair, "for")
    assert_same_program(first, there(back, pair, "scan"), pair)


@pytest.mark.parametrize("pair", runnable(FORIS), ids=ids)
def test_fori_to_for_and_back(pair: Path) -> None:
    first = pair.read_bytes()
    if b"lax.scan(" in first:
        pytest.skip("its scans would become fori_loops")
    back = there(first, pair, "for")
    assert_same_program(first, there(back, pair, "fori"), pair)


@pytest.mark.parametrize("path", runnable(LAX), ids=ids)
def test_written_by_hand_and_back(path: Path) -> None:
    first = path.read_bytes()
    to = "fori" if b"fori_loop" in first else "scan"
    back = there(there(first, path, "for"), path, to)
    again = there(there(back, path, "for"), path, to)
    assert plain_of(back, path) == plain_of(again, path)
    assert_same_program(first, back, path)


@pytest.mark.parametrize("pair", runnable(BACK), ids=ids)
def test_for_to_scan_and_back_does_not_grow(pair: Path) -> None:
    first = pair.read_bytes()
    second = there(there(first, pair, "scan"), pair, "for")
    third = there(there(second, pair, "scan"), pair, "for")
    assert third == second


@pytest.mark.parametrize("path", runnable(LAX), ids=ids)
def test_scan_and_fori_are_one_another(path: Path) -> None:
    """By its line, a scan without outputs becomes a fori_loop, and a fori_loop a scan."""
    first = path.read_bytes()
    lines = [n for n, line in enumerate(first.splitlines(), 1) if re.search(rb"lax\.\w+\(", line)]
    for to in ("scan", "fori"):
        result = convert_bytes(first, path, Config(to=to), *(Selection(line=n) for n in lines))
        one, two = (load(source, path) for source in (first, result.after))
        assert_same(call(one, one.CALL), call(two, two.CALL))


CALLING = """\
import jax
import jax.numpy as jnp
from jax import lax

SEEN = []
CALL = "everything(jnp.arange(3.0))"


def note(x):
    jax.debug.callback(SEEN.append, x)
    return x


@jax.jit
def everything(xs):
    total, _ = lax.scan(lambda c, x: (c + x, jax.debug.callback(SEEN.append, x)), 0.0, xs)
    _, _ = lax.scan(lambda c, x: (jax.debug.callback(SEEN.append, x), None), None, xs)
    last, _ = lax.scan(lambda c, x: (x, note(x)), 0.0, xs)
    return total, last
"""


def test_calls_to_the_host_stay(tmp_path: Path) -> None:
    """Also where nobody wants what stands beside them."""
    path = tmp_path / "calling.py"
    result = convert_bytes(CALLING.encode(), path, Config(to="for"))
    assert [o.status for o in result.outcomes] == [Status.CONVERTED] * 3
    seen = []
    for source in (result.before, result.after):
        module = load(source, path)
        jax.block_until_ready(call(module, module.CALL))
        jax.effects_barrier()
        seen.append(sorted(map(float, module.SEEN)))
    assert seen[0] == seen[1] == sorted([0.0, 1.0, 2.0] * 3)
