"""The same call with few iterations, where a number in it may say how many.

A scan without iterations has no last output, a first iteration taken out runs once too
often: what holds for many trips need not hold for none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax

from .call import Call
from .compare import compare
from .errors import line
from .program import Result
from .prove import same_outputs, same_shell, trace

_TRIPS = (0, 1, 2)
_NUMBERS = 3  # of a call that are tried


@dataclass(frozen=True)
class FewTrips:
    """What differs with few iterations.

    Attributes:
      reason: empty where nothing does.
      loud: whether the new version raises, rather than to give something else.
    """

    reason: str = ""
    loud: bool = False


def few_trips(old: Call, new: Call) -> FewTrips:
    """The first difference when an integer of the call is 0, 1 or 2."""
    leaves = jax.tree.leaves((old.args, old.kwargs))
    places = [k for k, leaf in enumerate(leaves) if type(leaf) is int and leaf > max(_TRIPS)]
    for place in places[:_NUMBERS]:
        for trips in _TRIPS:
            found = _difference(_with(old, place, trips), _with(new, place, trips))
            if found.reason:
                reason = f"with {trips} in place of {leaves[place]} {found.reason}"
                return replace(found, reason=reason)
    return FewTrips()


def _with(call: Call, place: int, value: int) -> Call:
    leaves, tree = jax.tree.flatten((call.args, call.kwargs))
    leaves[place] = value
    args, kwargs = jax.tree.unflatten(tree, leaves)
    return Call(call.function, args, kwargs)


def _difference(old: Call, new: Call) -> FewTrips:
    data, call = old.split()
    try:
        program, want = trace(call, data)
    except Exception:  # the number means something else, or must be larger
        return FewTrips()
    new_data, new_call = new.split()
    try:
        new_program, have = trace(new_call, new_data)
    except Exception as e:
        return FewTrips(f"the new version raises {line(e)}", loud=True)
    if not same_shell(want, have) and same_outputs(program, new_program):
        return FewTrips()
    results = Result.of(call(data)), Result.of(new_call(new_data))
    return FewTrips(compare(*results, lambda: None).reason)
