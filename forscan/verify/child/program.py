"""One version of a call as a compiled program, built in ahead-of-time stages.

The call is compiled as a whole with its data as arguments, whether the function is jitted
or not: what is compared is what runs under jit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from .call import Call, double_precision, widened
from .evaluate import evaluate
from .same import opened


@dataclass
class Result:
    """What a call gave.

    Attributes:
      leaves: arrays, and whatever else the function returned.
      names: where each leaf stands in the result.
      tree: the structure around the leaves.
    """

    leaves: list[Any]
    names: list[str]
    tree: Any

    @classmethod
    def of(cls, value: Any) -> Result:
        found, tree = jax.tree_util.tree_flatten_with_path(opened(value))
        names = [jax.tree_util.keystr(path) or "the result" for path, _ in found]
        return cls([leaf for _, leaf in found], names, tree)


@dataclass
class Stages:
    """Seconds of each stage, once for each time that it ran."""

    trace_s: list[float] = field(default_factory=list)
    lower_s: list[float] = field(default_factory=list)
    compile_s: list[float] = field(default_factory=list)

    @property
    def first(self) -> float:
        """What the first build took in all."""
        return sum(self.trace_s[:1]) + sum(self.lower_s[:1]) + sum(self.compile_s[:1])


class Program:
    """One version of a call.

    Args:
      call: the call.
      own: what is no array of JAX stays what it is, unless the function is jitted.

    Attributes:
      source: the call as it was given.
      data: the leaves of the arguments that are data.
      stages: what building it took.
      equations: of the jaxpr, those of inner jaxprs counted once.
      estimate: of the time that compiling it would take, where it is too long and left out.
      stablehlo_lines: of the program that the compiler is given.
      temp_bytes: temporary memory of the compiled program, None where not known.
    """

    def __init__(self, call: Call, *, own: bool = False) -> None:
        self.source = call
        self.data, self.call = call.split(own=own)
        self.stages = Stages()
        self.equations = 0
        self.stablehlo_lines = 0
        self.temp_bytes: int | None = None
        self.estimate: Any = None
        self._shell = Result([], [], None)
        self._traced: Any = None
        self._compiled: Any = None

    def outputs(self, *data: Any) -> list[Any]:
        """The leaves that jit can give back; the others are kept aside."""
        self._shell = Result.of(self.call(list(data)))
        return [leaf for leaf in self._shell.leaves if is_output(leaf)]

    def trace(self) -> None:
        jax.clear_caches()  # the other version has left traces of what both call
        seconds, self._traced = timed(lambda: jax.jit(self.outputs).trace(*self.data))
        self.stages.trace_s.append(seconds)
        self.equations = count_equations(self._traced.jaxpr.jaxpr)

    @property
    def traced(self) -> bool:
        """Whether there is a trace of it."""
        return self._traced is not None

    @property
    def jaxpr(self) -> Any:
        """The traced program, a closed jaxpr."""
        return self._traced.jaxpr

    @property
    def shell(self) -> Result:
        """What was traced: structure and all that is no array."""
        return self._shell

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers, which are others in double precision."""
        return any(_DRAWS.match(name) for name in _primitives(self.jaxpr.jaxpr))

    @cached_property
    def has_yardstick(self) -> bool:
        """Whether a run in double precision computes the same, but for rounding.

        Random numbers are others there. What keeps count of its calls is another function
        each time, so that nothing would be too far from its results.
        """
        if self.draws:
            return False
        try:
            again = jax.jit(self.outputs).trace(*self.data)
        except Exception:  # it does not even run twice
            return False
        return list(_outline(again.jaxpr.jaxpr)) == list(_outline(self.jaxpr.jaxpr))

    @property
    def types(self) -> list[str]:
        """Of the data, such as `float32[3]`."""
        return [aval.str_short() for aval in self.jaxpr.in_avals]

    def compile(self) -> None:
        seconds, lowered = timed(self._traced.lower)
        self.stages.lower_s.append(seconds)
        self.stablehlo_lines = self.stablehlo_lines or lowered.as_text().count("\n")
        seconds, self._compiled = timed(lowered.compile)
        self.stages.compile_s.append(seconds)
        try:
            self.temp_bytes = int(self._compiled.memory_analysis().temp_size_in_bytes)
        except Exception:  # not every backend knows
            self.temp_bytes = None

    def fingerprint(self) -> str:
        """The compiled program, without what its author called things."""
        try:
            return _without_names(self._compiled.as_text())
        except Exception:  # not every backend can show it
            return ""

    def run(self, data: list[Any]) -> Result:
        if self.estimate is not None:
            return self.run_stepwise(data)
        return self._whole(jax.block_until_ready(self._compiled(*data)))

    def run_stepwise(self, data: list[Any]) -> Result:
        """The trace operation by operation, without compiling the whole."""
        return self._whole(evaluate(self.jaxpr, data))

    def run_as_written(self, data: list[Any]) -> Result:
        """The call as its user makes it: no jit but its own."""
        return Result.of(self.call(list(data)))

    def run_wide(self, data: list[Any], *, eager: bool) -> list[Any] | None:
        """The outputs in double precision, None where they cannot be had."""
        if not self.has_yardstick:
            return None
        try:
            with double_precision():
                wide = [widened(leaf) for leaf in data]
                if eager:
                    outputs = evaluate(jax.make_jaxpr(self.outputs)(*wide), wide)
                else:
                    outputs = jax.jit(self.outputs)(*wide)
                result = self._whole(outputs)
                return [np.asarray(leaf) for leaf in result.leaves]
        except Exception:
            return None

    def seconds(self) -> float:
        """One run of the compiled program."""
        return timed(lambda: jax.block_until_ready(self._compiled(*self.data)))[0]

    def _whole(self, arrays: list[Any]) -> Result:
        rest = iter(arrays)
        shell = self._shell
        leaves = [next(rest) if is_output(leaf) else leaf for leaf in shell.leaves]
        return Result(leaves, shell.names, shell.tree)


