"""`forscan check` as a linter: what it leaves out, what is configured, and reports for CI."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from forscan import __version__
from tests.conftest import Run
from tests.samples import DECAY, DECAY_SCAN
from tests.samples import MIXED as ORDINARY

# A message with a sign that workflow commands write in another way.
MIXED = ORDINARY.replace("print(i)", 'print(i, "50%")')


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def table(text: str) -> str:
    return f"[tool.forscan]\n{text}\n"


def codes(forscan: Run, *arguments: str) -> list[tuple[int, str, str]]:
    done = forscan("check", "--output-format", "json", *arguments)
    return [(row["line"], row["status"], row["code"]) for row in json.loads(done.stdout)]


# Workflow commands.


def test_github_commands(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": MIXED, "b.py": "for x in jax (\n"})
    done = forscan("check", "--output-format", "github", "a.py", "b.py")
    assert done.returncode == 2
    form = re.compile(
        r"::(\w+) title=forscan \((FSC\d+) [\w-]+\),file=([^,]+),line=(\d+),endLine=(\d+)"
        r"(?:,col=(\d+),endColumn=(\d+))?::"
    )
    found = [form.match(line) for line in done.stdout.splitlines()]
    assert [m and m.groups() for m in found] == [
        ("warning", "FSC101", "a.py", "7", "8", None, None),
        ("notice", "FSC302", "a.py", "14", "16", None, None),
        ("error", "FSC901", "b.py", "1", "1", "14", "14"),
    ]


def test_github_columns_of_a_loop_on_one_line(forscan: Run, tmp_path: Path) -> None:
    """GitHub takes columns only where a place begins and ends on one line."""
    write(tmp_path, {"a.py": DECAY_SCAN})
    done = forscan("check", "--to", "for", "--output-format", "github", "a.py")
    assert ",line=10,endLine=10,col=12,endColumn=51::" in done.stdout


def test_github_commands_stand_on_one_line_each(forscan: Run, tmp_path: Path) -> None:
    """A way out is a line of its own in the annotation; `%`, `:` and `,` keep their meaning."""
    write(tmp_path, {"50%, a:b.py": MIXED})
    done = forscan("check", "--output-format", "github", str(tmp_path / "50%, a:b.py"))
    first, second = done.stdout.splitlines()
    assert "file=50%25%2C a%3Ab.py,line=7," in first  # from here on, as GitHub knows it
    assert first.endswith("::50%25, a:b.py:7:5: FSC101 this `for` can become `lax.scan`")
    assert "%0A" in second


def test_github_commands_of_a_conversion(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY})
    done = forscan("convert", "--output-format", "github", "a.py")
    assert done.stdout.startswith("::notice title=forscan (FSC101 ")


# SARIF.


def sarif(forscan: Run, *arguments: str) -> dict[str, Any]:
    log = json.loads(forscan("check", "--output-format", "sarif", *arguments).stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_sarif_has_results_and_their_rules(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a b.py": MIXED, "c.py": "for x in jax (\n"})
    run = sarif(forscan, "a b.py", "c.py")
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("forscan", __version__)
    assert [rule["id"] for rule in driver["rules"]] == ["FSC101", "FSC302", "FSC901"]
    assert all(
        rule["shortDescription"]["text"] and rule["help"]["text"] for rule in driver["rules"]
    )
    found = run["results"]
    assert [(r["ruleId"], r["level"]) for r in found] == [
        ("FSC101", "warning"),
        ("FSC302", "note"),
        ("FSC901", "error"),
    ]
    assert all(driver["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in found)
    assert run["invocations"] == [{"executionSuccessful": False}]
    place = found[0]["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == "a b.py" != place["artifactLocation"]["uri"]
    region = {"startLine": 7, "startColumn": 5, "endLine": 8, "endColumn": 28}
    assert place["region"] == region
    related = found[1]["relatedLocations"][0]
    end = {"endLine": 15, "endColumn": 24}
    assert related["physicalLocation"]["region"] == {"startLine": 15, "startColumn": 9, **end}
    for rule in driver["rules"]:
        assert rule["id"] in rule["help"]["markdown"]
        assert rule["help"]["text"] in rule["help"]["markdown"]


def test_sarif_regions_have_ends(forscan: Run, tmp_path: Path) -> None:
    """Of whatever is reported, in whatever kind of file."""
    cells = [{"cell_type": "code", "source": t, "metadata": {}} for t in (MIXED, "for (")]
    files = {
        "a.py": MIXED.replace("range(4):", "range(4):  # forscan: ignore[FSC301]"),
        "b.py": "for x in jax (\n",
        "c.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}),
    }
    write(tmp_path, files)
    (tmp_path / "d.py").write_bytes(b"# \xff jax\nfor x in y: pass\n")
    run = sarif(forscan, *files, "d.py")
    assert {r["ruleId"] for r in run["results"]} == {"FSC101", "FSC302", "FSC901", "FSC903"}
    for result in run["results"]:
        for place in (*result["locations"], *result.get("relatedLocations", ())):
            region = place["physicalLocation"]["region"]
            start = (region["startLine"], region["startColumn"])
            assert (region["endLine"], region["endColumn"]) >= start >= (1, 1)


def test_sarif_of_nothing(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n"})
    assert sarif(forscan, "a.py")["results"] == []


# What is not worth a word.


@pytest.mark.parametrize(
    "setting, status",
    [
        ("", "convertible"),
        ("min-trips = 4", "convertible"),
        ("min-trips = 5", "skipped"),
        ("min-ops = 12", "convertible"),  # four times `*`, `+`, `ws[i]`
        ("min-ops = 13", "skipped"),
    ],
)
def test_short_loops(forscan: Run, tmp_path: Path, setting: str, status: str) -> None:
    write(tmp_path, {"a.py": DECAY, "pyproject.toml": table(setting)})
    code = "FSC101" if status == "convertible" else "FSC106"
    assert codes(forscan, "a.py") == [(6, status, code)]
    assert codes(forscan, "a.py:6") == [(6, "convertible", "FSC101")]  # asked for
    assert forscan("check", "a.py").returncode == (1 if status == "convertible" else 0)
    assert forscan("convert", "--check", "a.py").returncode == 1


@pytest.mark.parametrize(
    "head, trips",
    [
        ("for i in range(6):", 6),
        ("for i in range(2, 12, 2):", 5),
        ("for i in range(N):", 7),
        ("for i in range(len(ws)):", None),
        ("for i, w in enumerate(jnp.zeros((3, 2))):", 3),
        ("for i, w in zip(jnp.zeros(9), jnp.ones(9)):", 9),
        ("for i in reversed(range(8)):", 8),
        ("for i in (0, 1):", 2),
    ],
)
def test_trip_counts(forscan: Run, tmp_path: Path, head: str, trips: int | None) -> None:
    """An unknown one is never too small."""
    text = DECAY.replace("for i in range(4):", head)
    text = text.replace("import jax\n", "import jax\nimport jax.numpy as jnp\n\nN = 7\n", 1)
    for least in (1000,) if trips is None else (trips, trips + 1):
        write(tmp_path, {"a.py": text, "pyproject.toml": table(f"min-trips = {least}")})
        ((_, _, code),) = codes(forscan, "a.py")
        assert code == ("FSC106" if trips is not None and trips < least else "FSC101")


def test_inner_loops_count_as_often_as_they_run(forscan: Run, tmp_path: Path) -> None:
    inner = "for j in range(10):\n            x = 0.5 * x + ws[i]"
    text = DECAY.replace("x = 0.5 * x + ws[i]", inner)
    for least, wanted in ((120, "FSC101"), (121, "FSC106")):
        write(tmp_path, {"a.py": text, "pyproject.toml": table(f"min-ops = {least}")})
        assert codes(forscan, "a.py")[0][2] == wanted


@pytest.mark.parametrize(
    "body, operations",
    [
        ("x = helper(x) + 1", 3),
        ("x = outer(x)", 4),
        ("x = x.at[0].set(jnp.sin(x[0]))", 4),
        ("x = float(3) * x.sum()", 3),
        ("x = elsewhere(x)", None),
        ("x = step(x)", None),
        ("x = again(x)", None),
    ],
)
def test_called_functions_count(
    forscan: Run, tmp_path: Path, body: str, operations: int | None
) -> None:
    """Those of the module; what it does not show is never too small."""
    text = DECAY.replace("x = 0.5 * x + ws[i]", body).replace("(x, ws)", "(x, ws, step)")
    head = """\
