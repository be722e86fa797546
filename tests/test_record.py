"""`forscan record`: programs run as they do without it, and what they show is used afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from forscan.recording import recorded_calls
from forscan.verify.child.call import Call
from tests.conftest import ROOT, Run
from tests.running import assert_same, load

PYTHON = sys.executable


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def recording(folder: Path) -> dict[str, Any]:
    """The functions in a recording, as `file::function`."""
    content = json.loads((folder / ".forscan" / "recording.json").read_text())
    files: dict[str, dict[str, Any]] = content["files"]
    return {f"{file}::{name}": noted for file, fs in files.items() for name, noted in fs.items()}


# The program is none the wiser; none of these needs jax.

SHOW = '''\
"""The docstring."""
from __future__ import annotations

import sys


def total(*numbers, scale=1, **rest):
    """Adds."""
    sum = 0
    for n in numbers:
        sum += n
    return scale * sum


print(__doc__, __name__, __file__, __spec__ and __spec__.name, __package__, sys.argv, sys.path[0])
print(total(1, 2, scale=3, other=4), total.__doc__, total.__code__.co_firstlineno)
print(sys.modules["__main__"].total is total, total.__annotations__)
if "raise" in sys.argv:
    for k in range(3):
        total(None)
sys.exit(7)
'''


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["show.py", "a", "--diff", "-x"], id="script"),
        pytest.param(["-u", "-X", "utf8", "show.py"], id="options of python"),
        pytest.param(["show.py", "raise"], id="traceback"),
        pytest.param(["-m", "show", "a"], id="module"),
        pytest.param(["-c", "import show"], id="imported"),
        pytest.param(["-P", "show.py"], id="safe path"),
        pytest.param(["missing.py"], id="no such script"),
        pytest.param(["wrong.py"], id="syntax error"),
    ],
)
def test_program_runs_as_it_does_without(command: list[str], forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, show=SHOW, wrong="for i in range(3)\n    pass\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    plain = subprocess.run(
        [PYTHON, *command], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    done = subprocess.run(
        [PYTHON, "-m", "forscan", "record", "--", PYTHON, *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout == plain.stdout
    assert done.returncode == plain.returncode
    said = [line for line in done.stderr.splitlines() if not line.startswith("forscan: ")]
    frames = [line for line in said if "<frozen runpy>" not in line]
    assert frames == [line for line in plain.stderr.splitlines() if "<frozen runpy>" not in line]


def test_arguments_are_noted_without_jax(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, show=SHOW)
    assert forscan("record", "--", PYTHON, "show.py").returncode == 7
    noted = recording(tmp_path)["show.py::total"]
    assert noted["traced"] is False
    assert [n["value"] for n in noted["calls"][0]["positional"]] == [1, 2]
    assert {k: n["value"] for k, n in noted["calls"][0]["named"].items()} == {
        "scale": 3,
        "other": 4,
    }


def test_sitecustomize_of_the_program_is_run(forscan: Run, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('mine')\n")
    write(tmp_path, show="import sitecustomize\nprint(sitecustomize.__file__)\n")
    path = os.pathsep.join([str(own), str(ROOT)])
    done = forscan("record", "--", PYTHON, "show.py", PYTHONPATH=path)
    assert done.stdout.splitlines()[1:] == ["mine", str(own / "sitecustomize.py")]
    assert "Error" not in done.stderr


def test_other_compilers_are_left_alone(forscan: Run, tmp_path: Path) -> None:
    """They compile the function as it stands, and would not know what a probe is."""
    write(tmp_path, show="import sys  # numba\n" + SHOW.split("\n\n", 1)[1])
    forscan("record", "--", PYTHON, "show.py")
    assert recording(tmp_path) == {}


@pytest.mark.parametrize(
    "command, code",
    [
        ([PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], 137),
        ([PYTHON, "-c", "raise SystemExit(300 % 256)"], 44),
        (["no-such-program"], 2),
        ([], 2),
    ],
)
def test_exit_code(command: list[str], code: int, forscan: Run) -> None:
    assert forscan("record", "--", *command).returncode == code


PATIENT = """\
import sys, time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    for k in range(2):
        print("stopped")
    sys.exit(5)
