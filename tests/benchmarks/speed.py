"""What people wait for, beside what they know: `python -m tests.benchmarks.speed WHAT...`.

    shell       the command on a file without candidates, beside `black --check`
    tree        a check of the installed jax package, twice, beside `ast.parse` of its files
    convert     1,000 lines with ten loops, beside LibCST (parsing, and writing the text)
    curves      ever longer files, more loops, longer bodies, deeper nests, by the line

Each figure is a ratio of two things measured in turns in one run, and the least of several
rounds on either side: what else a machine does only ever adds to a time. `tree` takes
minutes, for `ast.parse` another interpreter; `shell` needs black, `convert` libcst.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.memory import collect_rarely
from forscan.types import Status
from tests.conftest import ROOT

PATH = Path("long.py")
Action = Callable[[], object]
HEAD = "import jax\nimport jax.numpy as jnp\n\n\n"
QUIET = HEAD + "def table(names):\n    return {name: len(name) for name in names}\n"
OTHER = "def other_{0}(x, y):\n    z = jnp.sin(x) + y * {0}\n    return z - y * 2\n\n\n"
PARSE = """\
import ast, pathlib, sys, warnings
warnings.simplefilter("ignore")
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    ast.parse(path.read_bytes())
"""


def in_turns(rounds: int, *actions: Action, clock: Callable[[], float]) -> list[float]:
    """The least time of each of several actions, which take turns."""
    best = [float("inf")] * len(actions)
    for _ in range(rounds):
        for number, action in enumerate(actions):
            start = clock()
            action()
            best[number] = min(best[number], clock() - start)
    return best


@cache
def compiled() -> tempfile.TemporaryDirectory[str]:
    """A folder for compiled modules: whoever has installed forscan has them, a checkout may not."""
    return tempfile.TemporaryDirectory(prefix="forscan-compiled-")


def command(*arguments: str, cwd: Path) -> Action:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": compiled().name}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run() -> None:
        done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True)
        assert done.returncode in (0, 1), done.stderr.decode()

    return run


def children() -> float:
    """Processor time of finished processes: others on the machine do not count."""
    times = os.times()
    return times.children_user + times.children_system


def shell(rounds: int = 20) -> None:
    with folder() as here:
        (here / "quiet.py").write_text(QUIET)
        forscan = (sys.executable, "-m", "forscan")
        names = ("black --check", "forscan check", "forscan convert")
        actions = (
            command(sys.executable, "-m", "black", "--check", "-q", "quiet.py", cwd=here),
            command(*forscan, "check", "quiet.py", cwd=here),
            command(*forscan, "convert", "quiet.py", cwd=here),
        )
        for clock, kind in ((time.perf_counter, "wall"), (children, "processor")):
            found = in_turns(rounds, *actions, clock=clock)
            for name, seconds in zip(names, found, strict=True):
                print(f"shell: {name}: {found_by(seconds, found[0])} ({kind})")


def tree(rounds: int = 3) -> None:
    spec = find_spec("jax")
    assert spec is not None and spec.submodule_search_locations
    package = Path(next(iter(spec.submodule_search_locations)))
    lines = sum(p.read_bytes().count(b"\n") for p in package.rglob("*.py"))
    print(f"tree: {package.name}, {lines} lines, {os.cpu_count()} processors")
    with folder() as here:
        check = (sys.executable, "-m", "forscan", "check", str(package))
        parse = command(sys.executable, "-c", PARSE, str(package), cwd=here)
        first = command(*check, "--no-cache", cwd=here)
        again = command(*check, cwd=here)
        again()
        for clock, kind in ((time.perf_counter, "wall"), (children, "processor")):
            found = in_turns(rounds, parse, first, again, clock=clock)
            for name, seconds in zip(("ast.parse", "check", "again"), found, strict=True):
                print(f"tree: {name}: {found_by(seconds, found[0])} ({kind})")


def convert(rounds: int = 7) -> None:
    import libcst

    text = HEAD + "".join(function(k) + OTHER.format(k) * 16 for k in range(10))

    def theirs() -> str:
        return libcst.parse_module(text).code

    found = in_turns(rounds, theirs, lambda: looked(text), clock=time.process_time)
    print(
        f"convert: {text.count(chr(10))} lines, 10 loops: {found_by(found[1], found[0])} of LibCST"
    )


def curves() -> None:
    for name, texts in _curves():
        for size, text in texts:
            seconds, parse = in_turns(
                2, lambda t=text: looked(t), lambda t=text: ast.parse(t), clock=time.process_time
            )
            lines = text.count("\n")
            each = 1e6 * seconds / size
            print(
                f"curves: {name} {size}: {lines} lines, {each:.0f} us each, "
                f"{seconds / parse:.0f} times ast.parse",
                flush=True,
            )


def _curves() -> Iterator[tuple[str, Iterator[tuple[int, str]]]]:
    ten = "".join(map(function, range(10)))
    sizes = (1_000, 5_000, 50_000)
    yield "lines", ((n, HEAD + ten + "".join(map(OTHER.format, range(n // 5)))) for n in sizes)
    yield "loops", ((n, HEAD + "".join(map(function, range(n)))) for n in (10, 100, 1000))
    yield "loops of one function", ((n, HEAD + function(0, loops=n)) for n in (5, 20, 80))
    yield "lines of the body", ((n, HEAD + function(0, body=n)) for n in (10, 100, 1000))
    yield "depth", ((n, HEAD + function(0, depth=n)) for n in (1, 2, 4, 8))


def looked(text: str) -> None:
    # A text that nobody has asked about before, so that nothing of it is known.
    result = convert_bytes(f"{text}# {time.perf_counter()}\n".encode(), PATH, Config())
    assert all(o.status is Status.CONVERTED for o in result.outcomes), result.outcomes


def function(number: int, loops: int = 1, body: int = 3, depth: int = 1) -> str:
    """A traced function with loops that can be converted."""
    lines = ["@jax.jit", f"def f_{number}(x):"]
    for loop in range(loops):
        lines += [f"{'    ' * (d + 1)}for i_{loop}_{d} in range(7):" for d in range(depth)]
        lines += ["    " * (depth + 1) + "x = jnp.sin(x) + 0.5 * x"] * body
    return "\n".join([*lines, "    return x", "", "", ""])


def found_by(seconds: float, reference: float) -> str:
    return f"{seconds:.2f} s, {seconds / reference:.2f} times"


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "pyproject.toml").touch()  # the cache stays in here
        yield Path(name)


ALL = {"shell": shell, "tree": tree, "convert": convert, "curves": curves}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help=f"of {', '.join(ALL)} (default: all)")
    collect_rarely()  # as the command does
    for name in parser.parse_args().what or ALL:
        ALL[name]()


if __name__ == "__main__":
    main()
