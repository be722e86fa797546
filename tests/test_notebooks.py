"""Notebooks: what is in their cells is converted, and every other byte stays."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.notebook.cells import code_cells, written
from forscan.types import FileResult, Status
from tests.conftest import Run
from tests.samples import DECAY, DECAY_SCAN
from tests.test_linter import git

PATH = Path("a.ipynb")
LOOP = DECAY.partition("\n\n\n")[2]
SCAN = DECAY_SCAN.partition("\n\n\n")[2]
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["for i in range(4):\n", "é \u2028"]}


def cell(source: str | list[str], kind: str = "code", **more: Any) -> dict[str, Any]:
    text = source.splitlines(keepends=True) if isinstance(source, str) else source
    made: dict[str, Any] = {"cell_type": kind, "metadata": {"tags": ["x"]}, "source": text}
    if kind == "code":
        made |= {"execution_count": 3, "outputs": [OUTPUT]}
    return made | more


def notebook(*cells: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def dumped(content: dict[str, Any], **style: Any) -> bytes:
    return (json.dumps(content, **({"indent": 1} | style)) + "\n").encode()


def convert(content: bytes, to: str = "scan") -> FileResult:
    result = convert_bytes(content, PATH, Config(to=to))
    assert convert_bytes(result.after, PATH, Config(to=to)).after == result.after
    return result


def sources(content: bytes) -> list[str]:
    return ["".join(c["source"]) for c in json.loads(content)["cells"]]


ORDINARY = notebook(
    cell("# A loop\n\n    for i in range(4):", "markdown"),
    cell("import jax\nimport jax.numpy as jnp"),
    cell(LOOP.rstrip("\n")),
    cell("decay(jnp.ones(2), jnp.ones((4, 2)));"),
)


@pytest.mark.parametrize(
    "style",
    [
        {"indent": 1},
        {"indent": 1, "ensure_ascii": False},
        {"indent": 4, "sort_keys": True},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
    ],
    ids=str,
)
def test_only_the_lines_of_the_loop_change(style: dict[str, Any]) -> None:
    before = dumped(ORDINARY, **style)
    result = convert(before)
    assert [(o.cell, o.span.line, o.status) for o in result.outcomes] == [(3, 3, Status.CONVERTED)]
    after = json.loads(result.after)
    assert sources(result.after)[2] == SCAN.rstrip("\n")
    expected = json.loads(before)
    expected["cells"][2]["source"] = after["cells"][2]["source"]
    assert result.after == dumped(expected, **style)  # bytes, not only values


def test_escapes_of_lines_that_stay() -> None:
    """An editor may write `é` as it is or escaped, and both in one file."""
    text = LOOP.replace("return x", "return x  # é")
    before = dumped(notebook(cell("import jax  # é"), cell(text)), ensure_ascii=False)
    before = before.replace("return x  # é".encode(), b"return x  # \\u00e9")
    result = convert(before)
    old, new = (c.decode().splitlines() for c in (before, result.after))
    gone = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("- ")]
    assert len(gone) == 2 and all("range(4)" in g or "0.5 * x" in g for g in gone)


def test_source_that_is_one_string() -> None:
    content = notebook(cell("import jax\n\n\n" + LOOP))
    content["cells"][0]["source"] = "import jax\n\n\n" + LOOP
    result = convert(dumped(content))
    assert json.loads(result.after)["cells"][0]["source"] == DECAY_SCAN


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!ls *.py",
        "files = !ls",
        "x = %time 1",
        "?jax.lax",
        "jax.lax.scan??",
        "jax.lax.scan?  ",
        "%timeit?",
        "layers[0].w?",
        "jax.*scan*?",
        "x = jax.lax?",
        "    %timeit 1",
        "!ls \\\n  -l",
        "files, more = !ls \\\n  -l",
        "x = %time sum([1, \\\n  2])",
        "!echo don't (\n!echo \"",
        "x = (7\n% 4)\n%timeit x",
        'x = """\n%s\n"""\n%timeit x',
        "/print 1",
        "await jax",
        "async for x in jax:\n    await x",
        "async with jax as x:\n    [y async for y in x]",
        "x = await jax\n!ls",
    ],
)
def test_magics_stay(magic: str) -> None:
    """In the cell of a loop, and at its place."""
    head = f"if True:\n{magic}" if magic.startswith(" ") else magic
    text = f"{head}\nimport jax\n\n\n{LOOP}\n{head}\n"
    before = dumped(notebook(cell(text)))
    result = convert(before)
    assert sources(result.after) == [f"{head}\nimport jax\n\n\n{SCAN}\n{head}\n"]


@pytest.mark.parametrize("magic", ["files = !ls", "x?", "%time x", "x = !ls \\\n  -l"])
def test_magics_in_a_function_stay(magic: str) -> None:
    """Around its loop, and as the first line of a block."""
    head = f"    {magic}\n    if x:\n        {magic}\n"
    old = LOOP.replace("(x, ws):\n", f"(x, ws):\n{head}")
    new = SCAN.replace("(x, ws):\n", f"(x, ws):\n{head}\n")
    result = convert(dumped(notebook(cell("import jax"), cell(old))))
    assert result.error is None
    assert sources(result.after) == ["import jax", new]


@pytest.mark.parametrize("magic", ["y = !ls", "x?", "%time x"])
def test_magic_in_a_loop_stays_and_is_told(magic: str) -> None:
    text = LOOP.replace("        x =", f"        {magic}\n        x =")
    result = convert(dumped(notebook(cell("import jax"), cell(text))))
    assert not result.changed and result.error is None
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert f"`{magic}` acts on the host" in outcome.message


def test_magic_in_a_loop_is_an_effect() -> None:
    text = LOOP.replace("        x =", "        %time x\n        x =")
    result = convert(dumped(notebook(cell("import jax"), cell(text))))
    assert not result.changed
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert "`%time x` acts on the host" in outcome.message
    assert [(r.line, r.code) for r in outcome.reasons if r.code == "FSC302"] == [(4, "FSC302")]


@pytest.mark.parametrize(
    "other",
    [
        cell("%%bash\nfor i in *; do echo $i; done"),
        cell("%%time\n" + LOOP),
        cell("\n%%html\n<b>for</b>"),
        cell(""),
        cell([]),
        cell(LOOP, "raw"),
        cell(LOOP, "markdown"),
    ],
    ids=lambda c: str(c["source"])[:20],
)
def test_other_cells_stay(other: dict[str, Any]) -> None:
    before = dumped(notebook(other, cell("import jax"), other, cell(LOOP), other))
    result = convert(before)
    assert [o.cell for o in result.outcomes] == [4]
    expected = json.loads(before)
    expected["cells"][3]["source"] = json.loads(result.after)["cells"][3]["source"]
    assert result.after == dumped(expected)


def test_import_goes_to_the_first_cell() -> None:
    text = LOOP.replace("@jax.jit", "@jit")
    before = dumped(notebook(cell("from jax import jit"), cell(text)))
    first, second = sources(convert(before).after)
    assert first.startswith("from jax import jit\n") and "import" in first[20:]
    assert "lax.scan" in second


BROKEN = ["def (", "x = 1 ? 2", "if True:\n%timeit 1", "x\x00", "'\ud800'", "return 3", "!ls\n("]


@pytest.mark.parametrize("broken", BROKEN)
def test_cell_that_cannot_be_parsed(forscan: Run, tmp_path: Path, broken: str) -> None:
    """It is said, and the other cells are done; it stays, and so does every other byte."""
    before = dumped(notebook(cell("import jax"), cell(broken), cell(LOOP), cell(broken)))
    result = convert(before)
    assert result.error is not None and result.error.code == "FSC901"
    assert result.error.message.startswith("cell 2: ") and "can cell 4" in result.error.message
    assert sources(result.after) == ["import jax", broken, SCAN, broken]
    (tmp_path / "a.ipynb").write_bytes(before)
    done = forscan("convert", ".")
    assert done.returncode == 2
    assert "a.ipynb:" in done.stderr and "FSC901 cell 2: " in done.stderr
    assert (tmp_path / "a.ipynb").read_bytes() == result.after


def test_cell_that_cannot_be_parsed_where_nothing_is_looked_for() -> None:
    """As with a file in which no word is of interest."""
    assert convert(dumped(notebook(cell("x = ("), cell("y = 1")))).error is None


def test_future_of_a_later_cell() -> None:
    """Cells may import from `__future__` where a module may not."""
    later = "from __future__ import annotations\nx = 1"
    before = dumped(notebook(cell("import jax"), cell(later), cell(LOOP)))
    result = convert(before)
    assert result.error is None
    assert sources(result.after) == ["import jax", later, SCAN]


def test_name_that_a_command_binds_is_not_known() -> None:
    """`n = !cmd` gives another number than the one above."""
    text = LOOP.replace("range(4)", "range(n)").replace("x = 0.5", "x = 2**i * 0.5")
    head = "import jax\nn = 4"
    both = dumped(notebook(cell(f"{head}\nn = !echo 400"), cell(text)))
    module = dumped(notebook(cell(f"{head}\nn = input()"), cell(text)))
    assert [o.code for o in convert(both).outcomes] == [o.code for o in convert(module).outcomes]


@pytest.mark.parametrize("first", ["", "%%bash\nls", "def ("])
def test_import_goes_to_a_cell_that_is_python(first: str) -> None:
    text = "x = 1\nfrom jax import jit\n" + LOOP.replace("@jax.jit", "@jit")
    result = convert(dumped(notebook(cell(first), cell(text))))
    assert sources(result.after)[0] == first
    assert "lax.scan" in sources(result.after)[1]
    assert re.match(r"(from jax )?import .*\nx = 1", sources(result.after)[1])


def test_empty_list_of_lines_is_written() -> None:
    text = dumped(notebook(cell([])), indent=1).decode()
    (found,) = code_cells(text)
    assert written(text, found, "a\nb") == '["a\\n", "b"]'
    assert written(text, found, "") == text[found.start : found.end] == "[]"


def test_loops_of_one_cell_and_state_of_another() -> None:
    """A length that another cell defines, and a comment at the end of the cell above."""
    first = cell("import jax\nN = 4\n# forscan: ignore")
    text = LOOP.replace("range(4)", "range(N)")
    result = convert(dumped(notebook(first, cell(text))))
    assert [o.status for o in result.outcomes] == [Status.CONVERTED]
    again = convert(result.after, "for")
    assert "for " in sources(again.after)[1]


def test_ignored_and_unused(forscan: Run, tmp_path: Path) -> None:
    text = LOOP.replace("range(4):", "range(4):  # forscan: ignore[FSC101]")
    content = notebook(cell("import jax"), cell(text), cell("x = 1  # forscan: ignore"))
    (tmp_path / "a.ipynb").write_bytes(dumped(content))
    done = forscan("check", "a.ipynb")
    assert done.returncode == 0
    assert "a.ipynb:1:8: FSC903 cell 3: this comment does not suppress anything" in done.stdout


# What is said about them.


def test_diagnostics_name_the_cell(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(dumped(ORDINARY))
    done = forscan("check", "a.ipynb")
    assert done.returncode == 1
    assert done.stdout.startswith("a.ipynb:cell 3:3:5: convertible [FSC101")
    (row,) = json.loads(forscan("check", "--output-format", "json", ".").stdout)
    assert (row["file"], row["cell"], row["line"], row["column"]) == ("a.ipynb", 3, 3, 5)
    shown = forscan("check", "--output-format", "github", "a.ipynb").stdout
    assert (
        "file=a.ipynb,line=1,endLine=1,col=1,endColumn=1::" in shown and "(cell 3, line 3)" in shown
    )
    log = json.loads(forscan("check", "--output-format", "sarif", "a.ipynb").stdout)
    (found,) = log["runs"][0]["results"]
    assert found["message"]["text"].startswith("Cell 3, line 3: ")


def test_full_output_shows_the_line_of_the_cell(forscan: Run, tmp_path: Path) -> None:
    text = LOOP.replace("        x =", "        print(i)\n        x =")
    (tmp_path / "a.ipynb").write_bytes(dumped(notebook(cell("import jax"), cell(text))))
    shown = forscan("check", "a.ipynb").stdout.splitlines()
    assert "  4 |         print(i)" in shown


TWO = notebook(
    cell("import jax\nimport jax.numpy as jnp"),
    cell(LOOP),
    cell("text", "markdown"),
    cell(f"\n{LOOP}"),
)


@pytest.mark.parametrize(
    "target, cells",
    [
        ("a.ipynb", [2, 4]),
        ("a.ipynb:cell 4:4:5", [4]),
        ("a.ipynb:cell 4:5", [4]),
        ("a.ipynb:cell 4", [4]),
        ("a.ipynb:cell 1", []),
        ("a.ipynb::decay", [2, 4]),
    ],
)
def test_targets(forscan: Run, tmp_path: Path, target: str, cells: list[int]) -> None:
    """A place in a cell, as it is reported."""
    (tmp_path / "a.ipynb").write_bytes(dumped(TWO))
    done = forscan("convert", "--output-format", "json", target)
    assert done.returncode == 0, done.stderr
    assert [row["cell"] for row in json.loads(done.stdout)] == cells
    after = sources((tmp_path / "a.ipynb").read_bytes())
    assert [n for n, text in enumerate(after, 1) if "lax.scan" in text] == cells


@pytest.mark.parametrize(
    "target, said",
    [
        ("a.ipynb:4", "'a.ipynb:cell N:LINE'"),
        ("a.ipynb:4:5", "'a.ipynb:cell N:LINE'"),
        ("a.ipynb:cell 3:1", "no code cell 3 in a.ipynb"),
        ("a.ipynb:cell 9", "no code cell 9 in a.ipynb"),
        ("a.ipynb:cell 2:1", "no loop at line 1 of cell 2 in a.ipynb"),
        ("a.ipynb:cell 2:99", "no loop at line 99 of cell 2 in a.ipynb"),
        ("a.ipynb:cell 2:0", "no loop at line 0 of cell 2 in a.ipynb"),
        ("empty.ipynb:cell 1", "no code cell 1 in empty.ipynb"),
        ("empty.ipynb::f", "no function f in empty.ipynb"),
    ],
)
def test_targets_that_are_not_there(forscan: Run, tmp_path: Path, target: str, said: str) -> None:
    (tmp_path / "a.ipynb").write_bytes(dumped(TWO))
    (tmp_path / "empty.ipynb").write_bytes(dumped(notebook()))
    done = forscan("convert", target)
    assert done.returncode == 2
    assert said in done.stderr
    assert (tmp_path / "a.ipynb").read_bytes() == dumped(TWO)


@pytest.mark.parametrize("style", [{"indent": 1}, {"indent": None}], ids=str)
def test_since_counts_the_lines_of_the_file(
    forscan: Run, tmp_path: Path, style: dict[str, Any]
) -> None:
    """git knows nothing of cells; where all is one line, all has changed."""
    (tmp_path / "a.ipynb").write_bytes(dumped(TWO, **style))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    asked = ("check", "--output-format", "json", "--since", "main", "a.ipynb")
    assert json.loads(forscan(*asked).stdout) == []
    new = json.loads(dumped(TWO))
    new["cells"][3]["source"] = [t.replace("0.5", "0.7") for t in new["cells"][3]["source"]]
    (tmp_path / "a.ipynb").write_bytes(dumped(new, **style))
    cells = [row["cell"] for row in json.loads(forscan(*asked).stdout)]
    assert cells == ([4] if style["indent"] else [2, 4])


def test_diff_and_function(forscan: Run, tmp_path: Path) -> None:
    before = dumped(ORDINARY)
    (tmp_path / "a.ipynb").write_bytes(before)
    done = forscan("convert", "--diff", "a.ipynb::decay")
    assert done.returncode == 1
    assert '+    "    def step(x, ws_i):\\n",' in done.stdout.splitlines()
    assert (tmp_path / "a.ipynb").read_bytes() == before
    done = forscan("convert", "a.ipynb", "--call", "decay(1, 2)")
    assert (tmp_path / "a.ipynb").read_bytes() == before
    assert "FSC602" in done.stdout
    for command in ("verify", "tune"):
        done = forscan(command, "a.ipynb", "--call", "decay(1, 2)")
        assert done.returncode == 2
        (said,) = done.stderr.splitlines()
        assert "takes no notebooks" in said and "move the function to a module" in said


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"for x in xs: pass",
        b"\xff",
    ],
)
def test_what_is_no_notebook(content: bytes) -> None:
    result = convert(content)
    assert result.error is not None and result.error.code == "FSC901"
    assert not result.changed


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"cells": {}},
        {"cells": [{"cell_type": "code"}]},
        {"cells": [{"source": LOOP}, "x", None, [cell(LOOP)]]},
        notebook(cell("import jax\n" + LOOP), metadata={"kernelspec": {"language": "R"}}),
        notebook(cell("import jax\n" + LOOP), metadata={"language_info": {"name": "julia"}}),
        notebook(cell("import jax\n# forscan: skip-file\n" + LOOP)),
        {"worksheets": [{"cells": [cell(LOOP)]}], "nbformat": 3},
    ],
    ids=lambda c: str(c)[:40],
)
def test_notebooks_with_nothing_for_us(content: dict[str, Any]) -> None:
    result = convert(dumped(content))
    assert not result.changed and not result.outcomes and result.error is None
