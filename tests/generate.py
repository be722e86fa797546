"""Programs at random: a jitted function with a loop or two, and a call of it.

The same seed gives the same text. A program may be wrong (an index past the end, a stack
of nothing): who uses it runs it first and drops it if it raises.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

T = TypeVar("T")
D = 3  # the length of every vector


@dataclass(frozen=True)
class Program:
    """A module and a call of its function.

    Attributes:
      seed: what it was made from.
      source: the module; `CALL` in it is the call.
      call: an expression in the module's namespace; its ints and bools are static.
      features: what was put in, for summaries.
    """

    seed: int
    source: str
    call: str
    features: frozenset[str]


def generate(seed: int) -> Program:
    return _Maker(seed).program()


@dataclass
class _Scope:
    """What may be read where a statement is written."""

    scalars: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    ints: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    index: str | None = None

    def copy(self) -> _Scope:
        return replace(
            self,
            scalars=[*self.scalars],
            vectors=[*self.vectors],
            ints=[*self.ints],
            numbers=[*self.numbers],
        )


Action = Callable[[], None]

_HELPERS = """\
def squash(u, scale=0.5):
    return jnp.tanh(scale * u)


def schedule(i):
    return 0.5**i


def damped(u, i):
    return u / (i + 1)


class State(NamedTuple):
    a: jax.Array
    b: jax.Array