def _outline(jaxpr: Any) -> Iterator[str]:
    """Operations and the numbers written in them, in the order of the program."""
    for equation in jaxpr.eqns:
        numbers = [repr(v.val) for v in equation.invars if hasattr(v, "val")]
        yield " ".join([equation.primitive.name, *numbers])
        for inner in inner_jaxprs(equation):
            yield from _outline(inner)


def is_output(leaf: Any) -> bool:
    """Whether jit gives it back as an array; a Python number stays what it is."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = function()
    return time.perf_counter() - start, value


def count_equations(jaxpr: Any) -> int:
    """Equations of a jaxpr and of all jaxprs in it, each counted once."""
    return sum(1 for _ in _primitives(jaxpr))


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The name of each equation's primitive, those of inner jaxprs as well."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in inner_jaxprs(equation):
            yield from _primitives(inner)


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield inner


def scan_operands(equation: Any) -> tuple[int, int]:
    """Where the carry of a scan begins among its operands, and where its xs do."""
    params = equation.params
    if "num_consts" in params:
        return params["num_consts"], params["num_consts"] + params["num_carry"]
    # From jax 0.12 on they are counted by a tree.
    consts, carry, _ = map(list, params["ft_in"].update(equation.invars).unpack())
    return len(consts), len(consts) + len(carry)


def work(jaxpr: Any) -> int:
    """Operations that the compiler gets to see, about: a scan unrolls some of its own."""
    total = 0
    for equation in jaxpr.eqns:
        times = 1
        if equation.primitive.name == "scan":
            times = max(1, min(int(equation.params["unroll"]), equation.params["length"]))
        total += 1 + times * sum(map(work, inner_jaxprs(equation)))
    return total


_DRAWS = re.compile(r"random_(bits|gamma)|threefry2x32|rng_")


def same_program(old: Program, new: Program) -> bool:
    """Whether both compile to one program, which proves that the outputs are equal."""
    texts = [p.fingerprint() for p in (old, new)]
    # Large constants are left out of the text, so it would prove nothing.
    return texts[0] == texts[1] and "{...}" not in texts[0] and bool(texts[0])


def _without_names(text: str) -> str:
    """A compiled program without names, source lines and the tables in front of it."""
    start = re.search(r"^(%|ENTRY|\w+.*\{$)", text, re.M)
    body = text[start.start() :] if start else text
    body = re.sub(r",? ?metadata=\{[^}]*\}", "", body)
    body = re.sub(r"stack_frame_id=\d+", "", body)
    names: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"%{len(names)}")

    return re.sub(r"%[\w.-]+", numbered, body)
