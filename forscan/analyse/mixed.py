"""State that a scan would keep in half precision where Python goes on in single.

A state that starts as a Python number is weakly typed: what it meets decides the type. In
Python that is over after the first iteration. A scan compares types, not whether they are
weak: with `x = 1.0` and then `x = (x + half) + single` it traces its body with a weak x, is
content with the float32 that comes out, and adds in half precision in every iteration. No
error shows it. It takes an array that meets the state and another one, of a wider type, that
the state takes in. Arrays of one source are of one type, and code that mixes types names one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from forscan.analyse.carries import GIVES_INTEGERS, Carries
from forscan.analyse.lists import is_nested
from forscan.analyse.static_values import STATIC_ATTRIBUTES
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import parameters, target_names
from forscan.syntax.walk import walk_all

Sources = frozenset[str]

# The type of an array that is made without one: what meets it is as wide.
_FULL = "float32"
_FULL_MADE = {"zeros", "ones", "empty", "full", "eye", "identity", "linspace"}
_NO_FLOATS = GIVES_INTEGERS | {
    "arange", "shape", "key", "PRNGKey", "split", "fold_in", "range", "len", "int",
}  # fmt: skip
# Names that are followed for one state: there are as many ways as subsets of names that are made
# of each other. Behind that a name is a source of its own, which can only find more meetings.
_MOST = 1_000
_NO_VALUES = {"axis", "shape", "keepdims"}
# Reductions give a strong type, also of nothing but numbers.
_SETTLES = {
    "sum", "mean", "prod", "max", "min", "cumsum", "cumprod", "std", "var", "median", "average",
    "norm", "logsumexp", "softmax", "log_softmax",
}  # fmt: skip


def mixed_precision(carries: Carries, name: str) -> Iterator[Refusal]:
    """State that may be computed in another precision than in Python."""
    if not carries.context.module.names_half_precision:
        return
    if not carries.may_start_weakly(name):
        return
    meetings = _Meetings(carries, name)
    found = next(meetings.narrow(), None)
    if found is not None:
        yield refuse(
            "FSC406",
            found.place,
            f"{name} may start weakly typed, meets {_shown(found.met)} and takes in "
            f"{_shown(found.others)}: where the first is of half precision and the other is not, "
            "a scan would stay in half precision",
            f"Start {name} from an array of the type that it has after one iteration.",
        )
    elif (
        not meetings.taken
        and carries.may_start_as_integer(name)
        and carries.may_become_floating(name)
    ):
        yield refuse(
            "FSC406",
            carries.loop,
            f"{name} may start as the number 0 or another integer, and meets no array: what a scan "
            "makes of it is strongly typed, and what it meets later may be of half precision",
            f"Start {name} from a float.",
        )
    for update in carries.updates(name):
        if isinstance(update, ast.Name) and update.id in carries.carried and update.id != name:
            yield refuse(
                "FSC413",
                update,
                f"{name} may start weakly typed and changes places with {update.id}: where that "
                "is of half precision, a scan would give both its type",
                f"Start {name} from an array of the type of {update.id}.",
            )


@dataclass(frozen=True)
class _Meeting:
    """An operation that decides the type of weakly typed state.

    Attributes:
      place: where the state is read.
      met: the sources of what it meets there.
      others: sources that the state takes its type from besides.
    """

    place: ast.Name
    met: Sources
    others: Sources


@dataclass(frozen=True)
class _Meetings:
    """Where weakly typed state meets arrays.

    Attributes:
      first: whether only the first iteration is asked about: what else is carried is its start.
      steps: counts the names that were followed.
    """

    carries: Carries
    name: str
    first: bool = False
    steps: Iterator[int] = field(default_factory=count)

    def narrow(self) -> Iterator[_Meeting]:
        """The meetings whose result may be of a narrower type than the state becomes."""
        first = _Meetings(self.carries, self.name, first=True)
        start = self.carries.start(self.name) or ast.Name(self.name, ast.Load())
        # Where the state starts weakly typed, all that its start is made of is as weak.
        final = self.taken - first._of(start, frozenset())
        for node in walk_all(self.carries.loop.body) if final else ():
            if isinstance(node, ast.Name) and node.id == self.name:
                met = first._met(node)
                if met and _FULL not in met and final - met:
                    yield _Meeting(node, met, final - met)

    @cached_property
    def taken(self) -> Sources:
        """The sources that the state takes its type from in the body."""
        return self._of_all(self.carries.updates(self.name))

    def _met(self, node: ast.expr) -> Sources:
        """The sources of the first arrays that an expression comes together with."""
        parents = self.carries.context.module.functions.parents
        child: ast.AST = node
        while isinstance(parent := parents.get(child), ast.expr | ast.keyword):
            match parent:
                case ast.Attribute(attr=attribute) if attribute in STATIC_ATTRIBUTES | {"at"}:
                    return frozenset()
                case ast.Subscript(slice=index) if index is child:
                    return frozenset()
                case ast.Tuple() | ast.List() if not isinstance(parents.get(parent), ast.Call):
                    return frozenset()
                case ast.Attribute() | ast.Subscript():  # a field, an item, a method
                    child = parent
                    continue
            operands: list[ast.AST] = [*ast.iter_child_nodes(parent)]
            if isinstance(parent, ast.Call):
                operands = [*parent.args, *(k.value for k in parent.keywords)]
            met = self._of_all(o for o in operands if o is not child and isinstance(o, ast.expr))
            if met:
                return met
            child = parent
        if isinstance(parent, ast.AugAssign):
            other = parent.target if child is parent.value else parent.value
            return self._of(other, frozenset({self.name}))
        return frozenset()

    # The names, attributes and types that a floating-point type comes from. The state itself
    # and Python numbers add nothing.

    def _of_all(self, nodes: Iterable[ast.expr], seen: Sources | None = None) -> Sources:
        known = frozenset({self.name}) if seen is None else seen
        return frozenset[str]().union(*(self._of(n, known) for n in nodes))

    def _of(self, node: ast.expr, seen: Sources) -> Sources:  # noqa: C901
        match node:
            case ast.Constant() | ast.Compare():
                return frozenset()
            case ast.Name(id=name):
                return self._of_name(name, seen)
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return self._of_all([left, right], seen)
            case ast.Subscript(value=ast.Name(id=whole)) if self._is_unpacked(node, whole):
                return frozenset({ast.unparse(node)})
            case ast.UnaryOp(operand=base) | ast.Subscript(value=base):
                return self._of(base, seen)
            case ast.Attribute(attr=attribute) if attribute in STATIC_ATTRIBUTES:
                return frozenset()
            case ast.Attribute(value=base, attr="T" | "mT" | "real" | "at"):
                return self._of(base, seen)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self._of_all(items, seen)
            case ast.Lambda(body=body):  # a branch of `lax.cond`
                return self._of(body, seen.union(parameters(node)))
            case ast.Call():
                return self._of_call(node, seen)
        return frozenset({ast.unparse(node)})

    def _is_unpacked(self, item: ast.Subscript, whole: str) -> bool:
        """Whether an item stands for a name in `x, y = inputs`: each may have its own type."""
        context = self.carries.context
        return whole in context.parameters and item not in context.module.functions.parents

    def _of_call(self, node: ast.Call, seen: Sources) -> Sources:
        path = self.carries.context.resolve(node.func) or ""
        tail = path.rsplit(".", 1)[-1]
        if tail in _NO_FLOATS:
            return frozenset()
        if path.startswith("jax.random.") or tail in _FULL_MADE:
            return self._dtype(node) or frozenset({_FULL})
        if isinstance(node.func, ast.Attribute) and not path:  # a method of an array
            if node.func.attr == "astype":
                return frozenset(map(ast.unparse, node.args))
            given = [node.func.value, *node.args, *(k.value for k in node.keywords)]
            return self._settled(self._of_all(given, seen), tail or node.func.attr)
        given = [*node.args, *(k.value for k in node.keywords if k.arg not in _NO_VALUES)]
        if tail in ("where", "select", "cond"):
            del given[:1]
        own = () if path.startswith("jax.") or "." not in path else (path,)
        return self._dtype(node) or self._settled(self._of_all(given, seen), tail).union(own)

    def _settled(self, sources: Sources, tail: str) -> Sources:
        return frozenset({_FULL}) if tail in _SETTLES and not sources else sources

    def _dtype(self, node: ast.Call) -> Sources:
        named = [k.value for k in node.keywords if k.arg == "dtype"]
        by_place = [a for a in node.args[1:] if _is_dtype(a)]  # zeros(shape, dtype)
        return frozenset(map(ast.unparse, named + by_place))

    def _of_name(self, name: str, seen: Sources) -> Sources:
        context = self.carries.context
        if name in seen:
            return frozenset()
        if next(self.steps) > _MOST:
            return frozenset({name})
        if name not in context.locals:
            if name in context.module.constants:
                return self._of(context.module.constants[name], seen | {name})
            known = context.resolve(ast.Name(name, ast.Load()))
            return frozenset() if known else frozenset({name})
        if self.first and name in self.carries.carried:
            values = self.carries.starts(name)
        else:
            given = [v for v in context.values.get(name, []) if self._is_seen(v)]
            values = [*given, *self.carries.updates(name)]
        if name in self.carries.targets:
            loop = self.carries.loop
            values.append(_iterated(name, loop.target, loop.iter))
        own = {name} if name in context.parameters or not values else set()
        return self._of_all(values, seen | {name}).union(own)

    def _is_seen(self, value: ast.expr) -> bool:
        """Whether a value is given before the loop or in it, or comes round in one around it."""
        end = self.carries.loop.end_lineno
        return (
            end is None or value.lineno <= end or is_nested(self.carries.loop, self.carries.context)
        )


def _iterated(name: str, target: ast.expr, iterable: ast.expr) -> ast.expr:
    """What the items of a name come from: its own part of a zip."""
    match target, iterable:
        case ast.Tuple(elts=[_, item]), ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
            return _iterated(name, item, items)
        case ast.Tuple(elts=items), ast.Call(func=ast.Name(id="zip"), args=parts):
            for item, part in zip(items, parts, strict=False):
                if name in target_names(item):
                    return _iterated(name, item, part)
    return iterable


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and (
        node.attr == "dtype" or node.attr.startswith(("float", "bfloat"))
    )


def _shown(sources: Sources) -> str:
    return ", ".join(sorted(sources))
