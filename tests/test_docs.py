"""What is written about forscan is what forscan does."""

from __future__ import annotations

import re

from forscan.diagnostics.codes import REGISTRY
from forscan.diagnostics.explain import markdown
from tests.conftest import FIXTURES, ROOT


def test_page_of_codes_is_the_registry() -> None:
    """Made anew by: python -c 'from forscan.diagnostics.explain import markdown; print(markdown(), end="")'"""
    assert (ROOT / "docs" / "codes.md").read_text() == markdown()


def test_every_refusal_has_an_example_that_is_run() -> None:
    shown = {p.stem.partition("_")[0] for p in FIXTURES.glob("refuse/*.py")}
    reachable = {
        code
        for code in REGISTRY
        if re.match(r"FSC[2345]", code) and code not in {"FSC307", "FSC411"}
    }
    assert reachable <= shown


def test_readme_shows_what_convert_writes() -> None:
    """The example of the README is a fixture."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, re.S)
    loop = (FIXTURES / "loops" / "rollout" / "loop.py").read_text()
    scan = (FIXTURES / "loops" / "rollout" / "loop.to_scan.py").read_text()
    assert blocks[0] in loop
    assert blocks[1] in scan


def test_start_commands_stand_on_one_line() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 2
    assert all(block.count("\n") == 1 for block in blocks[:2])


def test_public_names_do_what_the_package_says() -> None:
    import forscan

    path = FIXTURES / "loops" / "rollout" / "loop.py"
    result = forscan.convert(path.read_bytes(), path, forscan.Config(to="scan"))
    assert result.after == path.with_name("loop.to_scan.py").read_bytes()
    assert [o.status for o in result.outcomes] == [forscan.Status.CONVERTED]
    assert all(getattr(forscan, name) is not None for name in forscan.__all__)