"""


def test_interrupting_is_left_to_the_program(tmp_path: Path) -> None:
    write(tmp_path, patient=PATIENT)
    running = subprocess.Popen(
        [PYTHON, "-m", "forscan", "record", "--", PYTHON, "patient.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    time.sleep(0.2)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (5, "stopped\nstopped\n")
    assert "Traceback" not in err


# One run of a program of several processes, whose loops nobody marks.

MODEL = """\
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    x: jax.Array
    v: jax.Array


@dataclass(frozen=True)
class Settings:
    rate: float
    names: tuple[str, ...] = ()


class Agent:
    def __init__(self, steps):
        self.steps = steps

    def act(self, x):
        for _ in range(self.steps):
            x = jnp.sin(x)
        return x

    @classmethod
    def default(cls, x, ws):
        for w in range(4):
            x = x + ws[w]
        return x


def forward(layers, x, key):
    for layer in layers:
        x = jnp.tanh(layer["w"] @ x + layer["b"])
    return x + jax.random.normal(key, x.shape)


@partial(jax.jit, static_argnames="steps")
def rollout(state: State, dt, *, steps):
    for _ in range(steps):
        state = State(state.x + dt * state.v, state.v - dt * state.x)
    return state


def make(rate):
    def step(x, ws):
        for i in range(4):
            x = rate * x + ws[i]
        return x

    return step


def outer(x):
    def inner(x):
        for _ in range(3):
            x = 3 * x
        return x

    return jax.jit(inner)(x)


def eager(x, settings: Settings):
    for _ in range(3):
        x = settings.rate * x
    return x


@jax.vmap
def rows(x):
    for _ in range(3):
        x = 2 * x
    return x


def never(x):
    for _ in range(3):
        x = 2 * x
    return x
"""

TRAIN = """\
import subprocess
import sys

import jax
import jax.numpy as jnp

import model


def unmarked(x, ws):
    for i in range(6):
        x = jnp.tanh(x + ws[i])
    return x


if __name__ == "__main__":
    if "worker" in sys.argv:
        layers = [{"w": jnp.eye(3), "b": jnp.full(3, k)} for k in range(4)]
        table = {"run": model.forward}
        print(jax.jit(table["run"])(layers, jnp.ones(3), jax.random.key(0)))
        sys.exit(0)
    table = {"run": unmarked, "act": model.Agent(3).act}
    jax.jit(lambda x: table["run"](x, jnp.ones((6, 3))))(jnp.ones(3))
    jax.jit(table["act"])(jnp.ones(3))
    model.Agent.default(jnp.ones(3), jnp.ones((4, 3)))
    for _ in range(3):
        model.rollout(model.State(jnp.ones(3), jnp.full(3, 2.0, jnp.float32)), 0.5, steps=5)
    model.rollout(model.State(jnp.ones(2), jnp.zeros(2)), 0.5, steps=5)
    jax.jit(model.make(0.5))(jnp.ones(3), jnp.ones((4, 3)))
    model.outer(jnp.ones(2))
    model.eager(jnp.ones(2), model.Settings(0.5, ("a", "b")))
    model.rows(jnp.ones((2, 3)))
    subprocess.run([sys.executable, "train.py", "worker"], check=True)
    sys.exit(3)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    write(folder, model=MODEL, train=TRAIN)
    done = run(folder, "record", "--", PYTHON, "train.py")
    assert done.returncode == 3, done.stderr
    assert "model.py::Agent.act: no call that can be made again, self is an Agent" in done.stderr
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "forscan", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_who_ran_under_a_trace(recorded: Path) -> None:
    assert {name: noted["traced"] for name, noted in recording(recorded).items()} == {
        "model.py::Agent.act": True,
        "model.py::Agent.default": False,
        "model.py::eager": False,
        "model.py::forward": True,  # in another process
        "model.py::make": False,
        "model.py::make.step": True,
        "model.py::outer": False,
        "model.py::outer.inner": True,
        "model.py::rollout": True,
        "model.py::rows": True,
        "train.py::unmarked": True,
    }


def test_why_there_is_no_call(recorded: Path) -> None:
    noted = recording(recorded)
    assert "self is an Agent" in noted["model.py::Agent.act"]["calls"][0]["why"]
    assert noted["model.py::make.step"]["why"] == "it is defined in another function"
    assert noted["model.py::rows"]["why"] == "it is decorated with vmap"


def test_call_that_only_makes_a_function_says_nothing_of_it(recorded: Path) -> None:
    noted = recording(recorded)
    assert not noted["model.py::make.step"]["within"]
    assert recorded_calls(recorded / "model.py", ["make.step"]) == ()
    assert noted["model.py::outer.inner"]["within"]
    [call] = recorded_calls(recorded / "model.py", ["outer.inner"])
    assert call.startswith("outer(")


