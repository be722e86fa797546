"""What running a call has shown about the values of a file, as data for the planner.

Facts hold for the calls that were run, so what relies on them is written only after the
same calls have been verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce


@dataclass(frozen=True)
class Value:
    """The type of one value.

    Attributes:
      kind: "array", "numpy", "number", "None", "list", "tuple", "tree" or "other".
      type: everything that must agree for two values to be of one type: shape, dtype and
        weak type of an array, structure and leaves of a tree.
      dtype: of a number or an array.
      shape: of a number or an array, as `[3, 4]`; "" for what is neither.
      weak: whether it is a Python number or a weakly typed array.
      length: of the leading axis, or of a list or tuple.
      item: for a list or tuple, the one type of all its items, None where they differ or
        are no arrays.
      columns: whether the items of a list or tuple are arrays of one length.
    """

    kind: str
    type: str
    dtype: str = ""
    shape: str = ""
    weak: bool = False
    length: int | None = None
    item: Value | None = None
    columns: bool = False

    @property
    def scalar(self) -> bool:
        """Whether it is a number or an array without axes."""
        return self.shape == "[]"

    @property
    def is_array(self) -> bool:
        return self.kind in ("array", "number")

    @property
    def is_leaf(self) -> bool:
        """Whether a stack of such values is one array, not a tree of them."""
        return self.is_array or self.kind == "numpy"


@dataclass(frozen=True)
class Seen:
    """What was seen while one call was traced.

    Attributes:
      expressions: by function and text, every type that an expression had.
      first: by function and name, every type that a name had before a loop's first iteration.
      later: the same for all later iterations and behind the loop.
    """

    expressions: Mapping[tuple[str, str], frozenset[Value]] = field(default_factory=dict)
    first: Mapping[tuple[str, str], frozenset[Value]] = field(default_factory=dict)
    later: Mapping[tuple[str, str], frozenset[Value]] = field(default_factory=dict)

    def of(self, function: str, text: str) -> Value | None:
        """The type of an expression, where it had one."""
        return _only(self.expressions.get((function, text)))

    def keeps_type(self, function: str, name: str) -> bool:
        """Whether state can be carried as it is: its type never changes, or a scan sees to it.

        A scan gives a weakly typed start the dtype that the body makes of it, and what
        becomes weakly typed the dtype that it has.
        """
        place = (function, name)
        start, rest = _only(self.first.get(place)), self.later.get(place)
        if start is None or rest is None:
            return False
        if rest == {start}:
            return True
        if not all(v.is_array and v.shape == start.shape for v in (start, *rest)):
            return False
        if start.weak:
            return len({v.dtype for v in rest if not v.weak}) <= 1
        return {v.dtype for v in rest} == {start.dtype}

    def settles(self, function: str, name: str) -> bool:
        """Whether the first iteration gives state the one type that it has from then on."""
        place = (function, name)
        start, rest = _only(self.first.get(place)), _only(self.later.get(place))
        known = start is not None and rest is not None
        return known and not self.keeps_type(function, name)

    def changes(self, function: str, name: str) -> bool:
        """Whether the type of state changes in a later iteration."""
        several = len(self.later.get((function, name), ())) > 1
        return several and not self.keeps_type(function, name)

    def behind_first(self) -> Seen:
        """What holds for loops whose first iteration has been taken out."""
        return replace(self, first={**self.first, **self.later})


@dataclass(frozen=True)
class Facts:
    """What was seen while some calls were traced: shapes may differ from call to call.

    What is said of a place holds for every call that came by it.
    """

    calls: tuple[Seen, ...] = ()

    def __bool__(self) -> bool:
        return any(seen.expressions or seen.first for seen in self.calls)

    def of(self, function: str, text: str) -> Value | None:
        """What the types of an expression have in common, where each call had one."""
        place = (function, text)
        values = [seen.of(*place) for seen in self.calls if place in seen.expressions]
        return reduce(_common, values) if values else None

    def keeps_type(self, function: str, name: str) -> bool:
        """Whether state can be carried as it is."""
        calls = self._at(function, name)
        return bool(calls) and all(seen.keeps_type(function, name) for seen in calls)

    def settles(self, function: str, name: str) -> bool:
        """Whether the first iteration gives state the one type that it has from then on."""
        calls = self._at(function, name)
        fine = all(s.keeps_type(function, name) or s.settles(function, name) for s in calls)
        return fine and any(s.settles(function, name) for s in calls)

    def changes(self, function: str, name: str) -> bool:
        """Whether the type of state changes in a later iteration."""
        return any(seen.changes(function, name) for seen in self.calls)

    def behind_first(self) -> Facts:
        """What holds for loops whose first iteration has been taken out."""
        return Facts(tuple(seen.behind_first() for seen in self.calls))

    def _at(self, function: str, name: str) -> list[Seen]:
        place = (function, name)
        return [seen for seen in self.calls if place in seen.first or place in seen.later]


NO_FACTS = Facts()


def _common(a: Value | None, b: Value | None) -> Value | None:
    """One value for two that differ at most in their shapes."""
    if a is None or b is None or (a.kind, a.scalar, a.weak) != (b.kind, b.scalar, b.weak):
        return None
    if a == b:
        return a
    length = a.length if a.length == b.length else None
    item, columns = _common(a.item, b.item), a.columns and b.columns
    return replace(a, type=f"{a.type} or {b.type}", length=length, item=item, columns=columns)


def _only(values: frozenset[Value] | None) -> Value | None:
    return next(iter(values)) if values is not None and len(values) == 1 else None
