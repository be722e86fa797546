"""The call as it is written, for a function that is not jitted itself.

A jitted function makes tracers of all that it is given. Any other is handed the caller's own
objects, and what it computes with those of NumPy and Python they compute, in double precision
and without wrapping around. So such a call is proved with these objects as they are, only
arrays of JAX standing for any of their type, and it is run as its user runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np

from .compare import Difference, Yardstick, compare
from .errors import line
from .program import Program, Result
from .prove import Proof, same_outputs, same_shell


@dataclass
class Pair:
    """What both versions gave, or the errors that they raised instead."""

    results: list[Result | None]
    errors: list[Exception | None]

    @classmethod
    def of(cls, runs: Iterable[Callable[[], Result]]) -> Pair:
        pair = cls([], [])
        for run in runs:
            try:
                pair.results.append(run())
                pair.errors.append(None)
            except Exception as e:
                pair.results.append(None)
                pair.errors.append(e)
        return pair

    @property
    def raised(self) -> bool:
        return any(e is not None for e in self.errors)

    def compared(self, yardstick: Yardstick) -> Difference:
        old, new = self.results
        assert old is not None and new is not None
        return compare(old, new, yardstick)


class Written:
    """Both versions of a call as it is written.

    Args:
      programs: both versions, with all data of the call for inputs.
    """

    def __init__(self, programs: tuple[Program, Program]) -> None:
        self.programs = programs
        self.jitted = all(p.source.jitted for p in programs)

    @property
    def own_objects(self) -> bool:
        """Whether data goes into the function that is not an array of JAX."""
        return any(p.source.data_places() != p.source.data_places(own=True) for p in self.programs)

    @cached_property
    def traced(self) -> list[Program]:
        """Both versions with the caller's own objects in them.

        Raises:
          Exception: whatever tracing them raises.
        """
        if not self.own_objects:
            return list(self.programs)
        found = [Program(p.source, own=True) for p in self.programs]
        for program in found:
            program.trace()
        return found

    def proof(self) -> Proof:
        """Whether the versions are the same for these objects of NumPy and Python."""
        if not self.own_objects:
            return Proof("")
        try:
            old, new = self.traced
            reason = same_shell(old.shell, new.shell)
            return Proof(reason) if reason else same_outputs(old.jaxpr, new.jaxpr)
        except Exception as e:
            return Proof(f"the call as it is written cannot be traced: {line(e)}")

    @property
    def types(self) -> list[str]:
        """Of the data, and what stands for nothing but itself."""
        if not self.own_objects:
            return self.programs[0].types
        call = self.programs[0].source
        free = set(call.data_places(own=True))
        leaves = jax.tree.leaves((call.args, call.kwargs))
        places = zip(call.data_places(), self.programs[0].types, strict=True)
        return [t if k in free else f"{_kind(leaves[k])} as given" for k, t in places]

    def run(self, data: list[Any]) -> Pair:
        """Both as their user runs them, with other data of the same kinds."""
        return Pair.of(partial(p.run_as_written, data) for p in self.programs)

    def run_stepwise(self) -> Pair:
        """Their traces operation by operation, where compiling would take too long."""

        def stepwise(index: int) -> Result:
            program = self.traced[index]
            return program.run_stepwise(program.data)

        return Pair.of(partial(stepwise, index) for index in (0, 1))

    def only_rounds(self, data: list[Any]) -> bool:
        """Whether they give the same where nothing is compiled as a whole."""
        with jax.disable_jit():
            pair = self.run(data)
        return not pair.raised and not pair.compared(lambda: None).reason


def _kind(leaf: Any) -> str:
    if isinstance(leaf, np.ndarray | np.generic):
        return f"numpy {leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    return type(leaf).__name__
