"""A nested algorithm and a rollout in all their spellings, and the way between them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jax
import pytest

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import FileResult, Selection, Status
from tests.conftest import FIXTURES
from tests.running import assert_same, call, jaxpr, load

ALGORITHM = FIXTURES / "loops" / "algorithm"
ROLLOUT = FIXTURES / "loops" / "rollout"
VARIANTS = ["closure_lambda", "closure_def", "carry_all"]

Run = Callable[..., subprocess.CompletedProcess[str]]


def convert(path: Path, *selections: Selection, **config: object) -> FileResult:
    return convert_bytes(path.read_bytes(), path, Config(**config), *selections)  # type: ignore[arg-type]


def test_loop_over_a_scan_is_the_scan_that_its_author_would_write() -> None:
    path = ALGORITHM / "training_step.py"
    by_hand = ALGORITHM / "training_step_scanned.py"
    module = load(convert(path).after, path)
    assert jaxpr(module, module.CALL) == jaxpr(load(by_hand.read_bytes(), by_hand), module.CALL)


def test_scan_over_a_scan_becomes_nested_loops() -> None:
    result = convert(ALGORITHM / "training_step_scanned.py", to="for")
    assert [o.status for o in result.outcomes] == [Status.CONVERTED] * 2
    assert b"lax.scan(" not in result.after
    assert result.after.count(b"for _ in range(") == 2


def test_traced_bounds_are_named_with_what_makes_them_static() -> None:
    path = FIXTURES / "refuse" / "FSC203_training_step_traced_bounds.py"
    [outcome] = convert(path).outcomes
    assert outcome.code == "FSC203"
    assert "iterations" in outcome.message
    assert 'static_argnames=("iterations", "horizon")' in outcome.help


def test_static_names_make_it_convertible() -> None:
    path = FIXTURES / "refuse" / "FSC203_training_step_traced_bounds.py"
    text = path.read_text().replace(
        "@jax.jit",
        '@functools.partial(jax.jit, static_argnames=("iterations", "horizon"))',
    )
    result = convert_bytes(f"import functools\n{text}".encode(), path, Config())
    assert [o.status for o in result.outcomes] == [Status.CONVERTED]


def test_unroll_is_kept_where_it_is() -> None:
    """Converting the loop around a tuned scan leaves the scan alone."""
    path = ALGORITHM / "training_step.py"
    text = path.read_text().replace("length=horizon)", "length=horizon, unroll=2)")
    result = convert_bytes(text.encode(), path, Config(unroll="True"), Selection(line=18))
    assert b"length=horizon, unroll=2)" in result.after
    assert b"length=iterations, unroll=True)" in result.after


@pytest.mark.parametrize("unroll", ["3", "True"])
def test_unroll_is_set_on_one_level(unroll: str) -> None:
    path = ALGORITHM / "training_step_tuned.py"
    inner = (
        path.read_text()
        .splitlines()
        .index("        return lax.scan(environment_step, state, None, length=horizon, unroll=2)")
    )
    result = convert(path, Selection(line=inner + 1), unroll=unroll)
    assert f"length=horizon, unroll={unroll})".encode() in result.after
    assert b"length=iterations, unroll=True)" in result.after
    old, new = load(path.read_bytes(), path), load(result.after, path)
    assert_same(call(old, old.CALL), call(new, new.CALL))


def test_all_spellings_compile_to_one_program(forscan: Run, tmp_path: Path) -> None:
    """A lambda, a local function and parameters in the carry are the same to JAX."""
    source = ROLLOUT / "closure_lambda.py"
    spellings = {
        "lambda.py": source.read_bytes(),
        "def.py": convert(source, body="def").after,
        "carry.py": convert(source, params="carry").after,
    }
    for name, content in spellings.items():
        (tmp_path / name).write_bytes(content)
    for name in ("def.py", "carry.py"):
        done = forscan("verify", "lambda.py", name, "--call", "rollout(*EXAMPLE)")
        assert done.returncode == 0, done.stderr
        assert "equal (proved)" in done.stdout
        if name == "def.py" or jax.__version_info__ >= (0, 5):  # before, what is carried stays so
            assert "the same program" in done.stdout


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "style", [{"body": "def"}, {"params": "closure"}, {"params": "carry"}, {"unroll": "4"}], ids=str
)
def test_every_variant_in_every_style(variant: str, style: dict[str, object]) -> None:
    path = ROLLOUT / f"{variant}.py"
    result = convert(path, **style)
    assert all(o.status is Status.CONVERTED for o in result.outcomes)
    old, new = load(path.read_bytes(), path), load(result.after, path)
    assert_same(call(old, old.CALL), call(new, new.CALL))
    again = convert_bytes(result.after, path, Config(**style))  # type: ignore[arg-type]
    assert again.after == result.after


def test_def_and_lambda_are_each_other() -> None:
    lambda_path, def_path = ROLLOUT / "closure_lambda.py", ROLLOUT / "closure_def.py"
    body = "\n".join(def_path.read_text().splitlines()[1:])
    assert body in convert(lambda_path, body="def").after.decode() + "\n"
    there = convert(def_path, body="lambda").after
    assert b"step = lambda carry, _: advance(carry, commands, dt, drag)" in there
    assert convert_bytes(there, def_path, Config(body="def")).after.split() == (
        def_path.read_bytes().split()
    )


def test_long_rollout_is_equal_and_far_cheaper_to_compile(forscan: Run, tmp_path: Path) -> None:
    """Compiling grows with the square of the steps, so a hundred show it plainly."""
    text = (ROLLOUT / "loop.py").read_text().replace("STEPS = 50", "STEPS = 100")
    (tmp_path / "rollout.py").write_text(text)
    done = forscan("verify", "rollout.py", "--call", "rollout(*EXAMPLE)", "--output-format", "json")
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)
    assert (found["status"], found["gradient"]) == ("equal", "equal")
    assert found["before"]["compile_s"] > 20 * found["after"]["compile_s"]