def test_each_kind_of_call_once(recorded: Path) -> None:
    assert len(recording(recorded)["model.py::rollout"]["calls"]) == 2


def test_recording_is_a_plain_folder_of_its_own(recorded: Path) -> None:
    folder = recorded / ".forscan"
    assert sorted(p.name for p in folder.iterdir()) == [".gitignore", "recording.json", "values"]
    assert (folder / ".gitignore").read_text() == "*\n"
    for path in (folder / "values").iterdir():
        np.load(path, allow_pickle=False)


def test_arguments_come_back(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values behind the tracers of a jitted function as well; what had none is invented."""
    monkeypatch.syspath_prepend(recorded)
    path = recorded / "model.py"
    module = load(path.read_bytes(), path)
    state, small = (Call.parse(c, module) for c in recorded_calls(path, ["rollout"]))
    assert (state.args[1:], state.kwargs) == ((0.5,), {"steps": 5})
    assert_same(state.args[0], module.State(jnp.ones(3), jnp.full(3, 2.0, jnp.float32)))
    assert small.args[0].x.shape == (2,)
    [text] = recorded_calls(path, ["forward"])
    layers, x, key = Call.parse(text, module).args
    assert_same(layers[3], {"w": jnp.eye(3), "b": jnp.full(3, 3)})
    assert_same(key, jax.random.key(0))
    [text] = recorded_calls(path, ["eager"])
    assert Call.parse(text, module).args[1] == module.Settings(0.5, ("a", "b"))
    [text] = recorded_calls(path, ["Agent.default"])
    assert Call.parse(text, module).function(*Call.parse(text, module).args).shape == (3,)
    train = recorded / "train.py"
    [text] = recorded_calls(train, ["unmarked"])
    x, ws = Call.parse(text, load(train.read_bytes(), train)).args
    assert (x.shape, ws.shape, x.dtype) == ((3,), (6, 3), jnp.float32)
    assert float(x.min()) > 0 and float(x.max()) < 1


def test_check_finds_loops_that_nobody_marked(recorded: Path, forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, model=MODEL, train=TRAIN)
    without = forscan("check", "--output-format=json", "train.py")
    assert {row["code"] for row in json.loads(without.stdout)} >= {"FSC103"}
    assert "FSC101" not in without.stdout
    done = run(recorded, "check", "--output-format=json", "train.py", "model.py")
    rows = {row["function"]: row for row in json.loads(done.stdout)}
    assert rows["unmarked"]["status"] == "convertible"
    assert rows["make.step"]["status"] == "convertible"
    assert rows["never"]["code"] == rows["eager"]["code"] == "FSC103"
    assert rows["forward"]["code"] == "FSC202"  # types would be needed


def test_convert_learns_types_and_verifies(recorded: Path) -> None:
    done = run(recorded, "convert", "--verify", "--diff", "--output-format=json", "model.py")
    rows = {row["function"]: row for row in json.loads(done.stdout.partition("\n--- ")[0] or "[]")}
    assert rows["forward"]["status"] == "convertible", done.stderr
    assert rows["rollout"]["status"] == "convertible"


def test_verify_and_tune_use_the_recording(recorded: Path) -> None:
    done = run(recorded, "verify", "model.py::rollout", "--output-format=json")
    rows = json.loads(done.stdout)
    assert [row["status"] for row in rows] == ["equal", "equal"]
    assert {row["function"] for row in rows} == {"rollout"}
    done = run(recorded, "tune", "train.py", "--calls=1", "--output-format=json")
    assert json.loads(done.stdout)["best"], done.stderr


def test_without_a_recording_tune_asks_for_a_call(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, model=MODEL)
    done = forscan("tune", "model.py::rollout")
    assert done.returncode == 2
    assert "no call is recorded" in done.stderr


# What a recording may hold, and what it may not do.

KINDS = """\
import dataclasses
import enum
import sys
from typing import NamedTuple

import equinox
import jax
import jax.numpy as jnp
import numpy as np


class Mode(enum.Enum):
    FAST = 1


class Layer(equinox.Module):
    w: jax.Array
    act: object = equinox.field(static=True)

    def __call__(self, x):
        for _ in range(2):
            x = self.act(self.w * x)
        return x


VALUES = [
    jnp.arange(3, dtype=jnp.bfloat16),
    jnp.arange(3).astype(jnp.float8_e4m3fn),
    np.float32(2.5),
    np.arange(6.0).reshape(2, 3).T,
    np.array(["a", "bc"]),
    jnp.asarray(2.0),
    jnp.asarray(True),
    jnp.zeros((0, 3)),
    jax.random.split(jax.random.key(1), 2),
    jax.random.PRNGKey(3),
    float("nan"),
    -0.0,
    1 + 2j,
    2**80,
    "text",
    None,
    (1, [2, {"a": (3.5,), "b": None}]),
    range(1, 9, 2),
    Mode.FAST,
    Layer(jnp.ones(2), jax.nn.relu),
    jnp.tanh,
    jnp.float32,
    np.dtype("int8"),
]


"""


COUNT = 23  # of the values


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("equinox")
    folder = tmp_path_factory.mktemp("kinds")
    # Eight calls of one function are kept, so each value has a function of its own.
    looks = [f"def look_{k}(value):\n    for _ in range(2): pass\n" for k in range(COUNT)]
    calls = [f"    look_{k}(VALUES[{k}])\n" for k in range(COUNT)]
    last = "    Layer(jnp.ones(2), jnp.sin)(jnp.ones(2))\n"
    main = ['if __name__ == "__main__":\n', *calls, last]
    write(folder, kinds="".join([KINDS, *looks, *main]))
    assert run(folder, "record", "--", PYTHON, "kinds.py").returncode == 0
    return folder / "kinds.py"


def test_every_kind_of_value_comes_back(kinds: Path) -> None:
    module = load(kinds.read_bytes(), kinds)
    assert len(module.VALUES) == COUNT
    for k, want in enumerate(module.VALUES):
        [text] = recorded_calls(kinds, [f"look_{k}"])
        [have] = Call.parse(text, module).args
        assert type(have) is type(want), k
        if isinstance(want, float):
            assert float(have).hex() == float(want).hex()
        elif isinstance(want, np.ndarray):
            assert have.dtype == want.dtype and have.tolist() == want.tolist()
        elif callable(want) and not isinstance(want, module.Layer):
            assert have is want
        else:
            assert_same(want, have)


def test_method_of_an_object_that_can_be_made_again(kinds: Path) -> None:
    module = load(kinds.read_bytes(), kinds)
    [text] = recorded_calls(kinds, ["Layer.__call__"])
    call = Call.parse(text, module)
    assert_same(call.function(*call.args), jnp.sin(jnp.sin(jnp.ones(2))))


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"version": 99, "files": {}}', '{"version": 1, "files": {"a.py": [1]}}'],
)
def test_recording_that_cannot_be_used(content: str, forscan: Run, tmp_path: Path) -> None:
    """Is as good as none."""
    write(tmp_path, model=MODEL)
    (tmp_path / ".forscan").mkdir()
    (tmp_path / ".forscan" / "recording.json").write_text(content)
    assert forscan("check", "model.py").returncode == 1


def test_a_second_run_adds_to_the_first(forscan: Run, tmp_path: Path) -> None:
    first = "def one(n):\n    for i in range(n):\n        pass\n\n\none(3)\n"
    write(tmp_path, first=first, second=first.replace("one", "two"))
    forscan("record", "--", PYTHON, "first.py")
    forscan("record", "--", PYTHON, "second.py")
    write(tmp_path, first=first.replace("one(3)", "one(4)"))
    forscan("record", "--", PYTHON, "first.py")
    noted = recording(tmp_path)
    assert noted.keys() == {"first.py::one", "second.py::two"}
    assert [c["positional"][0]["value"] for c in noted["first.py::one"]["calls"]] == [4]


def test_pytest_is_recorded(forscan: Run, tmp_path: Path) -> None:
    write(tmp_path, model=MODEL)
    write(
        tmp_path,
        test_model="""\
import jax
import jax.numpy as jnp
from model import never


def test_never():
    assert jax.jit(never)(1.0) == 8
""",
    )
    path = os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]])
    done = forscan("record", "--", "pytest", "-q", "test_model.py", PATH=path)
    assert done.returncode == 0, done.stdout
    assert recording(tmp_path)["model.py::never"]["traced"]
    done = forscan("verify", "model.py::never", "--output-format=json")
    assert [row["status"] for row in json.loads(done.stdout)] == ["equal"]