import jax
import jax.numpy as jnp
from other import elsewhere


def helper(x):
    return jnp.sin(x) * 2


def outer(x):
    return helper(helper(x))


def again(x):
    return again(x)
"""
    text = text.replace("import jax\n", head, 1)
    write(tmp_path, {"a.py": text, "pyproject.toml": table("min-ops = 1000")})
    found = codes(forscan, "--all", "a.py")
    assert found[0][2] == ("FSC101" if operations is None else "FSC106")
    if operations is not None:
        for least, code in ((4 * operations, "FSC101"), (4 * operations + 1, "FSC106")):
            write(tmp_path, {"pyproject.toml": table(f"min-ops = {least}")})
            assert codes(forscan, "--all", "a.py")[0][2] == code


def test_size_is_told(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY})
    assert (
        "note: JAX writes the body out 4 times: 12 operations in all (4 x 3)"
        in forscan("check", "a.py").stdout
    )


# Suppressions.

LOOP = "    for i in range(4):\n"


@pytest.mark.parametrize(
    "old, new, said",
    [
        (LOOP, "    for i in range(4):  # forscan: ignore\n", None),
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC101]\n", None),
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC102]\n", None),  # for --to for
        (LOOP, "    for i in range(4):  # noqa: FSC302\n", None),  # others may read it
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC302]\n", "a.py:6:25: FSC903"),
        (LOOP, "    for i in range(4):  # forscan: ignore[FSC101, FSC302]\n", "FSC302 here"),
        (LOOP, "    # forscan: ignore[FSC301]\n" + LOOP, "a.py:6:5: FSC903"),
        ("    return x", "    return x  # forscan: ignore", "a.py:8:15: FSC903"),
        ("@jax.jit\n", "", None),
    ],
)
def test_unused_suppressions(
    forscan: Run, tmp_path: Path, old: str, new: str, said: str | None
) -> None:
    write(tmp_path, {"a.py": DECAY.replace(old, new)})
    shown = forscan("check", "--output-format", "concise", "a.py").stdout
    assert ("FSC903" in shown) is (said is not None)
    assert said is None or said in shown
    assert "FSC903" not in forscan("check", "a.py:6").stdout  # the rest was not looked at
    assert "FSC903" not in forscan("convert", "--check", "a.py").stdout
    for output in ("github", "sarif", "json"):
        shown = forscan("check", "--output-format", output, "a.py").stdout
        assert ("FSC903" in shown) is (said is not None)


def test_suppression_that_waits_for_a_trace(forscan: Run, tmp_path: Path) -> None:
    """Nobody knows whether it is of use where the function is not seen to be traced."""
    text = DECAY.replace("@jax.jit\n", "").replace("range(4):", "range(4):  # forscan: ignore")
    write(tmp_path, {"a.py": text})
    assert "FSC903" not in forscan("check", "a.py").stdout


# Configuration.


def test_per_file_ignores(forscan: Run, tmp_path: Path) -> None:
    files = {
        "pyproject.toml": table('per-file-ignores = { "old/*" = ["FSC101"], "b.py" = ["FSC"] }'),
        "old/a.py": MIXED,
        "new/a.py": MIXED,
        "new/b.py": MIXED,
    }
    write(tmp_path, files)
    assert codes(forscan, "new/a.py")[0] == (7, "convertible", "FSC101")
    assert codes(forscan, "old/a.py")[:2] == [(7, "skipped", "FSC101"), (14, "refused", "FSC302")]
    assert {status for _, status, _ in codes(forscan, "new/b.py")} == {"skipped"}
    assert "the configuration says to ignore it" in forscan("check", "old/a.py").stdout
    assert forscan("convert", "--check", "old/a.py").returncode == 0
    with_stdin = forscan("check", "-", "--stdin-filename", "old/x.py", stdin=DECAY)
    assert with_stdin.returncode == 0


def test_patterns_start_at_the_configuration(forscan: Run, tmp_path: Path) -> None:
    """Whatever folder the command runs in, and whatever the folders above are called."""
    project = tmp_path / "old" / "project"
    write(
        project,
        {
            "pyproject.toml": table('exclude = ["old"]\nper-file-ignores = { "m/*" = ["FSC1"] }'),
            "m/a.py": DECAY,
            "b.py": DECAY,
        },
    )
    assert codes(forscan, str(project / "m" / "a.py")) == [(6, "skipped", "FSC101")]
    assert len(codes(forscan, "old")) == 2


@pytest.mark.parametrize(
    "decorator, pattern, found",
    [
        ("@kernel", "@kernel", True),
        ("@kernel", "@tools.kernel", True),
        ("@kernel(fast=True)", "@*.kernel", True),
        ("@kernel", "kernel", False),
        ("@kernel", "@other", False),
    ],
)
def test_traced_decorators(
    forscan: Run, tmp_path: Path, decorator: str, pattern: str, found: bool
) -> None:
    text = DECAY.replace("@jax.jit", decorator).replace(
        "jax\n", "jax\nfrom tools import kernel\n", 1
    )
    write(tmp_path, {"a.py": text, "pyproject.toml": table(f'traced = ["{pattern}"]')})
    assert (codes(forscan, "a.py")[0][1] == "convertible") is found


def test_force_exclude(forscan: Run, tmp_path: Path) -> None:
    """As pre-commit needs it, which names each file."""
    write(tmp_path, {"pyproject.toml": table('exclude = ["v/old", "x.py"]')})
    write(tmp_path, {"v/old/deep/a.py": DECAY, "x.py": DECAY, "y.py": DECAY})
    named = ("v/old/deep/a.py", "x.py", "y.py")
    assert len(codes(forscan, *named)) == 3
    assert len(codes(forscan, "--force-exclude", *named)) == 1


@pytest.mark.parametrize(
    "text, parts",
    [
        ("min-trips = -1", ["min-trips", "from 0"]),
        ("min-ops = 1.5", ["min-ops", "int"]),
        ("per-file-ignores = ['FSC101']", ["per-file-ignores", "table"]),
        ("per-file-ignores = { a = 'FSC101' }", ["per-file-ignores", "list"]),
        ("per-file-ignores = { a = ['E501'] }", ["per-file-ignores", "'E501'", "FSC301"]),
        ("calls = { a = [1] }", ["calls", "strings"]),
    ],
)
def test_wrong_settings(forscan: Run, tmp_path: Path, text: str, parts: list[str]) -> None:
    write(tmp_path, {"pyproject.toml": table(text), "a.py": DECAY})
    for command in ("check", "config"):
        done = forscan(command, "a.py")
        assert done.returncode == 2
        assert all(part in done.stderr for part in [*parts, "pyproject.toml"])


def test_config_shows_what_holds_and_why(forscan: Run, tmp_path: Path) -> None:
    settings = (
        'to = "fori"\nmin-trips = 8\ntraced = ["Env.step"]\nexclude = ["sub"]\n'
        'per-file-ignores = { "sub/*" = ["FSC302"] }\ncalls = { "a.py" = ["f(1)"] }'
    )
    write(tmp_path, {"pyproject.toml": table(settings), "sub/a.py": DECAY})
    done = forscan("config", "sub/a.py")
    assert done.returncode == 0
    shown = tomllib.loads(done.stdout)["tool"]["forscan"]  # it can be pasted
    assert {k: shown[k] for k in tomllib.loads(settings)} == tomllib.loads(settings)
    assert shown["line-length"] == 88
    lines = done.stdout.splitlines()
    origin = {line.split(" = ")[0]: line.rpartition("  # ")[2] for line in lines if "  # " in line}
    assert origin["to"] == str(tmp_path / "pyproject.toml")
    assert origin["line-length"] == "default"
    assert "# sub/a.py is excluded where folders are walked" in lines
    assert "# in sub/a.py these are not reported: FSC302" in lines
    assert "# sub/a.py is verified by f(1)" in lines
    assert forscan("config", "missing").returncode == 2


def test_config_without_a_file(forscan: Run) -> None:
    done = forscan("config")
    assert done.returncode == 0
    assert all("# default" in line for line in done.stdout.splitlines()[1:])


CALLED = DECAY.replace("import jax\n", "import jax\nimport jax.numpy as jnp\n", 1)
CALLS = table('calls = { "a.py" = ["decay(jnp.ones(2), jnp.ones((4, 2)))"] }')


def test_configured_calls(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": CALLS, "a.py": CALLED, "b.py": CALLED})
    done = forscan("verify", "a.py")
    assert (done.returncode, "equal" in done.stdout) == (0, True)
    short = forscan("verify", "a.py", "--output-format", "concise").stdout
    assert short.startswith("equal") and short.count("\n") == 1
    assert forscan("verify", "b.py").returncode == 2
    done = forscan("convert", "--verify", "a.py", "b.py")
    assert "lax.scan" in (tmp_path / "a.py").read_text()
    assert (tmp_path / "b.py").read_text() == CALLED  # nothing says how to verify it
    assert "b.py:7:5: refused [FSC602" in done.stdout


def test_configured_calls_run_only_when_asked(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": CALLS, "a.py": "open('ran', 'w')\n" + CALLED})
    for command in (("check",), ("convert", "--check"), ("config",)):
        forscan(*command, "a.py")
        assert not (tmp_path / "ran").exists()


# Only what has changed.


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, {"a.py": MIXED, "sub/b.py": DECAY})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def lines_since(forscan: Run, *targets: str) -> list[int]:
    found = codes(forscan, "--since", "main", *targets)
    return [line for line, _, _ in found]


def test_since_asks_about_changed_loops_only(forscan: Run, repository: Path) -> None:
    assert lines_since(forscan, ".") == []
    write(repository, {"a.py": MIXED.replace("jnp.sin(x)", "jnp.cos(x)")})
    assert lines_since(forscan, ".") == [14]
    assert lines_since(forscan, "a.py::decay") == []
    write(repository, {"a.py": MIXED.replace("    return x", "    return x + 1", 1)})
    assert lines_since(forscan, ".") == []
    write(repository, {"a.py": MIXED.replace('        print(i, "50%")\n', "")})
    assert lines_since(forscan, ".") == [14]  # a line is gone


def test_since_converts_changed_loops_only(forscan: Run, repository: Path) -> None:
    other = DECAY.replace("decay", "other").partition("@")[2].replace("0.5", "0.7")
    write(repository, {"sub/b.py": f"{DECAY}\n\n@{other}"})
    assert forscan("convert", "--since", "main", ".").returncode == 0
    text = (repository / "sub" / "b.py").read_text()
    assert text.startswith(DECAY) and text.count("lax.scan") == 1
    assert (repository / "a.py").read_text() == MIXED


def test_since_and_what_git_cannot_say(forscan: Run, repository: Path) -> None:
    """A loop that is named, and stdin: one of both is a slip."""
    write(repository, {"a.py": MIXED.replace("jnp.sin(x)", "jnp.cos(x)")})
    for target, said in (("a.py:7", "a.py:7 names one"), ("-", "stdin is none")):
        done = forscan("convert", "--since", "main", ".", target) if target != "-" else None
        done = done or forscan("convert", "--since", "main", "-", stdin=DECAY)
        assert done.returncode == 2 and not done.stdout
        assert said in done.stderr
    assert "jnp.cos" in (repository / "a.py").read_text()


def test_since_takes_new_files_whole(forscan: Run, repository: Path) -> None:
    write(repository, {"neu é.py": DECAY, "a.py": f"\n{MIXED}"})
    write(repository, {"x[1].py": DECAY})
    git(repository, "add", "x[1].py")
    git(repository, "commit", "-qm", "odd name")
    write(repository, {"x[1].py": DECAY.replace("0.5", "0.6")})
    assert codes(forscan, "--since", "HEAD", "x[1].py") == [(6, "convertible", "FSC101")]
    git(repository, "mv", "sub/b.py", "sub/c.py")
    assert lines_since(forscan, "neu é.py") == [6]
    assert lines_since(forscan, "sub/c.py") == [6]


def test_since_starts_where_the_branch_left(forscan: Run, repository: Path) -> None:
    """What others have changed on main in the meantime is not ours."""
    git(repository, "switch", "-qc", "mine")
    write(repository, {"sub/b.py": DECAY.replace("0.5", "0.6")})
    git(repository, "commit", "-qam", "mine")
    git(repository, "switch", "-q", "main")
    write(repository, {"a.py": MIXED.replace("0.5", "0.7")})
    git(repository, "commit", "-qam", "theirs")
    git(repository, "switch", "-q", "mine")
    found = json.loads(forscan("check", "--since", "main", "--output-format", "json", ".").stdout)
    assert [row["file"] for row in found] == ["sub/b.py"]


def test_since_needs_a_revision_and_a_repository(forscan: Run, repository: Path) -> None:
    for revision in ("missing", "--output=x", ""):
        done = forscan("check", f"--since={revision}", ".")
        assert done.returncode == 2
        assert done.stderr.startswith("forscan: git rev-parse:")
    assert not (repository / "x").exists()


def test_since_a_revision_that_has_nothing_in_common(forscan: Run, repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "commit", "-qm", "other")
    done = forscan("check", "--since", "main", ".")
    assert done.returncode == 2
    assert "nothing in common" in done.stderr


def test_since_outside_of_a_repository(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, {"a.py": DECAY})
    done = forscan("check", "--since", "main", "a.py", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert done.returncode == 2
    assert "not a git repository" in done.stderr
