"""State that would be a Python number in a `for`, where a `lax` loop carries an array.

Python computes integers without bounds and floats in double precision, and `~True` is -2.
What is a number before the loop, or becomes one in it, is made an array, weakly typed as it
was; where it starts as an array it keeps that dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from forscan.analyse.carries import given_to
from forscan.analyse.kinds import NUMBER, UNKNOWN, Kind, as_carry, kind_of, kinds_behind
from forscan.analyse.tracers import is_tracer
from forscan.analyse.trip_count import literal_int
from forscan.find.context import FunctionContext
from forscan.model import Carry, Loop, Refusal, Refused, Spelling
from forscan.syntax.code import Code, expression
from forscan.syntax.names import binds, names_in
from forscan.syntax.walk import walk


def as_arrays(
    carries: Sequence[Carry], loop: Loop, code: Code, context: FunctionContext, spelling: Spelling
) -> list[Carry]:
    """The state with arrays in place of numbers.

    Args:
      carries: the state.
      loop: the loop, for its index and its elements.
      code: the statements of an iteration.
      context: the function that the loop stands in.
      spelling: how the file calls jax.
    """
    jnp = spelling.jnp
    index = loop.counter.name if loop.counter is not None and not loop.counter.strong else ""
    starts = {c.target: _start(expression(c.init), context) for c in carries}
    given: dict[str, Kind] = {index: NUMBER} if index else {}
    texts = [expression(c.update) for c in carries]
    later = kinds_behind(code.statements, texts, given | starts, context)
    settled = {name: as_carry(kind) for name, kind in starts.items()}
    always = kinds_behind(code.statements, texts, given | settled, context)
    found = []
    for carry, update, first, last in zip(carries, texts, later, always, strict=True):
        start = starts[carry.target]
        if last == NUMBER or _is_truth_of(update, index):
            dtype = "" if start == NUMBER else f", {carry.target}.dtype"
            if dtype and carry.target in binds(code.statements):
                raise Refused(_loses_type(carry.target))
            whole = f"{jnp}.asarray({carry.update}{dtype})"
            carry = replace(carry, update=whole, init=_array(carry, start, jnp))
        elif _grows(update, first) and _has_numbers(start):
            whole = f"{spelling.jax}.tree.map({jnp}.asarray, {carry.init})"
            carry = replace(carry, init=whole)
        elif first == NUMBER and start == NUMBER:
            values = given_to(carry.target, code.statements) or [update]
            known = kind_of(expression(carry.init), context) == NUMBER
            stays = _counts if known else _adds
            if not all(stays(value, carry.target) for value in values):
                carry = replace(carry, init=_array(carry, start, jnp))
        found.append(carry)
    return found


def _loses_type(name: str) -> Refusal:
    return Refusal(
        "FSC406",
        f"the body gives {name}, an array, a number, which a lax loop makes an array of its type",
        f"Give it an array of that type in the body, for instance by jnp.full_like({name}, 0.5).",
    )


def _start(node: ast.expr, context: FunctionContext) -> Kind:
    """The kind of a start value: what may be a number is taken for one."""
    kind = kind_of(node, context)
    return NUMBER if kind == UNKNOWN and not is_tracer(node, context) else kind


def _grows(update: ast.expr, kind: Kind) -> bool:
    """Whether an item of a tuple stays a number and does more than count."""
    if not isinstance(update, ast.Tuple) or len(update.elts) != len(kind.items):
        return False
    items = zip(update.elts, kind.items, strict=True)
    return any(its == NUMBER and not _steps(item) for item, its in items)


def _steps(update: ast.expr) -> bool:
    match update:
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=step):
            return literal_int(step) is not None
    return isinstance(update, ast.Name | ast.Subscript)


def _has_numbers(kind: Kind) -> bool:
    """Whether a kind is a tuple that holds numbers."""
    return any(item == NUMBER or _has_numbers(item) for item in kind.items)


def _array(carry: Carry, start: Kind, jnp: str) -> str:
    return f"{jnp}.asarray({carry.init})" if start == NUMBER else carry.init


def _is_truth_of(update: ast.expr, index: str) -> bool:
    """`i > 1`, which Python decides where the index is a number."""
    return isinstance(update, ast.Compare) and names_in(update) == {index}


def _counts(update: ast.expr, name: str) -> bool:
    """`name`, or `name + 1`: within int32 for as many iterations as Python can unroll."""
    match update:
        case ast.Name(id=same):
            return same == name
        case ast.BinOp(left=ast.Name(id=same), op=ast.Add() | ast.Sub(), right=step):
            number = literal_int(step)
            return same == name and number is not None and abs(number) < 1000
    return False


def _adds(update: ast.expr, name: str) -> bool:
    """Whether nothing but sums is made of a start that may as well be an array."""
    operators = (n.op for n in walk(update) if isinstance(n, ast.BinOp))
    return all(isinstance(op, ast.Add | ast.Sub) for op in operators)
