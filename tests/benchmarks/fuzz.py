"""Tries to break the reader: `python -m tests.benchmarks.fuzz SECONDS [--seed N]`.

    distorted     the fixtures after random changes of their text (tests/distort.py)
    random        programs that hypothesmith makes up from Python's grammar
    guided        any bytes, from the fixtures on, led by what code they reach (atheris)

Each text is converted to a form and style, and what must hold for every file is checked
(tests/invariants.py). A part whose package is missing is left out. Prints the faults by kind
with the smallest example, which lands in a folder; `--case N` tries one case of `distorted`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random

from forscan.config import Config
from forscan.memory import collect_rarely
from tests.conftest import FIXTURES
from tests.distort import distorted, encoded
from tests.invariants import compiles, faults

PATH = Path("a.py")
CONFIGS = [
    *[Config(to=to, everything=True) for to in ("scan", "fori", "for")] * 3,
    Config(to="scan"),
    Config(to="for"),
    Config(unroll="2", everything=True),
    Config(body="lambda", everything=True),
    Config(body="def", everything=True),
    Config(params="carry", everything=True),
    Config(params="closure", everything=True),
]


class Found:
    """The faults by kind, with the shortest text for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.shortest: dict[str, bytes] = {}
        self.tried: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def look(self, source: str, content: bytes, config: Config, name: str) -> None:
        sound = compiles(content)
        self.tried[source]["sound" if sound else "broken"] += 1
        for fault in faults(content, PATH, config, sound):
            kind = f"{config.to}: {re.sub(r'0x[0-9a-f]+|[0-9]+', '', fault)[:90]}"
            self.counts[kind] += 1
            known = self.shortest.get(kind)
            if known is None or len(content) < len(known):
                self.shortest[kind] = content
                number = list(self.shortest).index(kind)
                (self.folder / f"{number}.py").write_bytes(content)
                print(f"=== {number}.py: {fault[:300]}\n    {config}\n    {name}", flush=True)

    def report(self) -> int:
        for source, tried in self.tried.items():
            print(f"{source}: {tried.total()} texts, {tried['broken']} of them no Python")
        for kind, count in self.counts.most_common():
            print(f"{count} times: {kind}")
        print(f"faults: {self.counts.total()}, examples in {self.folder}")
        return 1 if self.counts else 0


def texts() -> list[str]:
    return [p.read_text() for p in sorted(FIXTURES.rglob("*.py"))]


def case(seed: int, number: int, known: list[str]) -> tuple[bytes, Config]:
    """One case of `distorted`, always the same for the same numbers."""
    random = Random(f"{seed}:{number}")
    text = random.choice(known)
    if random.random() < 0.2:
        text = f"{text}\n\n{random.choice(known)}"
    return encoded(distorted(text, random), random), random.choice(CONFIGS)


def try_distorted(found: Found, until: float, seed: int) -> None:
    known, number = texts(), 0
    while time.monotonic() < until:
        content, config = case(seed, number, known)
        found.look("distorted", content, config, f"--seed {seed} --case {number}")
        number += 1


def try_random(found: Found, until: float, seed: int) -> None:
    if find_spec("hypothesmith") is None:
        print("hypothesmith is not installed: no random programs")
        return
    import hypothesmith
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    random = Random(seed)

    def rounds() -> Iterator[int]:
        while time.monotonic() < until:
            yield random.randrange(2**32)

    for number in rounds():

        @seeded(number)
        @settings(
            max_examples=50,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(hypothesmith.from_grammar() if number % 2 else hypothesmith.from_node())
        def one(text: str) -> None:
            if time.monotonic() < until:
                content = f"import jax\n{text}".encode(errors="replace")
                found.look("random", content, random.choice(CONFIGS), "hypothesmith")

        one()


def try_guided(found: Found, seconds: float, seed: int) -> None:
    """In a process of its own, which the fuzzer ends itself."""
    if find_spec("atheris") is None:
        print("atheris is not installed: nothing guided")
        return
    with tempfile.TemporaryDirectory() as corpus:
        for number, text in enumerate(texts()):
            (Path(corpus) / f"{number}.py").write_text(text)
        command = [sys.executable, "-m", "tests.benchmarks.guided", str(found.folder), corpus]
        limits = [f"-max_total_time={int(seconds)}", f"-seed={seed}", "-max_len=4000"]
        limits.append(f"-artifact_prefix={found.folder}/")
        done = subprocess.run([*command, *limits], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    print("\n".join(line for line in lines if line.startswith(("===", "    ", "guided"))))
    ended = [line for line in done.stderr.splitlines() if line.startswith(("Done", "==", "stat"))]
    print(f"guided: {ended[-1] if ended else done.stderr[-500:]}", flush=True)
    kinds = [line for line in lines if line.startswith("===")]
    found.counts.update(f"guided: {kind}" for kind in kinds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", type=int, help="try this case of `distorted` only, and show it")
    options = parser.parse_args()
    collect_rarely()
    found = Found(Path(tempfile.mkdtemp(prefix="forscan-fuzz-")))
    if options.case is not None:
        content, config = case(options.seed, options.case, texts())
        print(content.decode(errors="replace"))
        found.look("distorted", content, config, f"--case {options.case}")
        sys.exit(found.report())
    print(f"seed {options.seed}", flush=True)
    start, seconds = time.monotonic(), options.seconds
    try_distorted(found, start + 0.6 * seconds, options.seed)
    try_random(found, start + 0.75 * seconds, options.seed)
    try_guided(found, 0.25 * seconds, options.seed)
    sys.exit(found.report())


if __name__ == "__main__":
    main()
