"""Shows that two programs compute the same for every input of their types.

Both programs are traced, not run. Their loops are gone round for round without values,
and every element of every array gets a number: the same number for the same operation on
elements with the same numbers. Where all outputs have the same numbers, structure and
types, both programs are the same function.

Why that is sound. A number stands for one expression over the inputs, and equal numbers
are only given

* to equal operations (primitive, parameters, types) on equal operands;
* to elements that an operation only moves, as the operation itself moves them: slices,
  stacks, transposes, reads and writes at places that are known;
* to constants of the same bits, and to operations on known integers and booleans, which
  have one result; floats are compared, converted and computed with where nothing is rounded;
* by rules that hold bit for bit: `a + b = b + a`, `a > b = b < a`, `1 * a = a`, `a - 0 = a`,
  a choice among equal values or by a known index, a conversion to the same type. Nothing is
  reassociated, and no more said of `a + 0` than that differentiation may add it or not,
  which can change the sign of a zero in a gradient.

So equal numbers mean bit-equal values, given that an operation is a function of its
operands, element by element for those that work so. Random numbers are: they follow from
the key. What calls the host or has effects is not, and ends the attempt, as does a known float
that becomes an integer which cannot hold it. A compiler may
still round one program differently from the other, as it may any program that it rewrites.

The other way round nothing is claimed: different numbers only mean that nothing was shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from .call import Call
from .graph import Graph, Unproved, Value
from .program import Result, is_output
from .same import same_structure, same_value
from .walk import Walk

# About the seconds that compiling so many operations would take at the very least.
OPERATIONS = 300_000
_ELEMENTS = 1 << 26
# Element by element is tried second: it sees more and takes longer.
_FINE = ((64, _ELEMENTS), (1 << 16, 1 << 21))


@dataclass(frozen=True)
class Proof:
    """Whether equality was shown; true if it was.

    Attributes:
      reason: why not, empty where it was.
      operations: how many were looked at, all rounds counted.
    """

    reason: str
    operations: int = 0

    def __bool__(self) -> bool:
        return not self.reason


def proved(f: Callable[..., Any], g: Callable[..., Any], *args: Any, **kwargs: Any) -> Proof:
    """Whether two functions are the same for all arguments of the types of these.

    Arrays and Python floats stand for any of their type and shape; all else is what it is.
    """
    traced, results = [], []
    for function in (f, g):
        data, call = Call(function, args, kwargs).split()
        closed, result = trace(call, data)
        traced.append(closed)
        results.append(result)
    reason = same_shell(*results)
    return Proof(reason) if reason else same_outputs(*traced)


def trace(call: Callable[[list[Any]], Any], data: list[Any]) -> tuple[Any, Result]:
    """The program of a call, and its result with what is no array in it."""
    shells = []

    def outputs(*given: Any) -> list[Any]:
        shells.append(Result.of(call(list(given))))
        return [leaf for leaf in shells[-1].leaves if is_output(leaf)]

    return jax.make_jaxpr(outputs)(*data), shells[-1]


def same_shell(old: Result, new: Result) -> str:
    """What differs in all that is no array; empty where nothing does."""
    if not same_structure(old.tree, new.tree):
        return f"structure {old.tree} became {new.tree}"
    for name, a, b in zip(old.names, old.leaves, new.leaves, strict=True):
        if is_output(a) != is_output(b) or not (is_output(a) or same_value(a, b)):
            return f"another value at {name}"
    return ""


def same_outputs(old: Any, new: Any, *, any_order: bool = False) -> Proof:
    """Whether two closed jaxprs with the same inputs have the same outputs.

    Args:
      any_order: for gradients: what differentiation adds up may be added in any order,
        which is equal but for rounding.
    """
    # How weakly typed a result is changes none of its numbers; whoever shows them says it.
    for typed, which in ((_type, "in_avals"), (_short, "out_avals")):
        types = [[typed(a) for a in getattr(closed, which)] for closed in (old, new)]
        if types[0] != types[1]:
            return Proof(f"types {', '.join(types[0])} became {', '.join(types[1])}")
    proof = Proof("nothing was tried")
    for fine, elements in _FINE:
        proof = _attempt(old, new, fine, elements, any_order)
        if proof or not proof.operations:
            break
    return proof


def _short(aval: Any) -> str:
    return str(aval.str_short())


def _type(aval: Any) -> str:
    return f"{_short(aval)}{' weak' if getattr(aval, 'weak_type', False) else ''}"


def _attempt(old: Any, new: Any, fine: int, elements: int, any_order: bool) -> Proof:
    graph = Graph(OPERATIONS, elements)
    walk = Walk(graph, fine, any_order)
    try:
        outs = [walk.program(closed) for closed in (old, new)]
        wrong = _first_difference(graph, *outs)
    except Unproved as e:
        return Proof(str(e))
    if wrong is not None:
        return Proof(f"output {wrong} is computed in another way", graph.operations)
    return Proof("", graph.operations)


def _first_difference(graph: Graph, old: list[Value], new: list[Value]) -> int | None:
    for index, (a, b) in enumerate(zip(old, new, strict=True)):
        if graph.content(a) != graph.content(b):
            return index
    return None
