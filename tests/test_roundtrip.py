"""There and back again: two conversions of a loop and its return are the same scan.

What a `for` becomes, taken back to a `for` and converted again, has the same jaxpr; so
nothing is lost on the way, and nothing grows from trip to trip.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import Status
from tests.conftest import FIXTURES
from tests.running import jaxpr, load

SCANS = sorted(FIXTURES.glob("loops/*/*.to_scan.py"))
BACK = sorted(FIXTURES.glob("loops/*/*.to_for.py"))


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem.partition('.')[0]}"


def there(source: bytes, path: Path, to: str) -> bytes:
    """The conversion; the test is of no interest where a loop is refused."""
    result = convert_bytes(source, path, Config(to=to))
    if any(o.status is Status.REFUSED for o in result.outcomes):
        pytest.skip("a loop of this fixture is refused on the way")
    return result.after


def plain(text: str) -> str:
    """A jaxpr without what its functions are called."""
    return re.sub(r"name=\w+|0x[0-9a-f]+", "", text)


@pytest.mark.parametrize("pair", SCANS, ids=ids)
def test_scan_to_for_and_back(pair: Path) -> None:
    first = pair.read_bytes()
    back = there(first, pair, "for")
    second = there(back, pair, "scan")
    modules = [load(s, pair) for s in (first, second)]
    one, two = (plain(jaxpr(m, m.CALL)) for m in modules)
    assert one == two


@pytest.mark.parametrize("pair", BACK, ids=ids)
def test_for_to_scan_and_back_does_not_grow(pair: Path) -> None:
    first = pair.read_bytes()
    second = there(there(first, pair, "scan"), pair, "for")
    third = there(there(second, pair, "scan"), pair, "for")
    assert len(third) <= len(second) + 8
