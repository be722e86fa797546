"""The examples: every pair reads as intended, and both sides compute the same.

A fixture `loops/<topic>/<case>.py` has a CALL, and beside it what it becomes:
`<case>.to_scan.py`, `<case>.to_fori.py`, `<case>.to_for.py`. Its SHORT, where it has one, is a
call without an iteration: the conversion may raise then, and never differ. Those in `typed` need to
know what the CALL shows about the values. A fixture `refuse/<code>_<case>.py` stays as it
is, for the reason that its name says.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.facts import NO_FACTS, Facts
from forscan.types import Status
from forscan.verify import observe_source
from tests.conftest import FIXTURES, runnable
from tests.running import assert_same, call, gradient, jaxpr, load

PAIRS = sorted(FIXTURES.glob("loops/*/*.to_*.py"))
REFUSED = sorted(FIXTURES.glob("refuse/*.py"))
# Lines of a jaxpr from which on compiling the gradient of an unrolled loop takes too long.
LONG = 250


def original(pair: Path) -> tuple[Path, str]:
    """The file that a pair belongs to, and the form that it was converted to."""
    case, _, form = pair.stem.rpartition(".to_")
    return pair.with_name(f"{case}.py"), form


SHORT = [p for p in PAIRS if "\nSHORT = " in original(p)[0].read_text()]


@cache
def shown_by_call(path: Path) -> Facts:
    """What the CALL of a fixture shows, in a process of its own as for the command."""
    text = load(path.read_bytes(), path).CALL
    facts, failed = observe_source(path.read_bytes(), path, [text])
    assert not failed
    return facts


@cache
def computed(path: Path) -> tuple[Any, Any]:
    """The values and the gradient of a fixture's CALL, which all its pairs are compared with."""
    module = load(path.read_bytes(), path)
    values = call(module, module.CALL)
    if jaxpr(module, module.CALL).count("\n") > LONG:
        return values, None
    try:
        return values, gradient(module, module.CALL)
    except Exception:  # there is no reverse derivative: nothing to compare
        return values, None


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("pair", runnable(PAIRS), ids=ids)
def test_converts_as_written(pair: Path) -> None:
    path, form = original(pair)
    facts = shown_by_call(path) if path.parent.name == "typed" else NO_FACTS
    result = convert_bytes(path.read_bytes(), path, Config(to=form), facts=facts)
    assert result.after.decode() == pair.read_text()
    again = convert_bytes(result.after, path, Config(to=form), facts=facts)
    assert again.after == result.after


@pytest.mark.parametrize("pair", runnable(PAIRS), ids=ids)
def test_computes_the_same(pair: Path) -> None:
    path, _ = original(pair)
    values, slopes = computed(path)
    new = load(pair.read_bytes(), path)
    assert_same(values, call(new, new.CALL))
    if slopes is not None:
        assert_same(slopes, gradient(new, new.CALL))


@pytest.mark.parametrize("pair", SHORT, ids=ids)
def test_no_iteration_is_the_same_or_loud(pair: Path) -> None:
    path, _ = original(pair)
    old, new = load(path.read_bytes(), path), load(pair.read_bytes(), path)
    expected = call(old, old.SHORT)
    try:
        found = call(new, old.SHORT)
    except (IndexError, TypeError, ValueError):
        return
    assert_same(expected, found)


@pytest.mark.parametrize("path", REFUSED, ids=ids)
def test_refuses_with_the_code(path: Path) -> None:
    code = path.stem.partition("_")[0]
    module = load(path.read_bytes(), path)
    result = convert_bytes(path.read_bytes(), path, Config(to=getattr(module, "TO", "scan")))
    assert result.after == path.read_bytes()
    refused = [o for o in result.outcomes if o.status is Status.REFUSED]
    codes = {r.code for o in refused for r in o.reasons}
    assert code in codes
    assert all(r.message and r.help for o in refused for r in o.reasons)


@pytest.mark.parametrize("path", REFUSED, ids=ids)
def test_what_is_refused_runs(path: Path) -> None:
    """A refusal is about programs that work."""
    module = load(path.read_bytes(), path)
    if hasattr(module, "CALL"):
        call(module, module.CALL)
