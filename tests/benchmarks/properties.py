"""Runs programs from a seed on and sums up: `python -m tests.benchmarks.properties 0 1000`.

Prints the faults by kind with an example each, shrunk, and what was refused by code.
With `--json FILE` everything that was wrong is written there.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from forscan.types import Status
from tests.generate import Program
from tests.test_properties import Examined, compare, examine, programs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("start", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--shrink", type=int, default=2, help="examples to shrink for each kind")
    parser.add_argument("--prove", action="store_true", help="compute only what is not proved")
    options = parser.parse_args()
    ran, loops = 0, 0
    kinds: Counter[str] = Counter()
    converted: Counter[str] = Counter()
    total: Counter[str] = Counter()
    refused: dict[str, Counter[str]] = defaultdict(Counter)
    whole: Counter[str] = Counter()
    records: list[dict[str, object]] = []
    refusals: list[dict[str, object]] = []
    for start in range(options.start, options.start + options.count, options.batch):
        found = [e for e in map(examine, programs(start, options.batch)) if e.old is not None]
        compare_all(found, options.prove)
        for e in found:
            ran += 1
            loops += len(e.outcomes.get("scan", ()))
            for chain, outcomes in e.outcomes.items():
                total[chain] += len(outcomes)
                done = [o for o in outcomes if o.status is Status.CONVERTED]
                converted[chain] += len(done)
                whole[chain] += len(done) == len(outcomes)
                for o in outcomes:
                    for r in o.reasons:
                        refused[chain][r.code] += 1
                        refusals.append(
                            {
                                "seed": e.program.seed,
                                "chain": chain,
                                "code": r.code,
                                "message": r.message,
                                "line": o.span.line,
                            }
                        )
            for fault in e.faults:
                kind = f"{fault.kind} ({fault.target})"
                kinds[kind] += 1
                small = ""
                if kinds[kind] <= options.shrink:
                    small = shrink(e.program, fault.kind, fault.target).source
                    print(f"=== {kind}, seed {e.program.seed}: {fault.detail[:300]}\n{small}")
                records.append(
                    {
                        "seed": e.program.seed,
                        "kind": fault.kind,
                        "target": fault.target,
                        "detail": fault.detail,
                        "features": sorted(e.program.features),
                        "source": e.program.source,
                        "after": fault.source,
                        "small": small,
                    }
                )
        jax.clear_caches()
        print(f"... {start + options.batch}: {ran} ran, {sum(kinds.values())} faults", flush=True)
        if options.json:
            everything = {
                "ran": ran,
                "total": total,
                "converted": converted,
                "whole": whole,
                "faults": records,
                "refusals": refusals,
            }
            options.json.write_text(json.dumps(everything))
    print(f"{options.count} programs, {ran} ran, {loops} loops")
    for chain in total:
        print(f"{chain}: {converted[chain]} of {total[chain]} loops, {refused[chain]}")
    print("faults:", dict(kinds))


def compare_all(found: list[Examined], prove: bool) -> None:
    try:
        compare(found, prove=prove)
    except Exception:
        for e in found:
            try:
                compare([e], prove=prove)
            except Exception as error:
                print(f"seed {e.program.seed} does not compile: {error}")


def has_fault(program: Program, kind: str, target: str) -> bool:
    found = examine(program, target)
    if kind in ("value", "gradient"):
        found.new = {c: new for c, new in found.new.items() if c == target}
        try:
            compare([found])
        except Exception:
            return False
    return any(f.kind == kind and f.target == target for f in found.faults)


def shrink(program: Program, kind: str, target: str, rounds: int = 4) -> Program:
    """A smaller program with the same fault: statements and operands are left out."""
    best = program
    for _ in range(rounds):
        before, place = best.source, 0
        while True:
            text = next(itertools.islice(_smaller(best.source), place, None), None)
            if text is None:
                break
            candidate = Program(best.seed, text, _call(text), best.features)
            if len(text) < len(best.source) and has_fault(candidate, kind, target):
                best = candidate
            else:
                place += 1
        if best.source == before:
            break
    return best


def _call(source: str) -> str:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CALL":
            return str(ast.literal_eval(node.value))
    return ""


def _smaller(source: str) -> Iterator[str]:
    """Texts with one thing less, the large things first."""
    tree = ast.parse(source)
    count = sum(1 for _ in _statements(tree))
    for number in range(count):
        tree = ast.parse(source)
        suite, place = list(_statements(tree))[number]
        if isinstance(suite[place], ast.If | ast.For):
            inner = list(suite[place].body)  # type: ignore[attr-defined]
            if isinstance(suite[place], ast.If):
                suite[place : place + 1] = inner
                yield _unparsed(tree)
                tree = ast.parse(source)
                suite, place = list(_statements(tree))[number]
        if len(suite) > 1:
            del suite[place]
            yield _unparsed(tree)
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for attribute, child in _operands(node):
            again = ast.parse(source)
            same = list(ast.walk(again))[number]
            setattr(same, attribute, getattr(same, attribute) and child)
            text = _unparsed(again)
            if len(text) < len(source):
                yield text


def _operands(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Fields of a node and what may stand there instead."""
    for name, value in ast.iter_fields(node):
        if not isinstance(value, ast.expr) or name in ("func", "target", "test", "iter"):
            continue
        if isinstance(value, ast.BinOp):
            yield name, value.right
            yield name, value.left
        elif isinstance(value, ast.Call) and value.args:
            yield name, value.args[0]
        elif isinstance(value, ast.Tuple) and isinstance(node, ast.Return):
            for item in value.elts:
                yield name, item
        elif isinstance(value, ast.Subscript | ast.IfExp):
            yield name, value.value if isinstance(value, ast.Subscript) else value.body


def _statements(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], int]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            suite = getattr(node, name, None)
            if isinstance(suite, list):
                for place, statement in enumerate(suite):
                    if not (isinstance(node, ast.Module) and "CALL" in ast.unparse(statement)):
                        yield suite, place


def _unparsed(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


if __name__ == "__main__":
    main()
