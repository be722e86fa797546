"""Walks through a program and numbers what it computes; loops are gone round for round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .elements import Elements
from .fold import fold, iota, overflows
from .freeze import Freezer
from .graph import Graph, Unproved, Value
from .moves import move, row
from .ops import CALLS, ELEMENTWISE, HOST
from .program import scan_operands


class Walk:
    """One graph, and the programs that are numbered in it.

    Args:
      graph: gives out the numbers.
      fine: arrays up to this size are computed with element by element.
      any_order: the sums that differentiation makes are the same whatever their order.
    """

    def __init__(self, graph: Graph, fine: int, any_order: bool) -> None:
        self.graph = graph
        self._depth = 0
        self._consts: dict[tuple[int, str], tuple[Any, Value]] = {}
        self._ops: dict[int, tuple[Any, int]] = {}
        self._freezer = Freezer(self.meaning)
        self._elements = Elements(graph, self._freezer, fine, any_order)

    def program(self, closed: Any) -> list[Value]:
        """The outputs of a program, its inputs being any arrays of their types."""
        if closed.effects:
            raise Unproved("the programs have effects")
        return self._closed(closed, self._unknown("input", closed.jaxpr.invars))

    def meaning(self, closed: Any) -> Hashable:
        """A function that is handed to an operation, by what it computes."""
        return self._meaning(closed, [])

    def _meaning(self, closed: Any, given: list[Value]) -> Hashable:
        """A function whose first arguments are given, by what it computes of the others.

        They are numbered by how deep the function stands, so an inner function's are not
        taken for those of an outer one, and functions of other depths not compared.
        """
        jaxpr = getattr(closed, "jaxpr", closed)
        self._depth += 1
        try:
            free = self._unknown(f"argument {self._depth}", jaxpr.invars[len(given) :])
            if jaxpr is closed:
                consts = self._unknown(f"constant {self._depth}", jaxpr.constvars)
                outs = self.run(jaxpr, consts, [*given, *free])
            else:
                outs = self._closed(closed, [*given, *free])
            types = tuple(str(v.aval) for v in (*jaxpr.invars[len(given) :], *jaxpr.outvars))
            return ("function", self._depth, types, tuple(map(self.graph.content, outs)))
        finally:
            self._depth -= 1

    def _unknown(self, kind: str, variables: Sequence[Any]) -> list[Value]:
        return [
            self.graph.node((kind, k, str(v.aval.dtype), v.aval.shape), v.aval.shape)
            for k, v in enumerate(variables)
        ]

    def _closed(self, closed: Any, args: list[Value]) -> list[Value]:
        if not hasattr(closed, "jaxpr"):
            return self.run(closed, [], args)
        kept = zip(closed.consts, closed.jaxpr.constvars, strict=True)
        return self.run(closed.jaxpr, [self._const(c, v.aval.dtype) for c, v in kept], args)

    def _const(self, array: Any, dtype: Any) -> Value:
        """A constant as the type that the trace gives it: NumPy's may be of double precision."""
        place = (id(array), str(dtype))
        found = self._consts.get(place)
        if found is None:
            if jnp.issubdtype(jnp.result_type(array), jax.dtypes.extended):
                data = np.asarray(jax.random.key_data(array)).tobytes()
                key = ("key", str(array.dtype), array.shape, data)
                value = self.graph.node(key, array.shape)
            else:
                value = self.graph.constant(np.asarray(array, dtype))
            found = self._consts[place] = (array, value)  # held: its id stays its own
        return found[1]

    def run(self, jaxpr: Any, consts: list[Value], args: list[Value]) -> list[Value]:
        env: dict[Any, Value] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Value:
            if hasattr(atom, "val"):
                return self._literal(atom)
            return env[atom]

        for equation in jaxpr.eqns:
            outs = self._equation(equation, [read(a) for a in equation.invars])
            env.update(zip(equation.outvars, outs, strict=True))
        return [read(a) for a in jaxpr.outvars]

    def _literal(self, atom: Any) -> Value:
        if hasattr(atom.val, "shape") and atom.val.shape:
            return self._const(atom.val, atom.aval.dtype)
        return self.graph.constant(np.asarray(atom.val, atom.aval.dtype))

    def _equation(self, equation: Any, ins: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        self.graph.spend(operations=1)
        if name in CALLS:
            return self._closed(params[CALLS[name]], ins)
        if equation.effects or any(word in name for word in HOST):
            raise Unproved(f"{name} has effects, or asks the host")
        found = _RULES[name](self, equation, ins) if name in _RULES else move(equation, ins)
        if found is not None:
            return found
        if name in ELEMENTWISE and _in_place(equation):
            return [self._elements.compute(equation, ins)]
        return self._opaque(equation, ins)

    def _opaque(self, equation: Any, ins: list[Value], *more: Hashable) -> list[Value]:
        """An operation that is the same only where all of it is."""
        contents = tuple((v.shape, self.graph.content(v)) for v in ins)
        key = (self._op(equation), contents, *more)
        return [self.graph.node((key, k), v.aval.shape) for k, v in enumerate(equation.outvars)]

    def _op(self, equation: Any) -> int:
        """The operation without its operands."""
        found = self._ops.get(id(equation))
        if found is None:
            outs = tuple((v.aval.shape, str(v.aval.dtype)) for v in equation.outvars)
            params = self._freezer.freeze(equation.params)
            key = (equation.primitive.name, params, _setting(equation), outs)
            found = self._ops[id(equation)] = (equation, self.graph.intern(key))
        return found[1]

    # Rules: what an operation gives, None where it stays what it is.

    def _convert(self, equation: Any, ins: list[Value]) -> list[Value] | None:
        have, want = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
        if have == want:
            return ins
        known = self.graph.known(ins[0], have)
        if known is not None and overflows(known, want):
            raise Unproved("a number becomes an integer that cannot hold it")
        return None

    def _iota(self, equation: Any, ins: list[Value]) -> list[Value] | None:
        counted = iota(equation.params)
        return None if counted is None else [self.graph.constant(counted)]

    def _reduce(self, equation: Any, ins: list[Value]) -> list[Value] | None:
        name, axes = equation.primitive.name, equation.params["axes"]
        one_each = all(ins[0].shape[axis] == 1 for axis in axes)
        if one_each and (name != "reduce_sum" or self._elements.any_order or not axes):
            return [self.graph.value(ins[0].ids.reshape(equation.outvars[0].aval.shape))]
        known = self.graph.all_known(ins, equation.invars) if ins[0].size else None
        if known is None:
            return None
        aval = equation.outvars[0].aval
        result = fold(name, known, equation.params, aval.dtype)
        return None if result is None else [self.graph.constant(result)]

    def _select(self, equation: Any, ins: list[Value]) -> list[Value] | None:
        shape = equation.outvars[0].aval.shape
        cases = [v if v.shape == shape else self._spread(v, shape) for v in ins[1:]]
        if len({self.graph.content(c) for c in cases}) == 1:
            return [cases[0]]
        which = self.graph.known(ins[0], equation.invars[0].aval.dtype)
        if which is None:
            return None
        if which.size and (which == which.flat[0]).all():
            return [cases[int(which.flat[0])]]
        ids = cases[0].ids
        for number, case in enumerate(cases[1:], 1):
            ids = np.where(which == number, case.ids, ids)
        return [self.graph.value(ids)]

    def _spread(self, value: Value, shape: Any) -> Value:
        return self.graph.value(np.broadcast_to(value.ids, shape))

    def _cond(self, equation: Any, ins: list[Value]) -> list[Value]:
        branches = equation.params["branches"]
        known = self.graph.known(ins[0], equation.invars[0].aval.dtype)
        if known is not None:
            return self._closed(branches[min(max(int(known), 0), len(branches) - 1)], ins[1:])
        results = [self._closed(b, ins[1:]) for b in branches]
        which = self.graph.content(ins[0])
        outs = []
        for variable, cases in zip(equation.outvars, zip(*results, strict=True), strict=True):
            contents = tuple(map(self.graph.content, cases))
            if len(set(contents)) == 1:
                outs.append(cases[0])
            else:
                shape = variable.aval.shape
                outs.append(self.graph.node(("cond", which, contents, shape), shape))
        return outs

    def _scan(self, equation: Any, ins: list[Value]) -> list[Value]:
        params = equation.params
        closed, length = params["jaxpr"], int(params["length"])
        first, last = scan_operands(equation)
        consts, carry, xs = ins[:first], ins[first:last], ins[last:]
        if length < 0:  # which JAX traces, and takes for none
            raise Unproved("a scan has a negative length")
        self._afford(closed, length)
        rows: list[list[Value]] = []
        order = range(length)
        for index in reversed(order) if params["reverse"] else order:
            outs = self._closed(closed, [*consts, *carry, *(row(x, index) for x in xs)])
            carry = outs[: len(carry)]
            rows.append(outs[len(carry) :])
        if params["reverse"]:
            rows.reverse()
        variables = equation.outvars[len(carry) :]
        return carry + [self._stacked([r[k] for r in rows], v) for k, v in enumerate(variables)]

    def _stacked(self, rows: list[Value], variable: Any) -> Value:
        if not rows:
            return self.graph.value(np.zeros(variable.aval.shape, np.int64))
        return self.graph.value(np.stack([r.ids for r in rows]))

    def _while(self, equation: Any, ins: list[Value]) -> list[Value]:
        params = equation.params
        first = params["cond_nconsts"]
        last = first + params["body_nconsts"]
        tests, consts, state = ins[:first], ins[first:last], ins[last:]
        while True:
            test = self._closed(params["cond_jaxpr"], [*tests, *state])[0]
            known = self.graph.known(test, np.bool_)
            if known is None:
                break
            if not known:
                return state
            state = self._closed(params["body_jaxpr"], [*consts, *state])
        # How often it goes round is not known, so it is what its parts compute.
        parts = (
            self._meaning(params["cond_jaxpr"], tests),
            self._meaning(params["body_jaxpr"], consts),
        )
        contents = tuple((v.shape, self.graph.content(v)) for v in state)
        outs = equation.outvars
        return [
            self.graph.node(("while", parts, contents, k), v.aval.shape) for k, v in enumerate(outs)
        ]

    def _afford(self, closed: Any, length: int) -> None:
        """Raises Unproved at once where the rounds would take too many operations."""
        self.graph.affords(len(closed.jaxpr.eqns) * length)


def _setting(equation: Any) -> Hashable:
    """What the context of an operation says of its values: how random bits are made."""
    return getattr(getattr(equation, "ctx", None), "threefry_partitionable", None)


def _in_place(equation: Any) -> bool:
    """Whether the operands have the shape of the result, or none."""
    shape = equation.outvars[0].aval.shape
    return all(a.aval.shape in ((), shape) for a in equation.invars)


Rule = Callable[[Walk, Any, list[Value]], list[Value] | None]

_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("reduce_sum", "reduce_max", "reduce_min", "reduce_and", "reduce_or"), Walk._reduce
    ),
    "convert_element_type": Walk._convert,
    "iota": Walk._iota,
    "select_n": Walk._select,
    "cond": Walk._cond,
    "scan": Walk._scan,
    "while": Walk._while,
}
