"""The rooms of the package: who may import whom, what is loaded when, and the codes.

Imports are read from the source, not run: a wrong one is found before it makes a cycle.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from forscan.diagnostics.codes import REGISTRY, Entry
from tests.conftest import ROOT
from tests.samples import DECAY

PACKAGE = ROOT / "forscan"

# A module may import from its own room and from the floors below it. `flow` is the part of
# the analyses that knows statements and nothing of jax: finding loops stands on it.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("syntax", "diagnostics", "facts"),
    ("keys", "refusal"),
    ("config",),
    ("model", "prefilter", "flow", "format", "selfcheck"),
    ("suppress", "types", "writers"),
    ("find",),
    ("analyse",),
    ("passes",),
    ("readers",),
    ("reshape", "restyle"),
    ("plan",),
    ("chosen", "moved", "notebook"),
    ("rounds",),
    ("api", "unparsable"),
    ("files", "memory", "options", "progress", "recorder", "recording", "streams", "verify"),
    ("tune",),
    ("report",),
    ("cache", "jobs", "record", "verified"),
    ("since", "lsp", "run"),
    ("commands", "tuned"),
    ("cli",),
    ("__main__",),
)
_FLOW = {"forscan.analyse.cfg", "forscan.analyse.dataflow"}

# What is not the standard library, and who may know it.
THIRD_PARTY = {
    "click": {"cli", "commands", "progress", "record", "report", "tuned", "verified"},
    "matplotlib": {"report"},
    "black": {"format"},
    "pygls": {"lsp"},
    "lsprotocol": {"lsp"},
    "jax": {"verify.child"},
    "numpy": {"verify.child", "recorder"},
    "sitecustomize": {"recorder"},
}


def room(module: str) -> str:
    """The room of a dotted module name; the empty name is the package itself."""
    parts = module.split(".")[1:]
    if module in _FLOW:
        return "flow"
    return parts[0] if parts else ""


def modules() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def imports(module: str) -> frozenset[tuple[str, int]]:
    """What a module imports, inside functions and under TYPE_CHECKING as well: name, level."""
    found: set[tuple[str, int]] = set()
    for node in ast.walk(ast.parse(path_of(module).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, 0) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.module == "forscan":  # from forscan import config
                found |= {(f"forscan.{alias.name}", 0) for alias in node.names}
            else:
                found.add((node.module or "", node.level))
    return frozenset(found)


def own_imports(module: str) -> list[str]:
    return [n for n, level in imports(module) if not level and n.split(".")[0] == "forscan"]


def floor(name: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


@pytest.mark.parametrize("module", [m for m in modules() if room(m)])
def test_imports_go_down_only(module: str) -> None:
    here = room(module)
    assert any(here in rooms for rooms in FLOORS), f"{module} stands on no floor"
    for name in own_imports(module):
        there = room(name)
        if not there or there == here or name == "forscan.__version__":
            continue
        assert floor(there) < floor(here), f"{module} imports {name}"


def test_readers_and_writers_do_not_know_each_other() -> None:
    """Otherwise n + m parts become n x m."""
    for module in modules():
        known = {room(name) for name in own_imports(module)}
        if room(module) == "writers":
            assert not known & {"readers", "passes", "analyse", "find"}, module
        if room(module) in ("readers", "passes"):
            assert "writers" not in known, module


def test_readers_know_no_forms_but_their_own() -> None:
    """A reader of `for`, of scan, of map and so on: none imports another."""
    lax = ("scan", "fori_loop", "map", "while_loop", "associative_scan")
    forms = {f"forscan.readers.{name}" for name in ("for_stmt", *lax)}
    forms |= {f"forscan.writers.{name}" for name in ("for_stmt", "scan", "fori_loop")}
    assert forms <= set(modules())
    for module in forms:
        assert not forms & set(own_imports(module)), module


def test_third_party_packages_stay_where_they_belong() -> None:
    for module in modules():
        where = {room(module)}
        if module.startswith("forscan.verify.child"):
            where.add("verify.child")
        for name, level in imports(module):
            top = name.split(".")[0]
            if level or top == "forscan" or top in sys.stdlib_module_names:
                continue
            assert where & THIRD_PARTY.get(top, set()), f"{module} imports {name}"


@pytest.mark.parametrize("folder", ["forscan.verify.child", "forscan.recorder"])
def test_what_runs_elsewhere_stands_on_its_own(folder: str) -> None:
    """It runs under the user's interpreter, where forscan need not be installed."""
    child = [m for m in modules() if m.startswith(folder)]
    assert len(child) > 3
    for module in child:
        assert not own_imports(module), module
        assert all(level <= 1 for _, level in imports(module)), module


