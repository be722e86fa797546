"""Puts other people's files through everything: `python -m tests.benchmarks.sweep PATH...`.

Each file is checked, and converted to each form and style with all functions taken for
traced. Whatever is in it: no fault of ours, what comes out compiles, a second run changes
nothing, and only files that Python refuses are refused. Nothing is written, nothing is run.
Prints the faults by kind with examples, and what took longest for its length.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import FileResult, Status

FORMS = {to: Config(to=to, everything=True) for to in ("scan", "fori", "for")}
STYLES = {
    "check": Config(),
    **FORMS,
    "unroll": Config(unroll="2", everything=True),
    "def": Config(body="def", everything=True),
    "lambda": Config(body="lambda", everything=True),
    "carry": Config(params="carry", everything=True),
    "closure": Config(params="closure", everything=True),
}
_OURS = {"FSC904", "FSC905"}


@dataclass
class Swept:
    """What one file came to.

    Attributes:
      refused: whether it is no Python, for us and for Python.
      faults: style and what is wrong with it.
      converted: loops, by style.
      seconds: for all styles together.
    """

    path: Path
    lines: int
    refused: bool = False
    faults: list[tuple[str, str]] = field(default_factory=list)
    converted: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def sweep(path: Path) -> Swept:
    """Puts one file through everything."""
    content = path.read_bytes()
    swept = Swept(path, content.count(b"\n") + 1)
    sound = compiles(content)
    start = time.perf_counter()
    for style, config in STYLES.items():
        result = convert_bytes(content, path, config)
        swept.refused = swept.refused or result.error is not None
        swept.converted[style] += sum(o.status is Status.CONVERTED for o in result.outcomes)
        swept.faults += [(style, what) for what in faults(result, config, sound)]
    swept.seconds = time.perf_counter() - start
    return swept


def faults(result: FileResult, config: Config, sound: bool) -> Iterator[str]:
    """What is wrong with a result; `sound` says whether Python takes the file."""
    if result.error is not None:
        if sound or result.error.code in _OURS:
            yield f"{result.error.code} {result.error.message}"
        return
    for outcome in result.outcomes:
        yield from (
            f"{r.code} {r.message} (line {outcome.span.line})"
            for r in outcome.reasons
            if r.code in _OURS
        )
    if result.changed:
        if not compiles(result.after):
            yield "the output does not compile"
        again = convert_bytes(result.after, result.path, config)
        if again.after != result.after:
            lines = [o.span.line for o in again.outcomes if o.status is Status.CONVERTED]
            yield f"a second run changes lines {lines}"


def compiles(content: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(content, "<file>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def files(roots: list[Path], start: int = 0, count: int | None = None) -> list[Path]:
    """The Python files below some folders, mixed, but always in the same order."""
    found = {p for root in roots for p in (root.rglob("*.py") if root.is_dir() else [root])}
    mixed = sorted(
        (p for p in found if p.is_file()), key=lambda p: hashlib.md5(str(p).encode()).digest()
    )
    return mixed[start : None if count is None else start + count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--start", type=int, default=0, help="files to pass over")
    parser.add_argument("--count", type=int, default=None, help="files to take")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = files(options.paths, options.start, options.count)
    found = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for swept in pool.map(sweep, chosen, chunksize=4):
            found.append(swept)
            if len(found) % 100 == 0:
                print(f"... {len(found)} of {len(chosen)}", file=sys.stderr, flush=True)
    sys.exit(report(found))


def report(found: list[Swept], shown: int = 5) -> int:
    """Prints the sums; 1 where there are faults."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for swept in found:
        for style, what in swept.faults:
            kinds[what.partition(" (line")[0]].append(f"{swept.path} ({style}): {what}")
    for kind, examples in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"=== {len(examples)} times: {kind[:200]}")
        print("\n".join(f"    {example[:300]}" for example in examples[:shown]))
    slowest = sorted(found, key=lambda s: -s.seconds / max(s.lines, 200))[:shown]
    for swept in slowest:
        each = 1e6 * swept.seconds / swept.lines
        print(f"slow: {swept.path}: {swept.lines} lines, {swept.seconds:.1f} s, {each:.0f} us each")
    converted = sum((s.converted for s in found), Counter[str]())
    lines = sum(s.lines for s in found)
    print(f"{len(found)} files, {lines} lines, {sum(s.refused for s in found)} no Python")
    print("converted:", ", ".join(f"{style} {n}" for style, n in converted.items()))
    print(f"faults: {sum(map(len, kinds.values()))}")
    return 1 if kinds else 0


if __name__ == "__main__":
    main()
