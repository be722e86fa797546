"""The neutral loop: what every reader gives and every writer takes.

Expressions and patterns are texts: those of `body`, `update` and `value` live
inside an iteration, all others in the function around the loop. A form (`for`,
`lax.scan`, `lax.fori_loop`) is a reader and a writer of this; no code knows a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

from forscan.refusal import Refusal as Refusal
from forscan.refusal import Refused as Refused
from forscan.syntax.code import Code
from forscan.syntax.source import Edit


@dataclass(frozen=True)
class Counter:
    """The induction variable: `start`, `start + step`, … as `range` counts.

    Attributes:
      name: what the body calls it.
      strong: True where the body sees an element of `jnp.arange` (strongly typed
        int32), False for a Python int or the index of `fori_loop` (weak).
    """

    name: str
    stop: str
    start: str = "0"
    step: str = "1"
    strong: bool = False

    @property
    def range(self) -> str:
        """The arguments of the `range`, as short as they can be."""
        if self.step != "1":
            return f"{self.start}, {self.stop}, {self.step}"
        return self.stop if self.start == "0" else f"{self.start}, {self.stop}"


@dataclass(frozen=True)
class Element:
    """What an iteration takes as a slice along the leading axis of `source`.

    Attributes:
      target: the pattern that binds the slice.
      source: an expression for xs.
      is_array: whether `source` is one array, not a pytree of them.
      gives_length: whether its length surely is the trip count.
      length: an expression for its length, where that is not `len(source)`.
      parts: the arrays in `source`, where it is a tuple of nothing else.
      number: the type of the Python numbers that a `for` takes in its place.
    """

    target: str
    source: str
    is_array: bool = True
    gives_length: bool = True
    length: str | None = None
    parts: tuple[str, ...] = ()
    number: type | None = None


@dataclass(frozen=True)
class Carry:
    """State that an iteration reads from the one before.

    A `for` makes target, init and result one name; a scan lets all three differ.

    Attributes:
      target: the pattern at the head of the body.
      init: the value before the first iteration.
      update: the value at the end of the body.
      result: the pattern that takes the last value, None where nobody does.
    """

    target: str
    init: str
    update: str
    result: str | None


@dataclass(frozen=True)
class Output:
    """ys: an iteration yields a slice of it.

    Attributes:
      value: an expression over the names at the end of the body.
      result: the pattern that takes the stack, None where nobody does.
      is_array: whether `value` is one array, not a pytree of them.
      inline: whether only the first statement behind the loop reads the result, so that
        the stack can stand in that statement.
    """

    value: str
    result: str | None
    is_array: bool = True
    inline: bool = False


@dataclass(frozen=True)
class Loop:
    """One loop, whatever it is written as.

    Attributes:
      body: the statements of an iteration, without control of the loop.
      carries: in order of first assignment; all updated at once.
      outputs: the ys.
      counter: the induction variable, if the body has one.
      elements: the xs.
      length: the trip count, where neither counter nor elements give it.
      reverse: the last index comes first; ys are still stored by index.
      strict: whether only a check shows that all xs are of one length.
      unroll: the hint given to the compiler, if any.
      before, after: statements around the loop in the function.
      name: what the body function is or should be called, if anything says so.
      as_lambda: whether the body function is written as a lambda.
      guard: a condition without which the loop must not even be traced.
    """

    body: Code
    carries: tuple[Carry, ...] = ()
    outputs: tuple[Output, ...] = ()
    counter: Counter | None = None
    elements: tuple[Element, ...] = ()
    length: str | None = None
    reverse: bool = False
    strict: bool = False
    unroll: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    name: str | None = None
    as_lambda: bool = False
    guard: str | None = None

    def dump(self) -> str:
        """The loop as a few lines of text, for tests and for people who debug."""
        lines = [f"carry {c.target} = {c.init} -> {c.update} => {c.result}" for c in self.carries]
        if self.counter:
            lines.append(f"counter {self.counter.name} in range({self.counter.range})")
        lines += [f"xs {e.target} in {e.source}" for e in self.elements]
        lines += [f"ys {o.value} => {o.result}" for o in self.outputs]
        lines += [f"length {self.length}"] if self.length else []
        lines += ["reverse"] if self.reverse else []
        lines += [f"unroll {self.unroll}"] if self.unroll else []
        lines += [f"guard {self.guard}"] if self.guard else []
        lines += [f"before {s}" for s in self.before]
        lines += ["body", self.body.indented("    ")]
        lines += [f"after {s}" for s in self.after]
        return "\n".join(lines)


@dataclass(frozen=True)
class Spelling:
    """How this file calls the things that generated code needs.

    Attributes:
      lax, jnp, jax: the prefixes to write.
      imports: pairs of a prefix and the import that it needs, if it is used.
      unit: by what the file moves a suite in.
    """

    lax: str
    jnp: str
    jax: str
    imports: tuple[tuple[str, str], ...] = ()
    unit: str = "    "

    def stacked_leaves(self, items: str) -> str:
        """Python for one tree of stacks, of trees of one structure."""
        return f"{self.jax}.tree.map(lambda *leaves: {self.jnp}.stack(leaves), *{items})"

    def copied(self, tree: str) -> str:
        """Python for a tree with containers of its own."""
        return f"{self.jax}.tree.map(lambda leaf: leaf, {tree})"

    def sliced_leaves(self, tree: str, index: str) -> str:
        """Python for a tree with every leaf read at an index or a slice."""
        return f"{self.jax}.tree.map(lambda leaf: leaf[{index}], {tree})"


@dataclass(frozen=True)
class Reading:
    """What a reader gives: the loop, and the place in the file that it takes up.

    Attributes:
      loop: the neutral loop.
      start, end: offsets of the whole lines that the written loop replaces.
      indentation: of the statement that stood there.
      edits: further changes in the file (an emptied list, a body function).
      assumptions: what the conversion relies on, and says.
    """

    loop: Loop
    start: int
    end: int
    indentation: str
    edits: tuple[Edit, ...] = ()
    assumptions: tuple[str, ...] = ()