def loaded(code: str, folder: Path) -> set[str]:
    """The heavy packages that a process has loaded after running some code."""
    heavy = {"jax", "jaxlib", "numpy", "libcst", "black", "pygls"}
    tail = (
        f"; import json, sys; print(json.dumps([m for m in {sorted(heavy)} if m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + tail],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


QUIET = """\
import jax
import jax.numpy as jnp


def table(names):
    return {name: len(name) for name in names}
"""


def command(*arguments: str) -> str:
    return f"from forscan.cli import main; main({list(arguments)}, standalone_mode=False)"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import forscan.cli", id="import"),
        pytest.param("import forscan.api, forscan.verify, forscan.commands", id="all rooms"),
        pytest.param(command("check", "quiet.py"), id="check without candidates"),
        pytest.param(command("check", "."), id="check"),
        pytest.param(command("convert", "--to", "fori", "loop.py"), id="convert"),
        pytest.param(command("explain", "FSC301"), id="explain"),
    ],
)
def test_loads_nothing_heavy(code: str, tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(QUIET)
    (tmp_path / "loop.py").write_text(DECAY)
    assert loaded(code, tmp_path) == set()


def test_black_is_loaded_for_a_line_that_is_too_long(tmp_path: Path) -> None:
    """The counterpart: the tests above would see it."""
    (tmp_path / "loop.py").write_text(DECAY)
    (tmp_path / "pyproject.toml").write_text("[tool.forscan]\nline-length = 30\n")
    assert loaded(command("convert", "loop.py"), tmp_path) == {"black"}


# The registry of codes.


def codes_in_source() -> dict[str, set[str]]:
    """Code -> the modules that mention it, the registry left out."""
    found: dict[str, set[str]] = {}
    for module in modules():
        if module != "forscan.diagnostics.codes":
            for code in re.findall(r"FSC\d{3}", path_of(module).read_text("utf-8")):
                found.setdefault(code, set()).add(module)
    return found


def test_every_code_that_is_mentioned_is_registered() -> None:
    mentioned = codes_in_source()
    assert len(mentioned) > 20
    assert {c: m for c, m in mentioned.items() if c not in REGISTRY} == {}


@pytest.mark.parametrize("key, entry", REGISTRY.items(), ids=list(REGISTRY))
def test_registry_entry_is_complete(key: str, entry: Entry) -> None:
    assert key == entry.code
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", entry.name)
    assert entry.summary and not entry.summary.endswith(".")
    assert entry.help.endswith(".") or "`" in entry.help
    if not key.startswith("FSC9"):
        assert entry.explanation.endswith(".")
    if not key.startswith(("FSC6", "FSC9")):
        assert entry.example


def test_names_are_unique() -> None:
    """`explain` finds an entry by its name as well."""
    names = [entry.name for entry in REGISTRY.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "entry",
    [e for k, e in REGISTRY.items() if k.startswith(("FSC1", "FSC2", "FSC3", "FSC4", "FSC5"))],
    ids=lambda e: e.code,
)
def test_example_is_python(entry: Entry) -> None:
    """Examples are shown to people: they parse, `return` and `break` at their place or not."""
    lines = "\n".join(f"    {line}" for line in entry.example.splitlines())
    ast.parse(f"def example():\n{lines}\n")
