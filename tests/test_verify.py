"""`forscan verify` and `convert --call`: verdicts on real calls, whatever the code does.

Starting jax takes seconds, so many calls share a process: one run for what is equal, one
for what differs, one for what cannot be judged.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Run

KEYS = {
    "file",
    "function",
    "call",
    "status",
    "evidence",
    "max_ulp",
    "gradient",
    "before",
    "after",
    "break_even_calls",
}
FIGURES = {
    "trace_s",
    "lower_s",
    "compile_s",
    "compile_fit",
    "trace_fit",
    "run_s",
    "run_spread_s",
    "equations",
    "stablehlo_lines",
    "temp_bytes",
}


def verify(folder: Path, *arguments: str, calls: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The json of one run of `forscan verify`, by call."""
    options = [part for call in calls for part in ("--call", call)]
    done = subprocess.run(
        [sys.executable, "-m", "forscan", "verify", "--output-format=json", *arguments, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "Traceback" not in done.stderr
    rows = json.loads(done.stdout)
    assert [row["call"] for row in rows] == list(calls)
    assert done.returncode == (0 if all(row["status"] == "equal" for row in rows) else 1)
    return {row["call"]: row for row in rows}


# What is equal: a file against its own conversion, each loop of another kind.

MODELS = '''\
"""Prints where results are expected, and holds one function of each kind."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

print("a line on stdout")


class Point(NamedTuple):
    x: jax.Array
    v: jax.Array


@jax.jit
def jitted(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x


# forscan: traced
def not_jitted(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x


@dataclass
class Cell:
    rate: float

    # forscan: traced
    def run(self, x: jax.Array) -> jax.Array:
        for _ in range(5):
            x = jnp.tanh(self.rate * x)
        return x


@partial(jax.jit, static_argnames=("steps", "kind"))
def static(x, *, steps, kind="sin"):
    for _ in range(steps):
        x = jnp.sin(x) if kind == "sin" else jnp.cos(x)
    return x


@jax.jit
def noise(key, x):
    for _ in range(3):
        key, use = jax.random.split(key)
        x = x + jax.random.normal(use, x.shape)
    return key, x


@jax.jit
def pytree(state, params):
    for _ in range(6):
        x, (v, *_) = state
        v = v - params["dt"] * params["k"] * x
        state = x + params["dt"] * v, [v, None]
    return {"state": state}


@jax.jit
def leapfrog(point: Point, params) -> Point:
    for _ in range(6):
        v = point.v - params["dt"] * params["k"] * point.x
        point = Point(point.x + params["dt"] * v, v)
    return point


@jax.jit
def counted(n):
    k = n[0]
    for i in range(4):
        k = 2 * k + n[i]
    return k


# forscan: traced
def looks(x, ws):
    if float(x.sum()) > 0:
        x = -x
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x, "done", 3, None
'''

OWN_CLASS = "leapfrog(Point(jnp.ones(3), jnp.zeros(3)), {'k': 2.0, 'dt': 0.1})"
EQUAL_CALLS = (
    "jitted(jnp.ones(3), jnp.arange(12.0).reshape(4, 3))",
    "jitted(2.0, np.float32([0.5, 1.0, 1.5, 2.0]))",
    "not_jitted(jnp.ones(3), ws=jnp.arange(12.0).reshape(4, 3))",
    "Cell(0.5).run(jnp.arange(3.0))",
    "static(jnp.ones(2), steps=4)",
    "static(jnp.ones(2), **{'steps': 3, 'kind': 'cos'})",
    "noise(jax.random.key(0), jnp.zeros(2))",
    "noise(jax.random.PRNGKey(0), *[jnp.zeros(2)])",
    "pytree((jnp.ones(3), [jnp.zeros(3), None]), {'k': 2.0, 'dt': jnp.float32(0.1)})",
    "counted(jnp.arange(4))",
    "jitted(jnp.ones(3, jnp.float8_e4m3fn), jnp.ones((4, 3), jnp.float8_e4m3fn))",
    "jitted(jnp.ones(3, jnp.float8_e5m2), jnp.ones((4, 3), jnp.float8_e5m2))",
    "looks(np.ones(3, np.float32), jnp.ones(4))",
)


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("equal")
    (folder / "models.py").write_text(MODELS)
    found = verify(folder, "models.py", calls=(*EQUAL_CALLS, OWN_CLASS))
    assert (folder / "models.py").read_text() == MODELS  # verify writes nothing
    return found


@pytest.mark.parametrize("call", EQUAL_CALLS)
def test_equal(equal: dict[str, dict[str, Any]], call: str) -> None:
    row = equal[call]
    assert row["status"] == "equal", row["reason"]
    assert row["evidence"] in ("proved", "measured")
    assert row["max_ulp"] < 4


def test_result_in_a_class_of_the_module(equal: dict[str, dict[str, Any]]) -> None:
    assert equal[OWN_CLASS]["status"] == "equal", equal[OWN_CLASS]["reason"]


def test_json_of_what_is_equal(equal: dict[str, dict[str, Any]]) -> None:
    row = equal[EQUAL_CALLS[0]]
    assert set(row) >= KEYS
    assert (row["file"], row["function"]) == ("models.py", "jitted")
    assert row["gradient"] == "equal"
    for version in ("before", "after"):
        assert set(row[version]) == FIGURES
        fits = {"compile_fit", "trace_fit"}
        assert all(row[version][k] > 0 for k in FIGURES - fits - {"temp_bytes"})
        assert all(row[version][k] == "" for k in fits)
    assert row["before"]["equations"] > row["after"]["equations"]  # unrolled against a scan


def test_what_is_proved_says_for_which_types(equal: dict[str, dict[str, Any]]) -> None:
    row = equal[EQUAL_CALLS[0]]
    assert (row["evidence"], row["gradient_evidence"]) == ("proved", "proved")
    assert row["types"] == ["float32[3]", "float32[4,3]"]
    assert equal[OWN_CLASS]["evidence"] == "proved"


def test_gradient_of_integers_and_keys(equal: dict[str, dict[str, Any]]) -> None:
    """Where no float goes in there is nothing to differentiate."""
    assert equal["counted(jnp.arange(4))"]["gradient"] == "none"
    assert equal["noise(jax.random.key(0), jnp.zeros(2))"]["gradient"] == "equal"


def test_function_that_looks_at_values_is_run_as_it_is(equal: dict[str, dict[str, Any]]) -> None:
    row = equal[EQUAL_CALLS[-1]]
    assert "without jit" in row["reason"]
    assert row["evidence"] == "measured"


def test_break_even_has_the_right_sign(equal: dict[str, dict[str, Any]]) -> None:
    """A number exactly where one version is dearer to prepare and surely cheaper to run."""
    for row in equal.values():
        if row["before"] is None:
            assert row["break_even_calls"] is None
            continue
        before, after = row["before"], row["after"]
        extra = sum(after[k] - before[k] for k in ("trace_s", "lower_s", "compile_s"))
        gain = before["run_s"] - after["run_s"]
        if extra * gain > 0 and abs(gain) > max(before["run_spread_s"], after["run_spread_s"]):
            assert row["break_even_calls"] == pytest.approx(extra / gain)
        else:
            assert row["break_even_calls"] is None


# What differs: two files, each function wrong in one way only.

BEFORE = """\
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Point(NamedTuple):
    x: jax.Array
    v: jax.Array


class Pair(NamedTuple):
    a: jax.Array
    b: jax.Array


class Kind(Enum):
    SUM = 1
    MEAN = 2


@dataclass
class Box:
    x: jax.Array
    kind: Kind


@dataclass
class Tagged:
    x: jax.Array
    kind: Kind


jax.tree_util.register_dataclass(Tagged, data_fields=["x"], meta_fields=["kind"])


def value(x): return 2 * x
def element(x): return x.at[1].set(0.0)
def integer(n): return n + 1
def truth(x): return x > 5
def nan(x): return x / jnp.sum(x)
def perturbed(x): return jnp.minimum(x, 1.0)
def dtype(x): return x * 2
def shape(x): return x * 2
def rank(x): return jnp.sum(x)
def structure(x): return x, x
def keys(x): return {"a": x, "b": x}
def order(x): return {"a": x, "b": 2 * x}
def nothing(x): return x, None
def weak(x): return jnp.asarray(2.0)
def gradient(x): return x * x
def number(x): return x, 3
def array(x): return x, jnp.asarray(3)
def text(x): return x, "sum"
def key(k): return jax.random.split(k)[0]
def raises(x): return x
def second(x, y): return x + y, y
def same(x): return jnp.sin(x)
def rounding(x): return jnp.sum(x)
def carried(x): return x.astype(jnp.bfloat16)
def fails(x): raise ValueError(f"no {x.shape}")
def fails_in_other_words(x): raise ValueError("no")
def fails_otherwise(x): raise ValueError("no")
def failed(x): raise ValueError("no")
def fails_looking(x): raise ValueError("yes" if x > 0 else "no")


def late(x, ws, steps):
    for i in range(steps):
        x = 0.5 * x + ws[i]
    return x


def collected(x, ws):
    xs = []
    for w in ws:
        x = 0.5 * x + w
        xs.append(x)
    return jnp.stack(xs)


def forward(x):  # has no gradient in reverse
    return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 2 * c[1]), (0, x))[1]


def rows(n): return 2 * n
def short(x): return jnp.sum(x)
def first_rows(state): return state["x"] + jnp.sum(state["v"])
def ordered(state): return jnp.stack([*state.values()])


def made(x): return jax.jit(lambda y: x + y)
def made_in_part(x): return [jax.tree_util.Partial(lambda y: x + y)]
def made_looking(x): return (lambda y: x + y) if x > 0 else None
def notanumber(x): return jnp.sqrt(x)
def looks(x): return x if x > 0 else -x
def point(x): return Point(x, 2 * x)
def point_value(x): return [Point(x, 2 * x)]
def other_class(x): return Point(x, x)
def other_field(x): return Pair(x, x)
def kind(x): return x, Kind.SUM, Kind
def other_kind(x): return x, Kind.SUM
def box(x): return {"box": Box(x, Kind.SUM)}
def box_value(x): return Box(x, Kind.SUM)
def tagged(x): return Tagged(x, Kind.SUM)
def other_tag(x): return Tagged(x, Kind.SUM)
def function(x): return jax.tree_util.Partial(same, x)
def other_function(x): return jax.tree_util.Partial(same, x)


class Cell:
    def run(self, x): return x + 1
"""

AFTER = """\
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Point(NamedTuple):
    x: jax.Array
    v: jax.Array


class Pair(NamedTuple):
    a: jax.Array
    c: jax.Array


class Kind(Enum):
    SUM = 1
    MEAN = 2


@dataclass
class Box:
    x: jax.Array
    kind: Kind


@dataclass
class Tagged:
    x: jax.Array
    kind: Kind


jax.tree_util.register_dataclass(Tagged, data_fields=["x"], meta_fields=["kind"])


def value(x): return 3 * x
def element(x): return x.at[1].set(0.5)
def integer(n): return n + 2
def truth(x): return x >= 0
def nan(x): return x / 0.0
def perturbed(x): return 0 * x + 1.0
def dtype(x): return (x * 2).astype(jnp.bfloat16)
def shape(x): return x[None] * 2
def rank(x): return jnp.sum(x, keepdims=True)
def structure(x): return [x, x]
def keys(x): return {"a": x, "c": x}
def order(x): return {"b": x, "a": 2 * x}
def nothing(x): return x, x
def weak(x): return jnp.float32(2.0)
def gradient(x): return x * jax.lax.stop_gradient(x)
def number(x): return x, jnp.asarray(3)
def array(x): return x, 3
def text(x): return x, "mean"
def key(k): return jax.random.split(k)[1]
def raises(x): raise RuntimeError("no way")
def second(x, y): return x + y, x
def same(x): return jnp.sin(x)
def rounding(x): return jnp.sum(x[::-1])
def fails(x): raise ValueError(f"no {x.shape}")
def fails_in_other_words(x): raise ValueError("never")
def fails_otherwise(x): raise KeyError("no")
def failed(x): return x
def fails_looking(x): raise ValueError("yes" if x > 0 else "no")


def late(x, ws, steps):
    def step(i, x):
        return 0.5 * x + jnp.where(i > 1, 1.5, 1.0) * ws[i]

    return jax.lax.fori_loop(0, steps, step, x)


def collected(x, ws):
    def step(x, w):
        x = 0.5 * x + jnp.abs(w)
        return x, x

    return jax.lax.scan(step, x, ws)[1]


def forward(x):
    def step(c):
        return c[0] + 1, c[1] + jax.lax.stop_gradient(c[1])

    return jax.lax.while_loop(lambda c: c[0] < 3, step, (0, x))[1]


@jax.custom_batching.custom_vmap
def rows(n): return 2 * n


@rows.def_vmap
def _(size, batched, n): return 3 * n, True


def short(x): return jnp.sum(x[:4])
def first_rows(state): return state["x"] + jnp.sum(state["v"][:1])
def ordered(state): return jnp.stack([state[key] for key in sorted(state)])
def carried(x): return jax.lax.fori_loop(0, 3, lambda i, x: x.astype(jnp.bfloat16), x)
def made(x): return jax.jit(lambda y: x - y)
def made_in_part(x): return [jax.tree_util.Partial(lambda y: x - y)]
def made_looking(x): return (lambda y: x - y) if x > 0 else None
def notanumber(x): return jnp.sqrt(jnp.sqrt(x * x))
def looks(x): return x if x > 9 else -x
def point(x): return Point(x, x + x)
def point_value(x): return [Point(x, 3 * x)]
def other_class(x): return Pair(x, x)
def other_field(x): return Pair(x, x)
def kind(x): return x, Kind.SUM, Kind
def other_kind(x): return x, Kind.MEAN
def box(x): return {"box": Box(x, Kind.SUM)}
def box_value(x): return Box(3 * x, Kind.SUM)
def tagged(x): return Tagged(x, Kind.SUM)
def other_tag(x): return Tagged(x, Kind.MEAN)
def function(x): return jax.tree_util.Partial(same, x)
def other_function(x): return jax.tree_util.Partial(value, x)


class Cell:
    def run(self, x): return x + 2
"""

# Call -> what the reason has to name.
DIFFERENT = {
    "value(jnp.ones(3))": ["values differ", "index [0]", "2.0 became 3.0"],
    "value(1.5)": ["as it is written", "3.0 became 4.5"],
    "element(jnp.ones((3)))": ["values differ", "index [1]", "0.0 became 0.5"],
    "integer(jnp.arange(3))": ["values differ", "1 became 2"],
    "truth(jnp.ones(2))": ["values differ", "False became True"],
    "nan(jnp.ones(3))": ["values differ", "became inf"],
    "perturbed(jnp.ones(8))": ["values differ", "perturbed"],
    "dtype(jnp.ones(3))": ["dtype float32 became bfloat16"],
    "shape(jnp.ones(3))": ["shape (3,) became (1, 3)"],
    "rank(jnp.ones(3))": ["shape () became (1,)"],
    "structure(jnp.ones(3))": ["structure"],
    "keys(jnp.ones(3))": ["structure", "'c'"],
    "order(jnp.ones(3))": ["values differ", "['a']"],
    "ordered({'w': jnp.ones(3), 'b': jnp.zeros(3)})": ["values differ"],
    "nothing(jnp.ones(3))": ["structure", "None"],
    "gradient(jnp.ones(3))": ["gradient"],
    "number(jnp.ones(3))": ["3 became an array int32"],
    "array(jnp.ones(3))": ["an array int32", "became 3"],
    "text(jnp.ones(3))": ["'sum' became 'mean'"],
    "key(jax.random.key(0))": ["values differ"],
    "raises(jnp.ones(3))": ["RuntimeError: no way"],
    "second(jnp.ones(3), jnp.zeros(3))": ["values differ", "[1]"],
    "Cell().run(jnp.ones(3))": ["values differ", "2.0 became 3.0"],
    "notanumber(-jnp.ones(3))": ["values differ", "nan became 1.0"],
    "looks(jnp.float32(3))": ["values differ", "3.0 became -3.0"],
    "point_value(jnp.ones(3))": ["values differ", "2.0 became 3.0", "[0].v"],
    "other_class(jnp.ones(3))": ["structure", "Point", "Pair"],
    "other_field(jnp.ones(3))": ["structure", "Pair"],
    "other_kind(jnp.ones(3))": ["Kind.SUM", "Kind.MEAN"],
    "box_value(jnp.ones(3))": ["values differ", "1.0 became 3.0", ".x"],
    "other_tag(jnp.ones(3))": ["structure", "Kind.MEAN"],
    "other_function(jnp.ones(3))": ["structure", "function value"],
    "value(jnp.ones(3, jnp.float8_e4m3fn))": ["values differ", "became 3"],
    "fails_otherwise(jnp.ones(3))": ["ValueError: no became KeyError"],
    "failed(jnp.ones(3))": ["the original raises ValueError: no, the new version does not"],
    "late(jnp.arange(3.0), jnp.ones((20, 3)), 20)": ["values differ"],
    "collected(0.0, jnp.array([1.0, 2.0, 3.0, -4.0, 5.0]))": ["index [3]"],
    "forward(jnp.ones(3))": ["under jvp values differ", "[1][0]"],
    "rows(jnp.arange(3))": ["under vmap values differ"],
    "short(jnp.arange(9.0))": ["values differ"],
    "first_rows({'x': 2.5, 'v': jnp.ones((7, 2))})": ["values differ"],
    "carried(jnp.ones(3))": ["TypeError", "float32[3]", "bfloat16[3]"],
    "made(jnp.ones(3))(jnp.ones(3))": ["values differ", "2.0 became 0.0"],
}
SAME = (
    "same(jnp.ones(3))",
    "rounding(jnp.linspace(0.0, 1.0, 1000))",
    "notanumber(jnp.ones(3))",
    # Classes and functions of the module are others in each version, under the same name.
    "point(jnp.ones(3))",
    "kind(jnp.ones(3))",
    "box(jnp.ones(3))",
    "tagged(jnp.ones(3))",
    "function(jnp.ones(3))",
    "weak(jnp.ones(3))",
)


# A function that is given back is not run: its name alone shows nothing.
UNCALLED = tuple(f"{name}(jnp.float32(3))" for name in ("made", "made_in_part", "made_looking"))


RAISING = ("fails(jnp.ones(3))", "fails_in_other_words(jnp.ones(3))", "fails_looking(1.0)")


@pytest.fixture(scope="module")
def two_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("different")
    (folder / "before.py").write_text(BEFORE)
    (folder / "after.py").write_text(AFTER)
    # Each call has a share of the time; so many share it here.
    long = "--timeout=6000"
    return verify(
        folder, "before.py", "after.py", long, calls=(*DIFFERENT, *SAME, *UNCALLED, *RAISING)
    )


@pytest.mark.parametrize("call, parts", DIFFERENT.items(), ids=list(DIFFERENT))
def test_different(two_files: dict[str, dict[str, Any]], call: str, parts: list[str]) -> None:
    row = two_files[call]
    assert row["status"] == "different"
    for part in parts:
        assert part in row["reason"]


@pytest.mark.parametrize(
    "name, first, smallest",
    [
        (
            "late",
            "iteration 3 of 20",
            "x = float32[1] of zeros, ws = float32[3,1] of ones, steps = 3",
        ),
        ("collected", "iteration 4 of 5", "x = 0.0, ws = float32[4] [1.0, 2.0, 3.0, -4.0]"),
        ("value", "", "x = float32[1] of ones"),
        ("short", "", "x = float32[5] of ones"),
        ("first_rows", "", "state['v'] = float32[2,1] of ones, state['x'] = 0.0"),
    ],
)
def test_where_and_for_what_they_begin_to_differ(
    two_files: dict[str, dict[str, Any]], name: str, first: str, smallest: str
) -> None:
    row = next(row for call, row in two_files.items() if call.startswith(f"{name}("))
    assert (row["first_iteration"], row["smallest"]) == (first, smallest)


def test_weak_types_are_said(two_files: dict[str, dict[str, Any]]) -> None:
    assert "now strongly typed: the result" in two_files["weak(jnp.ones(3))"]["reason"]


def test_both_raise(two_files: dict[str, dict[str, Any]]) -> None:
    for name, error in (("fails(jnp.ones(3))", "no (3,)"), ("fails_looking(1.0)", "yes")):
        row = two_files[name]
        assert (row["status"], row["evidence"]) == ("equal", "measured")
        assert row["raises"] == f"ValueError: {error}"
    row = two_files["fails_in_other_words(jnp.ones(3))"]
    assert row["status"] == "unknown"
    assert "ValueError: no; ValueError: never" in row["reason"]


@pytest.mark.parametrize("call", SAME)
def test_same_in_spite_of_its_neighbours(two_files: dict[str, dict[str, Any]], call: str) -> None:
    assert two_files[call]["status"] == "equal", two_files[call]["reason"]


@pytest.mark.parametrize("call", UNCALLED)
def test_function_that_is_only_made(two_files: dict[str, dict[str, Any]], call: str) -> None:
    assert two_files[call]["status"] == "unknown"
    assert "gives back the function <lambda>, which is not called" in two_files[call]["reason"]


def test_json_of_what_differs(two_files: dict[str, dict[str, Any]]) -> None:
    row = two_files["value(jnp.ones(3))"]
    assert set(row) >= KEYS
    assert row["file"] == "before.py"
    assert (row["before"], row["after"], row["break_even_calls"]) == (None, None, None)
    assert two_files["gradient(jnp.ones(3))"]["gradient"] == "different"


# What cannot be judged.

UNKNOWN = """\
import os
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp


@jax.jit
def good(x):
    for _ in range(3):
        x = 0.5 * x
    return x


@jax.jit
def raises(x):
    for _ in range(3):
        x = 0.5 * x
    raise ValueError("no luck\\nin two lines")


@jax.jit
def leaves(x):
    for _ in range(3):
        x = 0.5 * x
    sys.exit(0)


@jax.jit
def dies(x):
    for _ in range(3):
        x = 0.5 * x
    os.kill(os.getpid(), signal.SIGKILL)


@jax.jit
def faults(x):
    for _ in range(3):
        x = 0.5 * x
    os.kill(os.getpid(), signal.SIGSEGV)


@jax.jit
def recurses(x):
    for _ in range(3):
        x = 0.5 * x
    return recurses(x)


@jax.jit
def ends(x):
    for _ in range(3):
        x = 0.5 * x
    os._exit(0)


@jax.jit
def hangs(x):
    for _ in range(3):
        x = 0.5 * x
    child = subprocess.Popen(["sleep", "600"])
    with open("pids", "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(UNKNOWN)
    return path


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    if status.parent.parent.exists() and status.exists():
        return status.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return True


def assert_nothing_is_left(folder: Path) -> None:
    """Neither the process that ran the code nor one that it had started."""
    pids = [int(pid) for pid in (folder / "pids").read_text().split()]
    assert len(pids) == 2
    end = time.monotonic() + 5
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def test_calls_that_fail_do_not_harm_the_others(module: Path) -> None:
    calls = ("raises(jnp.ones(3))", "leaves(jnp.ones(3))", "recurses(jnp.ones(3))")
    calls = (*calls, "good(jnp.ones(3))")
    wrong = ("missing(1)", "good(", "good", "good(jnp.ones(3)) + 1", "good(1, 2, 3)")
    found = verify(module.parent, "a.py", calls=calls + wrong)
    reasons = {call: row["reason"] for call, row in found.items()}
    assert found["good(jnp.ones(3))"]["status"] == "equal"
    assert found[calls[0]]["status"] == "equal"  # in raising that
    for call in (calls[1], *wrong):
        assert found[call]["status"] == "unknown"
    assert "\n" not in "".join(reasons.values())
    assert "both raise RecursionError" in reasons["recurses(jnp.ones(3))"]
    assert "ValueError: no luck" in reasons["raises(jnp.ones(3))"]
    assert "SystemExit" in reasons["leaves(jnp.ones(3))"]
    assert "NameError" in reasons["missing(1)"]
    assert "SyntaxError" in reasons["good("]
    assert "is not a call" in reasons["good"]
    assert "is not a call" in reasons["good(jnp.ones(3)) + 1"]
    assert "TypeError" in reasons["good(1, 2, 3)"]


@pytest.mark.parametrize(
    "call, reason",
    [
        ("dies(jnp.ones(3))", "SIGKILL (perhaps memory ran out)"),
        ("faults(jnp.ones(3))", "SIGSEGV"),
        ("ends(jnp.ones(3))", "ended with exit code 0"),
    ],
)
def test_call_that_ends_its_process(module: Path, call: str, reason: str) -> None:
    """What was answered before stands, what comes after it is unknown."""
    good, later = "good(jnp.ones(3))", "good(jnp.ones(4))"
    found = verify(module.parent, "a.py", calls=(good, call, later))
    assert [found[c]["status"] for c in (good, call, later)] == ["equal", "unknown", "unknown"]
    assert reason in found[call]["reason"]


def test_call_that_hangs(forscan: Run, module: Path) -> None:
    scratch = module.parent / "scratch"
    scratch.mkdir()
    start = time.monotonic()
    done = forscan(
        "verify", "a.py", "--call", "hangs(jnp.ones(3))", "--timeout", "5", TMPDIR=str(scratch)
    )
    assert time.monotonic() - start < 20
    assert done.returncode == 1
    assert "unknown: hangs(jnp.ones(3)): no result within 5 s" in done.stdout
    assert_nothing_is_left(module.parent)
    assert list(scratch.iterdir()) == []


def test_proof_holds_when_compiling_ends_the_process(forscan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import os\nimport jax\n\nfrom jax.stages import Traced\n"
        "Traced.lower = lambda *rest, **more: os._exit(3)\n\n\n"
        "@jax.jit\ndef f(x):\n    for _ in range(3):\n        x = 2 * x\n    return x\n"
    )
    done = forscan("verify", "a.py", "--call", "f(jnp.ones(3))")
    assert done.returncode == 0
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("equal (proved): f(jnp.ones(3)), for every input of float32[3]")
    assert "nothing was measured: the process ended with exit code 3" in verdict


@pytest.mark.parametrize(
    "number, code", [(signal.SIGINT, 2), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_interrupted(module: Path, number: signal.Signals, code: int) -> None:
    """Control-C, or a time limit of the shell, ends what was started."""
    scratch = module.parent / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "forscan", "verify", "a.py", "--call", "hangs(jnp.ones(3))"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=module.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # in the background it is ignored
    )
    pids = module.parent / "pids"
    end = time.monotonic() + 60
    while not (pids.exists() and len(pids.read_text().split()) == 2):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    try:
        assert_nothing_is_left(module.parent)
    finally:
        for pid in map(int, pids.read_text().split()):
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
    assert process.returncode == code
    assert errors == ("forscan: interrupted\n" if number == signal.SIGINT else "")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "head, reason",
    [
        ("raise RuntimeError('not today')\n", "RuntimeError: not today"),
        ("import sys\nsys.exit('stop')\n", "SystemExit: stop"),
    ],
)
def test_module_that_cannot_be_imported(forscan: Run, module: Path, head: str, reason: str) -> None:
    module.write_text(head + UNKNOWN)
    done = forscan("verify", "a.py", "--call", "good(jnp.ones(3))", "--output-format", "json")
    assert done.returncode == 1
    (row,) = json.loads(done.stdout)
    assert row["status"] == "unknown"
    assert reason in row["reason"]
    assert (row["evidence"], row["max_ulp"], row["before"], row["after"]) == (None,) * 4


# Interpreters, modules in packages, usage.


@pytest.mark.parametrize("command", ["verify", "convert"])
def test_interpreter_without_jax(forscan: Run, module: Path, command: str) -> None:
    bare = module.parent / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = str(bare / "bin" / "python")
    done = forscan(command, "a.py", "--call", "good(jnp.ones(3))", "--python", python)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert python in last and "pip install 'forscan[verify]'" in last


@pytest.mark.parametrize("command", ["verify", "convert"])
def test_interpreter_that_is_not_there(forscan: Run, module: Path, command: str) -> None:
    arguments = ("--call", "good(jnp.ones(3))", "--call", "good(jnp.ones(4))")
    done = forscan(command, "a.py", *arguments, "--python", "/no/such/python")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "/no/such/python" in line


def test_module_in_a_package(tmp_path: Path) -> None:
    """Imports work as they do for the module itself, relative ones and those of neighbours."""
    package = tmp_path / "src" / "pkg"
    (package / "sub").mkdir(parents=True)
    for folder in (package, package / "sub"):
        (folder / "__init__.py").touch()
    (package / "rates.py").write_text("RATE = 0.5\n")
    (package / "sub" / "a.py").write_text(
        "import jax\nimport pkg\nfrom ..rates import RATE\n\n\n@jax.jit\ndef f(x):\n"
        "    for _ in range(3):\n        x = RATE * x\n    return x\n"
    )
    call = "f(jnp.ones(3))"
    found = verify(tmp_path, "src/pkg/sub/a.py", calls=(call,))
    assert found[call]["status"] == "equal", found[call]["reason"]


def test_target_with_one_function_and_a_form(forscan: Run, module: Path) -> None:
    arguments = ("a.py::good", "--to", "fori", "--call", "good(jnp.ones(3))")
    done = forscan("verify", *arguments)
    assert done.returncode == 0
    verdict = next(line for line in done.stdout.splitlines() if line.startswith("equal ("))
    assert "good(jnp.ones(3))" in verdict and "gradient equal" in verdict
    for word in ("trace", "lower", "compile", "run", "equations", "StableHLO"):
        assert any(line.split()[:1] == [word] for line in done.stdout.splitlines())
    assert module.read_text() == UNKNOWN


def test_table_for_a_pull_request(forscan: Run, module: Path) -> None:
    done = forscan("verify", "a.py::good", "--call", "good(jnp.ones(3))", "--markdown")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "**equal** (proved): `good(jnp.ones(3))`"
    assert lines[4:6] == ["|  | before | after |  |", "| --- | ---: | ---: | --- |"]
    assert all(line.count("|") == 5 for line in lines[4:13])
    assert lines[9].startswith("| run |") and lines[9].count("±") == 2
    assert lines[-1].startswith("Measured with jax ")


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("gone.py",), 2, "gone.py: no such file"),
        (("a.py", "gone.py"), 2, "gone.py: no such file"),
        (("a.py", "a.py", "a.py"), 2, "two files"),
        ((".",), 2, "two files"),
        (("broken.py",), 2, "broken.py:2:"),
        (("a.py::nosuch",), 2, "no function nosuch in a.py"),
        (("a.py:1",), 2, "no loop at line 1 in a.py"),
        (("-",), 2, "-: stdin is no target here"),
        (("plain.py",), 1, "nothing was converted"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, tuple) else "",
)
def test_nothing_to_run(
    forscan: Run, module: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (module.parent / "broken.py").write_text("import jax\nfor x in\n")
    (module.parent / "plain.py").write_text("import jax\n")
    done = forscan("verify", *arguments, "--call", "good(1)")
    assert done.returncode == code
    assert message in done.stderr.splitlines()[-1]
    assert done.stdout == ""


# convert --call.

CONVERT = """\
import os
import subprocess
import time

import jax
import jax.numpy as jnp

from steps import step


@jax.jit
def f(x):
    for _ in range(3):
        x = step(x)
    return x


def waits(x):
    child = subprocess.Popen(["sleep", "600"])
    with open("pids", "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    time.sleep(600)
    return f(x)
"""

# The dtype settles after one iteration, which a carry cannot.
STEPS = """\
import jax.numpy as jnp


def step(x):
    return (0.5 * x).astype(jnp.bfloat16)
"""
# Counts for one dtype how often it runs, which nobody can see from outside.
COUNTING = """\
import jax.numpy as jnp

runs = []


def step(x):
    runs.append(x)
    return x if x.dtype == jnp.bfloat16 else len(runs) * x
"""
GOOD, OTHER = "f(jnp.ones(3, jnp.bfloat16))", "f(jnp.ones(3))"


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    (tmp_path / "steps.py").write_text(STEPS)
    path = tmp_path / "a.py"
    path.write_text(CONVERT)
    return path


def test_convert_writes_what_is_equal(forscan: Run, steps: Path) -> None:
    done = forscan("convert", "a.py", "--call", GOOD)
    assert done.returncode == 0
    assert "lax.scan" in steps.read_text()
    assert f"): {GOOD}" in done.stdout
    assert "a.py:13:5: converted" in done.stdout


def test_convert_leaves_what_differs(forscan: Run, steps: Path) -> None:
    """One call that differs is enough; with json nothing else is on stdout."""
    (steps.parent / "steps.py").write_text(COUNTING)
    calls = ("--call", GOOD, "--call", OTHER)
    done = forscan("convert", "a.py", *calls, "--output-format", "json")
    assert done.returncode == 1
    assert steps.read_text() == CONVERT
    (row,) = json.loads(done.stdout)
    assert (row["status"], row["code"]) == ("refused", "FSC601")
    assert OTHER in row["message"] and "values differ" in row["message"]
    assert "equal (" in done.stderr and "different: " in done.stderr


def test_what_calls_show_removes_a_difference(forscan: Run, steps: Path) -> None:
    """From a call that settles the dtype it is known that the first iteration does so.

    Each function has other calls: that one alone, and one that settles nothing before or behind it.
    """
    loop = CONVERT[CONVERT.index("@jax.jit") : CONVERT.index("def waits")]
    functions = {"f": (OTHER,), "g": (GOOD, OTHER), "h": (OTHER, GOOD)}
    others = "".join(loop.replace("def f", f"def {name}") for name in "gh")
    steps.write_text(CONVERT.replace("def waits", f"{others}def waits"))
    calls = [call.replace("f(", f"{name}(", 1) for name in functions for call in functions[name]]
    done = forscan("convert", "a.py", *(part for call in calls for part in ("--call", call)))
    assert done.returncode == 0, done.stdout
    assert steps.read_text().count("lax.scan") == 3


def test_convert_leaves_what_cannot_be_judged(forscan: Run, steps: Path) -> None:
    call = "waits(jnp.ones(3))"
    done = forscan("convert", "a.py", "--call", call, "--timeout", "5")
    assert done.returncode == 1
    assert steps.read_text() == CONVERT
    assert "FSC602 not-verified" in done.stdout
    assert "no result within 5 s" in done.stdout
    assert_nothing_is_left(steps.parent)


@pytest.mark.parametrize("arguments", [("-",), ("a.py", "--diff")], ids=" ".join)
def test_verdicts_do_not_disturb_the_result(
    forscan: Run, steps: Path, arguments: tuple[str, ...]
) -> None:
    """`forscan convert --diff … | git apply` and filters in editors read stdout."""
    done = forscan("convert", *arguments, "--call", GOOD, stdin=CONVERT)
    assert "lax.scan" in done.stdout
    assert "equal (" in done.stderr
    assert "equal (" not in done.stdout


def test_numbers_that_are_static_stay_so(forscan: Run, tmp_path: Path) -> None:
    """A float that jit needs as a Python value is no data of the call."""
    (tmp_path / "a.py").write_text(
        "from functools import partial\n\nimport jax\nimport jax.numpy as jnp\n\n\n"
        '@partial(jax.jit, static_argnames=("dt", "rates"))\n'
        "def f(x, dt, rates=()):\n    for _ in range(3):\n        x = x + dt * jnp.sin(x)\n"
        "    for rate in rates:\n        x = rate * x\n    return x\n"
    )
    call = "f(jnp.ones(3), 0.5, rates=(0.5, 0.25))"
    done = forscan("convert", "--to", "scan", "a.py", "--call", call)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "a.py").read_text().count("lax.scan") == 2
    assert "equal (proved)" in done.stdout