"""


_LIST_GROWS = {
    "{0}.append({1})": 24, "{0} += [{1}]": 4, "{0}.insert(0, {1})": 2, "{0} = {0} + [{1}]": 2,
    "{0} = [*{0}, {1}]": 2, "{0} = [{1}] + {0}": 1, "{0} = [{1}, *{0}]": 1, "{0} += ({1},)": 1,
}  # fmt: skip
_TUPLE_GROWS = {
    "{0} += ({1},)": 2, "{0} = (*{0}, {1})": 2, "{0} = {0} + ({1},)": 2, "{0} = ({1}, *{0})": 1,
}  # fmt: skip


class _Maker:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.indent = 1
        self.scope = _Scope()
        self.used: set[str] = set()
        self.made: dict[str, list[str]] = {}  # Python numbers of each index
        self.features: set[str] = set()
        self.results: list[str] = []
        self.trips = self.pick([4, 4, 4, 5, 5, 3, 3, 2, 1, 0], [3, 3, 3, 3, 3, 3, 3, 1, 1, 1])
        self.rows = self.trips + self.pick([0, 1], [1, 2])
        self.depth = 0

    # -- small tools

    def pick(self, items: list[T], weights: list[int] | None = None) -> T:
        return self.rng.choices(items, weights)[0]

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def note(self, feature: str) -> None:
        self.features.add(feature)

    def emit(self, line: str) -> None:
        comment = f"  # {self.pick(['the state', 'as in the paper', 'noqa: F841'])}"
        self.lines.append(
            "    " * self.indent + line + (comment if self.chance(0.02) and ":" not in line else "")
        )

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A suite; what is bound in it is not read after it."""
        self.emit(head)
        self.indent += 1
        before, count = self.scope.copy(), len(self.lines)
        yield
        if len(self.lines) == count:
            self.emit("pass")
        self.scope = before
        self.indent -= 1

    def fresh(self, *names: str) -> str:
        free = [n for n in names if n not in self.used] or [f"{names[0]}{len(self.used)}"]
        name = self.pick(free)
        self.used.add(name)
        return name

    def number(self) -> str:
        return self.pick(["0.5", "0.3", "0.9", "0.1", "-0.4", "0.25", "1", "2"])

    # -- the module

    def program(self) -> Program:
        arguments = self._arguments()
        for _ in range(self.pick([1, 2], [8, 2])):
            self._loop_with_state()
        self._return()
        header, values = [n for n, _ in arguments], [v for _, v in arguments]
        call = f"f({', '.join(values)})"
        body = "\n".join(self.lines)
        helpers = _HELPERS if any(h in body for h in _HELPER_NAMES) else ""
        named = "".join(f"{n} = {v}\n" for n, v in _HIDDEN.items() if f" {n} = " in body)
        source = (
            f"{self._imports(body + helpers)}\n"
            f"CALL = {call!r}\n"
            f"N = {self.trips}\n"
            f"FLAG = {self.chance(0.5)}\n"
            f"WEIGHTS = {tuple(round(0.2 + 0.15 * i, 2) for i in range(self.rows))}\n"
            f"{named}\n\n{helpers}{self._function(header, body)}"
        )
        return Program(self.seed, source, call, frozenset(self.features))

    def _function(self, header: list[str], body: str) -> str:
        """The function with the loop, jitted, or called with numbers by one that is."""
        if not self.handed:
            return f"{self.decorator}\ndef f({', '.join(header)}):\n{body}\n"
        names = [n.split(":")[0] for n in header]
        own = ", ".join([*names, *self.handed])
        given = ", ".join([*names, *self.handed.values()])
        return (
            f"def work({own}):\n{body}\n\n\n"
            f"{self.decorator}\ndef f({', '.join(header)}):\n    return work({given})\n"
        )

    def _imports(self, body: str) -> str:
        lines = []
        if "math." in body:
            lines.append("import math")
        if "NamedTuple" in body:
            lines.append("from typing import NamedTuple")
        if lines:
            lines.append("")
        lines += ["import jax", "import jax.numpy as jnp"]
        if "partial(" in self.decorator:
            lines.insert(0, "from functools import partial")
        if "lax." in body.replace("jax.lax.", "") or self.chance(0.4):
            lines.append("from jax import lax")
        return "\n".join(lines) + "\n"

    def _arguments(self) -> list[tuple[str, str]]:
        """The parameters of the function with the value of each in the call."""
        t = self.rows
        dtype = self.pick(["", "jnp.bfloat16", "jnp.int32", "jnp.int8"], [16, 2, 2, 1])
        if dtype:
            self.note(dtype.removeprefix("jnp."))
        cast = f".astype({dtype})" if dtype else ""
        base = f"jnp.linspace(-1.0, 2.0, {t})" if "int" not in dtype else f"jnp.arange({t}) - 1"
        wide = self.pick(["", ".astype(jnp.bfloat16)"], [8, 1])
        every = {
            "xs": f"({base}){cast}" if cast else base,
            "ms": f"jnp.sin(jnp.arange({D}.0 * {t})).reshape({t}, {D}){wide}",
            "ws": f"jnp.cos(jnp.arange({D}.0 * {t})).reshape({D}, {t})",
            "ks": f"jnp.arange({t}) % {max(1, t - 1)}",
            "bs": f"jnp.cos(jnp.arange({2 * t + 4}.0))",
            "cs": f"jnp.sin(jnp.arange({D}.0 * {2 * t + 4})).reshape({D}, {2 * t + 4})",
            "v": self.pick(
                [f"jnp.linspace(0.1, 0.7, {D})", f"jnp.ones({D}, jnp.bfloat16)"], [7, 1]
            ),
            "s": self.pick(
                ["jnp.float32(0.4)", "0.4", "jnp.asarray(0.25, jnp.bfloat16)"], [6, 3, 1]
            ),
            "key": self.pick(["jax.random.key(3)", "jax.random.PRNGKey(3)"]),
        }
        names = [n for n in every if n in ("xs", "ms") or self.chance(0.6)]
        self.used |= {*every, "N", "FLAG", "WEIGHTS", "f", "i"}
        self.arrays = {n for n in names if n in ("xs", "ms", "ws", "ks", "bs", "cs")}
        self.has_key = "key" in names
        for name in names:
            if name == "s":
                self.scope.scalars.append("s")
            if name == "v":
                self.scope.vectors.append("v")
        arguments = [(n, every[n]) for n in names]
        self.decorator = "@jax.jit"
        self.static_count = self.chance(0.2)
        if self.static_count:
            arguments.append(("n", str(self.trips)))
            self.decorator = self.pick(
                [
                    '@partial(jax.jit, static_argnames=("n",))',
                    '@partial(jax.jit, static_argnames="n")',
                    f"@partial(jax.jit, static_argnums={len(arguments) - 1})",
                ]
            )
        self.handed: dict[str, str] = {}
        if self.chance(0.25):
            self.note("numbers handed to a function")
            every = {"base": "3", "rough": "0.9", "shift": "2", "seed": "12345"}
            self.handed = {n: v for n, v in every.items() if self.chance(0.6)}
            self.scope.numbers += self.handed
            self.used |= {*every, "work"}
        return [
            (f"{n}: jax.Array" if n in self.arrays and self.chance(0.7) else n, v)
            for n, v in arguments
        ]

    def count(self) -> str:
        options = [str(self.trips), "N"]
        if self.static_count:
            options += ["n", "n"]
        if self.rows == self.trips:
            options += ["len(xs)", "xs.shape[0]", "ms.shape[0]"]
        else:
            options += ["len(xs) - 1", "xs.shape[0] - 1"]
        return self.pick(options)

    # -- expressions

    def scalar(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.15):
            return self._scalar_atom()

        def a() -> str:
            return self.scalar(depth - 1)

        options: list[tuple[int, Callable[[], str]]] = [
            (3, lambda: f"{self.number()} * {a()}"),
            (3, lambda: f"{a()} + {a()}"),
            (2, lambda: f"({a()} - {a()})"),
            (2, lambda: f"jnp.tanh({a()})"),
            (
                2,
                lambda: f"{self.pick(['jnp.sin', 'jnp.cos', 'jnp.abs', 'abs', 'lax.sign'])}({a()})",
            ),
            (1, lambda: f"jnp.where({a()} > 0.15, {a()}, {a()})"),
            (1, lambda: f"jnp.maximum({a()}, {a()})"),
            (1, lambda: f"squash({a()})"),
            (1, lambda: f"jnp.square({a()}) * 0.1"),
            (1, lambda: f"({a()}) / 3"),
            (3, lambda: f"jnp.{self.pick(['sum', 'mean', 'max'])}({self.vector(depth - 1)})"),
            (1, lambda: f"jnp.dot({self.vector(depth - 1)}, {self.vector(depth - 1)}) * 0.1"),
        ]
        if self.scope.index:
            options.append((4, lambda: f"{self.index_number()} * {a()}"))
            options.append((1, lambda: f"({a()} + {self.index_number()})"))
            options.append((1, lambda: f"({a()} if {self.condition()} else {a()})"))
            options.append(
                (
                    1,
                    lambda: f"({a()} if {self.condition()} else {a()} if {self.condition()} else {a()})",
                )
            )
            options.append((1, lambda: f"damped({a()}, {self.scope.index})"))
            options.append((1, lambda: f"schedule({self.scope.index}) * {a()}"))
        if self.scope.ints:
            options.append((1, lambda: f"{self.pick(self.scope.ints)} * {a()}"))
        if self.scope.numbers:
            options.append((3, lambda: f"{self.python_number()} * {a()}"))
            options.append((1, lambda: f"({a()} + {self.pick(self.scope.numbers)})"))
        return self.pick([o for _, o in options], [w for w, _ in options])()

    def vector(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.15):
            return self._vector_atom()

        def a() -> str:
            return self.vector(depth - 1)

        def s() -> str:
            return self.scalar(depth - 1)

        options: list[tuple[int, Callable[[], str]]] = [
            (3, lambda: f"{self.number()} * {a()}"),
            (3, lambda: f"{a()} + {a()}"),
            (2, lambda: f"({a()}) * {s()}"),
            (2, lambda: f"jnp.tanh({a()})"),
            (1, lambda: f"jnp.roll({a()}, 1)"),
            (1, lambda: f"({a()})[::-1]"),
            (1, lambda: f"jnp.clip({a()}, -1, 1)"),
            (1, lambda: f"jnp.where({a()} > {s()}, {a()}, 0.5)"),
            (1, lambda: f"squash({a()}, scale=0.3)"),
            (1, lambda: f"0.3 * jnp.cumsum({a()})"),
            (1, lambda: f"({a()}).at[0].set({s()})"),
            (1, lambda: f"jnp.stack([{s()}, {s()}, 0.5])"),
        ]
        if self.scope.index:
            options.append((2, lambda: f"{self.index_number()} * {a()}"))
            options.append((1, lambda: f"({a()} if {self.condition()} else {a()})"))
        return self.pick([o for _, o in options], [w for w, _ in options])()

    def _scalar_atom(self) -> str:
        if self.scope.index and self.chance(0.35):
            return self.index_read()
        if self.scope.scalars and self.chance(0.85):
            return self.pick(self.scope.scalars)
        return self.pick(["xs[0]", "ms[0, 1]", "0.7", "jnp.sum(xs)"])

    def _vector_atom(self) -> str:
        if self.scope.index and self.chance(0.3):
            return self.index_row()
        if self.scope.vectors and self.chance(0.85):
            return self.pick(self.scope.vectors)
        return self.pick(["ms[0]", "ms[-1]", f"jnp.ones({D})", f"jnp.arange({D}.0)"])

    def index_number(self) -> str:
        """A Python number made of the index, at times one that is there already."""
        i = self.scope.index
        self.note("index arithmetic")
        made = self.made.setdefault(str(i), [])
        if made and self.chance(0.2):
            self.note("number again")
            old = self.pick(made)
            return self.pick([old, f"3 * ({old})", f"(({old}) - 0.5)", f"1e-3 * ({old})"])
        number = self._of_index(i)
        if not number.startswith("jnp"):
            made.append(number)
        return number

    def _of_index(self, i: str | None) -> str:
        return self.pick(
            [
                f"{i} * 0.5",
                f"0.5 ** {i}",
                f"2.0 ** -{i}",
                f"({i} % 2)",
                f"({i} // 2)",
                f"math.cos({i} * 0.3)",
                f"1 / ({i} + 1)",
                f"(N - {i})",
                f"({i} + 1)",
                f"(-1) ** {i}",
                f"math.sqrt({i} + 1)",
                f"float({i})",
                f"({i} == 1)",
                f"{i}",
                f"min({i}, 2)",
                f"WEIGHTS[{i}]",
                f"0.1 * ({i} - 1)",
                f"jnp.cos({i} * 0.3)",
                f"jnp.float32({i})",
                f"2 ** {i}",
                f"{i} / N",
                f"({i} * {i})",
            ],
            [6, 3, 2, 3, 2, 3, 3, 2, 3, 2, 1, 1, 1, 3, 1, 2, 2, 1, 1, 1, 1, 1],
        )

    def python_number(self) -> str:
        """A number that Python computes, of integers without bounds in part."""
        n = self.pick(self.scope.numbers)
        e = self.pick(
            [*self.scope.ints, *([self.scope.index] * 3 if self.scope.index else []), "2"]
        )
        self.note("Python numbers")
        return self.pick(
            [
                n,
                f"{n} ** {e}",
                f"(1e-12 * {n} ** ({e} * 9))",
                f"(({e} + {n}) * 100003 % 7)",
                f"0.01 * ({n} << {e})",
                f"{n} / ({e} + 1)",
                f"({n} * {e})",
                f"({n} * 0.1 + {e})",
                f"1e-9 * 2 ** ({e} * 11)",
                f"0.1 / (1 - 0.9 ** ({e} + 1))",
                f"(1e-9 * 2 ** ({e} * 5 + {n}))",
            ],
            [3, 2, 2, 1, 1, 2, 2, 2, 1, 1, 1],
        )

    def index_read(self) -> str:
        i = self.scope.index
        self.note("index read")
        options = [
            (6, f"xs[{i}]"),
            (2, f"xs[{i} + 1]"),
            (2, f"xs[{i} - 1]"),
            (2, f"xs[N - 1 - {i}]"),
            (1, f"xs[-1 - {i}]"),
            (1, f"xs[-{i}]"),
            (1, f"xs[{i} // 2]"),
            (1, f"xs[{i} % 2]"),
            (2, f"ms[{i}, 0]"),
            (1, f"ms[{i}][1]"),
            (1, f"ms[{i}, -1]"),
        ]
        if "ws" in self.arrays:
            options += [(2, f"ws[1, {i}]")]
        if "ks" in self.arrays:
            options += [(1, f"xs[ks[{i}]]"), (1, f"ks[{i}]")]
        if "bs" in self.arrays:
            options += [(1, f"bs[{i} * 2:({i} + 1) * 2].sum()"), (1, f"bs[2 * {i}:2 * {i} + 2][1]")]
        return self.pick([o for _, o in options], [w for w, _ in options])

    def index_row(self) -> str:
        i = self.scope.index
        self.note("index read")
        options = [
            (6, f"ms[{i}]"),
            (2, f"ms[{i} + 1]"),
            (1, f"ms[{i}, :]"),
            (1, f"ms[N - 1 - {i}]"),
            (1, f"ms[{i} - 1]"),
            (1, f"xs[{i}:{i} + {D}]"),
        ]
        if "ws" in self.arrays:
            options += [(3, f"ws[:, {i}]")]
        if "cs" in self.arrays:
            options += [
                (2, f"cs[:, {i}:{i} + 1].sum(axis=1)"),
                (2, f"cs[:, 2 * {i}:2 * {i} + 2].max(axis=1)"),
            ]
        return self.pick([o for _, o in options], [w for w, _ in options])

    def condition(self) -> str:
        """A condition that Python can decide."""
        i = self.scope.index
        if not i or self.chance(0.25):
            self.note("static flag")
            return self.pick(["FLAG", "not FLAG", "N > 3", "xs.ndim == 1"])
        self.note("branch on index")
        return self.pick(
            [
                f"{i} == 0",
                f"{i} > 0",
                f"{i} % 2 == 0",
                f"{i} % 2",
                f"{i} == N - 1",
                f"{i} < 2",
                f"{i} != 1",
                f"not {i}",
                f"{i} in (0, 2)",
                f"{i} and FLAG",
                f"0 < {i} < 3",
            ],
            [4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1],
        )

    # -- state

    def _scalar_state(self) -> Action:
        name = self.fresh("acc", "total", "x", "carry", "u", "low")
        if "s" in self.scope.scalars and self.chance(0.25):
            name = "s"
            self.note("parameter as state")
        else:
            starts = [
                "0.0",
                "1.0",
                "0",
                "jnp.zeros(())",
                "jnp.float32(0.2)",
                "xs[0]",
                "jnp.sum(xs)",
            ]
            starts += ["jnp.zeros((), xs.dtype)", "jnp.asarray(0.0)", "ms[0, 0]"]
            if "s" in self.scope.scalars:
                starts += ["s", "2 * s"]
            start = self.pick(starts)
            if start in ("0.0", "1.0", "0"):
                self.note("Python start")
            self.emit(f"{name} = {start}")
            self.scope.scalars.append(name)
        self.results.append(name)

        def update() -> None:
            e = self.scalar()
            self.emit(
                self.pick(
                    [
                        f"{name} = {self.number()} * {name} + {e}",
                        f"{name} = jnp.tanh({name} + {e})",
                        f"{name} += {e}",
                        f"{name} = {name} + 0.3 * ({e} - {name})",
                        f"{name} *= {self.pick(['0.9', '2', '-1'])}",
                        f"{name} = jnp.where({e} > 0.2, {name}, 0.5 * {name})",
                        f"{name} = {e}",
                        f"{name} -= 0.1 * {e}",
                    ],
                    [4, 3, 4, 2, 1, 1, 2, 1],
                )
            )

        return update

    def _vector_state(self) -> Action:
        name = self.fresh("h", "w", "pos", "y", "state")
        if "v" in self.scope.vectors and self.chance(0.3):
            name = "v"
            self.note("parameter as state")
        else:
            starts = [f"jnp.zeros({D})", f"jnp.ones(({D},))", "ms[0]", f"jnp.full({D}, 0.5)"]
            if "v" in self.scope.vectors:
                starts += ["v", "jnp.zeros_like(v)", "0.5 * v"]
            if self.chance(0.05):
                starts = ["0.0"]
            self.emit(f"{name} = {self.pick(starts)}")
            self.scope.vectors.append(name)
        self.results.append(name)

        def update() -> None:
            e = self.vector()
            self.emit(
                self.pick(
                    [
                        f"{name} = {self.number()} * {name} + {e}",
                        f"{name} = jnp.tanh({name} + {e})",
                        f"{name} += {e}",
                        f"{name} = {name}.at[0].set({self.scalar()})",
                        f"{name} = jnp.roll({name}, 1) + {e}",
                        f"{name} = {e}",
                    ],
                    [4, 3, 3, 1, 1, 1],
                )
            )

        return update

    def _counter(self) -> Action:
        name = self.fresh("count", "t", "n_seen", "scale")
        self.note("counter")
        start, changes = self.pick(
            [
                ("0", [" += 1", f" = {name} + 1", " += 2"]),
                ("1.0", [" *= 0.5", f" = 0.9 * {name}", " += 0.1"]),
                ("0.0", [" += 0.1", f" = {name} + 0.25"]),
                ("jnp.int32(0)", [" += 1", f" = {name} + 1"]),
                ("1", [" *= 2", f" = {name} * 3", f" = -{name}"]),
                ("0", [f" = {name} + (xs[0] > 0)", f" = 1 - {name}"]),
            ],
            [4, 2, 2, 2, 1, 1],
        )
        self.emit(f"{name} = {start}")
        self.scope.ints.append(name)
        if self.chance(0.7):
            self.results.append(name)
        change = self.pick(changes)
        return lambda: self.emit(f"{name}{change}")

    def _swap(self) -> Action:
        a, b = self.fresh("a", "p"), self.fresh("b", "q")
        self.note("swap")
        if self.chance(0.5):
            self.emit(f"{a}, {b} = {self.scalar(1)}, {self.scalar(1)}")
        else:
            self.emit(f"{a} = {self.pick(['0.0', 'xs[0]', 'jnp.zeros(())'])}")
            self.emit(f"{b} = {self.pick(['1.0', 'xs[-1]', 'jnp.ones(())'])}")
        self.scope.scalars += [a, b]
        self.results += [a, b]
        return lambda: self.emit(
            self.pick(
                [
                    f"{a}, {b} = {b}, {a}",
                    f"{a}, {b} = {b}, 0.5 * ({a} + {b})",
                    f"{a}, {b} = 0.5 * {b} + {self.scalar(1)}, {a}",
                ]
            )
        )

    def _named_tuple(self) -> Action:
        name = self.fresh("st", "model")
        self.note("NamedTuple")
        self.emit(f"{name} = State({self.scalar(0)}, {self.vector(0)})")
        self.scope.scalars.append(f"{name}.a")
        self.scope.vectors.append(f"{name}.b")
        self.results += [name, f"{name}.a"]
        return lambda: self.emit(
            self.pick(
                [
                    f"{name} = State(0.5 * {name}.a + {self.scalar(1)}, {self.vector(1)})",
                    f"{name} = {name}._replace(a={self.scalar(1)})",
                    f"{name} = State(a={name}.a, b={name}.b + {self.vector(1)})",
                ]
            )
        )

    def _dict(self) -> Action:
        name = self.fresh("d", "params")
        self.note("dict")
        self.emit(f'{name} = {{"a": {self.scalar(0)}, "b": {self.vector(0)}}}')
        self.scope.scalars.append(f'{name}["a"]')
        self.scope.vectors.append(f'{name}["b"]')
        self.results += [name, f'{name}["b"]']
        return lambda: self.emit(
            self.pick(
                [
                    f'{name} = {{"a": {self.scalar(1)}, "b": 0.5 * {name}["b"]}}',
                    f'{name} = {{**{name}, "a": {self.scalar(1)}}}',
                    f'{name}["a"] = 0.5 * {name}["a"] + {self.scalar(1)}',
                    f"{name} = jax.tree.map(lambda leaf: 0.5 * leaf, {name})",
                    f'{name} = dict({name}, b=jnp.tanh({name}["b"]))',
                ],
                [2, 2, 2, 2, 1],
            )
        )

    def _pair(self) -> Action:
        name = self.fresh("pair", "both")
        self.note("tuple state")
        self.emit(f"{name} = ({self.scalar(0)}, {self.vector(0)})")
        self.results += [name, f"{name}[0]"]

        def update() -> None:
            left, right = self.fresh("left", "p0"), self.fresh("right", "p1")
            self.emit(f"{left}, {right} = {name}")
            self.scope.scalars.append(left)
            self.scope.vectors.append(right)
            self.emit(f"{name} = (0.5 * {left} + {self.scalar(1)}, {right} + {self.vector(1)})")

        return update

    def _none_start(self) -> Action:
        name = self.fresh("prev", "last", "best")
        self.note("None start")
        self.emit(f"{name} = None")
        self.results.append(name)

        def update() -> None:
            e = self.scalar(1)
            form = self.pick([0, 1, 2])
            if form == 0:
                self.emit(f"{name} = {e} if {name} is None else 0.5 * {name} + {e}")
                return
            if form == 1:
                with self.block(f"if {name} is None:"):
                    self.emit(f"{name} = {e}")
                with self.block("else:"):
                    self.emit(f"{name} = jnp.maximum({name}, {e})")
                return
            with self.block(f"if {name} is not None:"):
                self.emit(f"{self.pick(self.scope.scalars or ['acc'])} += 0.5 * {name}")
            self.emit(f"{name} = {e}")

        return update

    def _first_flag(self) -> Action:
        name = self.fresh("first", "started")
        self.note("first flag")
        self.emit(f"{name} = True")

        def update() -> None:
            target = self.pick(self.scope.scalars or ["acc"])
            with self.block(f"if {name}:"):
                self.emit(f"{target} = {target} + {self.scalar(1)}")
            self.emit(f"{name} = False")

        return update

    def _append(self) -> Action:
        name = self.fresh("out", "hist", "ys", "outputs", "states")
        self.note("append")
        rank = self.pick([0, 1])
        make = self.vector if rank else self.scalar
        styles = self.pick([_LIST_GROWS, _TUPLE_GROWS], [5, 1])
        left, right = "[]" if styles is _LIST_GROWS else "()"
        seed = self.pick([make(0), ""], [1, 5])
        if seed:
            self.note("seeded list")
            seed += "," * (left == "(")
        self.emit(f"{name} = {left}{seed}{right}")
        inside = seed != "" and self.chance(0.5)
        style = self.pick(list(styles), list(styles.values()))
        tuples = self.chance(0.12)
        self._after_append(name, rank, tuples)

        def update() -> None:
            if inside:
                (self.scope.vectors if rank else self.scope.scalars).append(f"{name}[-1]")
                self.note("list read in loop")
            e = make(self.pick([0, 1, 2]))
            if tuples:
                self.note("tuples appended")
                e = f"({e}, {self.scalar(1)})"
            self.emit(style.format(name, e))

        return update

    def _history(self) -> Action:
        """A dict of lists, which are read one by one or all at once."""
        name = self.fresh("history", "log", "trace")
        self.note("dict of lists")
        self.emit(f'{name} = {{"a": [], "b": []}}')
        whole = f"{{k: jnp.stack(v) for k, v in {name}.items()}}"
        self.results.append(self.pick([whole, name, f'jnp.array({name}["a"])'], [3, 1, 2]))

        def update() -> None:
            self.emit(f'{name}["a"].append({self.scalar(1)})')
            self.emit(f'{name}["b"].append({self.vector(1)})')

        return update

    def _records(self) -> Action:
        """A list of records, of which fields are read."""
        name = self.fresh("records", "steps", "path")
        self.note("records appended")
        self.emit(f"{name} = []")
        uses = [
            f"jnp.stack([o.a for o in {name}])",
            f"{name}[-1].b",
            f"jnp.array([o.a for o in {name}])",
        ]
        self.results += self.pick([uses[:1], uses[:2], uses[2:], [name]], [3, 3, 1, 1])
        return lambda: self.emit(f"{name}.append(State({self.scalar(1)}, {self.vector(1)}))")

    def _clock(self) -> Action:
        """A list of Python numbers, which becomes an array."""
        name, t = self.fresh("times", "ts"), self.fresh("clock", "when")
        self.note("numbers appended")
        self.emit(f"{name} = []")
        self.emit(f"{t} = 0.0")
        self.results.append(
            self.pick(
                [
                    f"jnp.array({name})",
                    f"jnp.array({name}) * ms[0, 0]",
                    f"jnp.stack({name}) * ms[0, 0]",
                ]
            )
        )

        def update() -> None:
            self.emit(f"{t} = {t} + 0.25")
            self.emit(f"{name}.append({self.pick([t, t, f'2 * {t}', '0.5'])})")

        return update

    def _logged(self) -> Action:
        """A list that grows in every k-th iteration, by what is not harmless to compute always."""
        name = self.fresh("logs", "losses")
        self.note("logged at times")
        self.emit(f"{name} = []")
        self.results.append(f"jnp.stack({name})")

        def update() -> None:
            index = self.scope.index
            if index is None:
                self.emit(f"{name}.append({self.scalar(1)})")
                return
            tests = (f"{index} % 2 == 0", f"{index} % 2 == 1", f"{index} >= 1", f"{index} % 3 == 0")
            value = f"jnp.sqrt(jnp.abs({self.scalar(1)}) + 1)"
            self.emit(f"if {self.pick(list(tests))}:")
            if self.chance(0.5):
                self.emit(f"    seen = {self.vector(1)}")
                value = f"{value} * jnp.sum(jnp.exp(seen))"
            self.emit(f"    {name}.append({value})")

        return update

    def _after_append(self, name: str, rank: int, tuples: bool) -> None:
        if tuples:
            uses = [
                (3, name),
                (2, f"{name}[-1]"),
                (3, f"{name}[-1][0]"),
                (3, f"jnp.stack([o[0] for o in {name}])"),
                (2, f"jnp.array([w for _, w in {name}])"),
                (1, f"jnp.stack([o[1] for o in {name}[::-1]], axis=-1)"),
                (2, f"tuple(jnp.stack(c) for c in zip(*{name}))"),
                (1, f"len({name})"),
            ]
            for _ in range(self.pick([1, 2])):
                self.results.append(self.pick([u for _, u in uses], [w for w, _ in uses]))
            return
        uses = [
            (8, f"jnp.stack({name})"),
            (2, f"jnp.array({name})"),
            (1, f"jnp.asarray({name})"),
            (2, f"jnp.stack({name}[::-1])"),
            (2, f"jnp.stack({name}, axis=-1)"),
            (2, name),
            (1, f"tuple({name})"),
            (2, f"{name}[-1]"),
            (1, f"{name}[0]"),
            (1, f"sum({name})"),
            (1, f"len({name})"),
            (1, f"jnp.sum(jnp.stack({name}), axis=0)"),
            (1, f"jnp.stack([2 * o for o in {name}])"),
            (1, f"jnp.stack(list(reversed({name})))"),
            (1, f"jnp.stack({name})[1:]"),
            (1, f"{name}[1:]"),
        ]
        if rank:
            uses += [(2, f"jnp.concatenate({name})"), (1, f"jnp.vstack({name})")]
        for _ in range(self.pick([1, 2], [4, 1])):
            self.results.append(self.pick([u for _, u in uses], [w for w, _ in uses]))

    def _buffer(self) -> Action:
        name = self.fresh("buf", "table", "grid")
        self.note("buffer")
        rank = self.pick([0, 1], [2, 1])
        shape = f"(len(xs), {D})" if rank else self.pick(["len(xs)", "N", "N + 1"])
        like = [f"jnp.zeros({shape})", f"jnp.full({shape}, 0.5)"]
        like += [] if rank else ["jnp.zeros_like(xs)", "xs"]
        self.emit(f"{name} = {self.pick(like)}")
        self.results += [name, name]
        if self.chance(0.2):
            self.results.append(f"{name}[-1]")

        def update() -> None:
            i = self.scope.index
            e = self.vector() if rank else self.scalar()
            if not i:
                self.emit(f"{name} = 0.5 * {name} + {self.scalar()}")
                return
            if self.chance(0.35):
                self.note("buffer read")
                e = f"0.5 * {name}[{i} - 1] + {e}"
            place = self.pick([i, f"{i} + 1", f"N - 1 - {i}", f"{i} - 1"], [6, 2, 1, 1])
            if rank:
                place = self.pick([place, f"{place}, :"], [4, 1])
            elif "ks" in self.arrays and self.chance(0.1):
                place = f"ks[{i}]"
            way = self.pick(["set", "add", "multiply"], [6, 3, 1])
            self.emit(f"{name} = {name}.at[{place}].{way}({e})")

        return update

    def _key(self) -> Action | None:
        if not self.has_key:
            return None
        self.note("random")
        key = "key"

        def update() -> None:
            way = self.pick([0, 1, 2])
            i = self.scope.index
            noise, sub = self.fresh("noise", "eps", "z"), self.fresh("sub", "k1")
            if way == 0 and i:
                self.emit(f"{sub} = jax.random.fold_in({key}, {i})")
            elif way == 1:
                self.emit(f"{key}, {sub} = jax.random.split({key})")
            else:
                self.emit(f"{sub}, {key} = jax.random.split({key}, 2)")
            self.emit(f"{noise} = jax.random.normal({sub}, ({D},))")
            self.scope.vectors.append(noise)

        return update

    # -- other statements

    def _temporary(self) -> None:
        name = self.fresh("tmp", "delta", "r", "g", "mid")
        rank = self.pick([0, 1])
        self.emit(f"{name} = {self.vector() if rank else self.scalar()}")
        (self.scope.vectors if rank else self.scope.scalars).append(name)
        if self.chance(0.2):
            self.note("live-out local")
            self.results.append(name)

    def _row(self) -> None:
        """A slice that the body only gives a name, and a window whose bounds have names."""
        i = self.scope.index
        if i is None:
            return
        name, low, high = self.fresh("item"), self.fresh("low"), self.fresh("high")
        if self.chance(0.5) or "bs" not in self.arrays:
            self.emit(f"{name} = xs[{i}]")
        else:
            self.note("named bounds")
            self.emit(f"{low} = {i} * 2")
            self.emit(f"{high} = {low} + 2")
            self.emit(f"{name} = bs[{low}:{high}].sum()")
        self.scope.scalars.append(name)

    def _number(self) -> None:
        """A name for a Python number, which the module may know as another one."""
        name = self.fresh(*_HIDDEN, "half", "third")
        self.note("local number")
        i, known = self.scope.index, self.scope.numbers
        options = ["0.7", "2", "3", "N", *(f"{n} * 2" for n in known)]
        options += [f"{i} + 1", f"{i} * 2", f"0.5 * {i}"] if i else []
        self.emit(f"{name} = {self.pick(options)}")
        self.scope.numbers.append(name)

    def _local_function(self) -> None:
        name = self.fresh("local", "move", "energy")
        self.note("local function")
        if self.chance(0.5):
            self.emit(f"{name} = lambda q: {self.number()} * q + {self.scalar(1)}")
        else:
            with self.block(f"def {name}(q):"):
                self.scope.scalars.append("q")
                self.emit(f"return jnp.tanh(q + {self.scalar(1)})")
        self.scope.scalars.append(f"{name}({self.scalar(0)})")

    def _walrus(self) -> None:
        name, target = self.fresh("wal", "part"), self.fresh("both", "res")
        self.note("walrus")
        if self.scope.index and self.chance(0.4):
            self.emit(f"{name} = {self.scalar(1)}")
            first, second = f"({name} := {self.scalar(1)})", self.scalar(1)
            self.emit(f"{target} = {first} if {self.condition()} else {second}")
        else:
            self.emit(f"{target} = ({name} := {self.scalar(1)}) + 0.5 * {name}")
        self.scope.scalars += [name, target]

    def _comprehension(self) -> None:
        target = self.fresh("mixed", "norms")
        self.note("comprehension")
        shadow = self.pick([*[n for n in self.scope.scalars if n.isidentifier()], "k", "j"])
        self.emit(
            self.pick(
                [
                    f"{target} = sum([0.5 * {shadow} for {shadow} in {self._vector_atom()}])",
                    f"{target} = sum({self.scalar(1)} * {shadow} for {shadow} in range(2))",
                    f"{target} = jnp.sum(jnp.stack([jnp.sin({shadow}) for {shadow} in ms[0]]))",
                ]
            )
        )
        self.scope.scalars.append(target)

    def _inner_loop(self) -> None:
        if self.depth >= 2:
            return
        self.note("nested")
        target, count = self.fresh("j", "k", "_"), self.pick(["2", "3", "N", str(D)])
        names = [n for n in self.scope.scalars if n.isidentifier() and n not in self.reads]
        vectors = [n for n in self.scope.vectors if n.isidentifier() and n not in self.reads]
        i = self.scope.index
        rows = self.pick([f"range({count})", f"ms[{i}]" if i else "ms[0]", "xs", "(0.5, 0.25)"])
        self.depth += 1
        with self.block(f"for {target} in {rows}:"):
            if rows.startswith("range"):
                self.scope.index = target if target != "_" else None
                if i and self.chance(0.5):
                    self.scope.numbers.append(i)
            else:
                self.scope.scalars.append(target)
                self.scope.index = i if self.chance(0.3) else None
            if names:
                name = self.pick(names)
                self.emit(f"{name} = 0.5 * {name} + {self.scalar(1)}")
            if vectors and (not names or self.chance(0.3)):
                name = self.pick(vectors)
                self.emit(f"{name} = jnp.tanh({name}) + {self.vector(1)}")
        self.depth -= 1

    def _continue(self) -> None:
        self.note("continue")
        with self.block(f"if {self.condition()}:"):
            if self.chance(0.3) and self.states:
                self.pick(self.states)()
            self.emit("continue")

    # -- loops

    def _loop_with_state(self) -> None:
        kinds: list[tuple[int, Callable[[], Action | None]]] = [
            (6, self._scalar_state),
            (5, self._vector_state),
            (2, self._counter),
            (2, self._swap),
            (1, self._named_tuple),
            (1, self._dict),
            (1, self._pair),
            (1, self._none_start),
            (1, self._first_flag),
            (6, self._append),
            (1, self._history),
            (1, self._records),
            (1, self._clock),
            (1, self._logged),
            (3, self._buffer),
            (2, self._key),
        ]
        self.states: list[Action] = []
        for _ in range(self.pick([1, 2, 3, 4], [3, 6, 4, 1])):
            made = self.pick([k for _, k in kinds], [w for w, _ in kinds])()
            if made is not None:
                self.states.append(made)
        extras: list[tuple[int, Action]] = [
            (6, self._temporary),
            (2, self._row),
            (2, self._number),
            (2, self._local_function),
            (1, self._walrus),
            (1, self._comprehension),
            (2, self._inner_loop),
            (1, self._continue),
        ]
        body = [*self.states]
        for _ in range(self.pick([0, 1, 2], [5, 3, 1])):
            body.append(self.pick([e for _, e in extras], [w for w, _ in extras]))
        if self.chance(0.5):
            self.rng.shuffle(body)
        else:
            body.sort(key=lambda a: a in self.states)
        header, index, scalars, vectors = self._header()
        self.reads = {*scalars, *vectors}
        with self.block(header):
            self.scope.scalars += scalars
            self.scope.vectors += vectors
            self.scope.index = index
            for action in body:
                if self.chance(0.12):
                    with self.block(f"if {self.condition()}:"):
                        action()
                    while self.chance(0.2):
                        self.note("elif")
                        with self.block(f"elif {self.condition()}:"):
                            self.pick(body)()
                    if self.chance(0.4):
                        with self.block("else:"):
                            self.pick(body)()
                else:
                    action()
        if index and self.chance(0.06):
            self.note("index after")
            self.results.append(index)
        if self.chance(0.03):
            with self.block("else:"):
                self.emit(f"done = {self.scalar(1)}")
            self.results.append("done")

    def _header(self) -> tuple[str, str | None, list[str], list[str]]:
        """The line of the loop, its index, and the names of its scalars and vectors."""
        i = self.pick(["i", "i", "t", "step"])
        n = self.count()
        x, m = self.pick(["x", "xi", "x_t"]), self.pick(["m", "row"])
        cut = self.pick(["", "[1:]", "[::-1]", "[:N]", "[:-1]", "[::2]"], [5, 2, 2, 1, 1, 1])
        other = self.pick(["", "[1:]", "[::-1]", "[:2]"])
        mine = self.pick([n for n in self.scope.vectors if n.isidentifier()] or ["ms[0]"])
        kind, line, index, scalars, vectors = self.pick(
            [
                ("range", f"for {i} in range({n}):", i, [], []),
                ("range start", f"for {i} in range(1, {n}):", i, [], []),
                ("range step", f"for {i} in range(0, {n}, 2):", i, [], []),
                ("countdown", f"for {i} in range({n} - 1, -1, -1):", i, [], []),
                ("reversed range", f"for {i} in reversed(range({n})):", i, [], []),
                ("no index", f"for _ in range({n}):", None, [], []),
                ("array", f"for {x} in xs{cut}:", None, [x], []),
                ("rows", f"for {m} in ms{cut}:", None, [], [m]),
                ("reversed array", f"for {x} in reversed(xs):", None, [x], []),
                ("zip", f"for {x}, {m} in zip(xs{cut}, ms{cut}):", None, [x], [m]),
                ("zip shifted", "for x0, x1 in zip(xs[:-1], xs[1:]):", None, ["x0", "x1"], []),
                ("zip range", f"for {i}, {m} in zip(range({n}), ms):", i, [], [m]),
                ("enumerate", f"for {i}, {x} in enumerate(xs{cut}):", i, [x], []),
                ("enumerate start", f"for {i}, {m} in enumerate(ms{cut}, start=1):", i, [], [m]),
                ("enumerate zip", f"for {i}, ({x}, {m}) in enumerate(zip(xs, ms)):", i, [x], [m]),
                ("literal", f"for {x} in (0.5, 0.25, 1.5):", None, [x], []),
                ("literal ints", f"for {i} in (0, 2, 1):", i, [], []),
                ("literal pairs", "for c, e in [(0.5, 1), (0.25, 2)]:", None, ["c", "e"], []),
                ("constant", f"for {x} in WEIGHTS:", None, [x], []),
                ("unpacked", "for c, e, g0 in ms:", None, ["c", "e", "g0"], []),
                ("arange", f"for {x} in jnp.arange({n}):", None, [x], []),
                ("linspace", f"for {x} in jnp.linspace(0.0, 1.0, {n}):", None, [x], []),
                ("columns", f"for {x} in ms.T[0]:", None, [x], []),
                ("zip unequal", f"for {x}, {m} in zip(xs{cut}, ms{other}):", None, [x], [m]),
                ("zip more", f"for {x}, x1 in zip(xs{cut}, {mine}):", None, [x, "x1"], []),
                (
                    "zip nested",
                    f"for {x}, ({m}, x1) in zip(xs{cut}, zip(ms, xs[1:])):",
                    None,
                    [x, "x1"],
                    [m],
                ),
                ("state", f"for {x} in {mine}:", None, [x], []),
                ("enumerated state", f"for {i}, {x} in enumerate({mine}):", i, [x], []),
            ],
            [12, 5, 2, 4, 2, 4, 5, 5, 1, 4, 1, 1, 4, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 2, 1],
        )
        self.note(kind)
        self.used |= {*scalars, *vectors, *([index] if index else [])}
        return line, index, scalars, vectors

    def _return(self) -> None:
        chosen = list(dict.fromkeys(self.results))
        self.rng.shuffle(chosen)
        keep = chosen[: self.pick([1, 2, 3, 4], [2, 4, 3, 1])] or ["xs"]
        if len(keep) == 1:
            self.emit(f"return {keep[0]}")
        elif self.chance(0.1):
            pairs = ", ".join(f'"r{i}": {k}' for i, k in enumerate(keep))
            self.emit(f"return {{{pairs}}}")
        else:
            self.emit(f"return {', '.join(keep)}")


# Names that the module has for other numbers than the function.
_HIDDEN = {"gain": "0.25", "rate": "5", "fold": "4"}
_HELPER_NAMES = ("squash(", "schedule(", "damped(", "State(")
