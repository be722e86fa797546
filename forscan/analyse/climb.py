"""One read of a name, followed up through the expression around it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from forscan.analyse.arguments import Argument, is_kept, of_jax, of_method, of_python
from forscan.analyse.floating import Floating
from forscan.analyse.kinds import ARRAY, kind_of
from forscan.analyse.number_tables import is_mixed, is_table
from forscan.analyse.numbers import LARGEST_INDEX, Numbers
from forscan.analyse.settled import Settled
from forscan.analyse.static_values import STATIC_ATTRIBUTES
from forscan.analyse.tracers import is_tracer
from forscan.analyse.use import Kind, Use, worst
from forscan.find.context import FunctionContext
from forscan.syntax.names import is_place, names_in
from forscan.syntax.walk import walk

_CHOOSING = {"jax.lax.cond", "jax.numpy.where"}


@dataclass(frozen=True)
class Place:
    """Where reads stand.

    Attributes:
      largest: what the number does not exceed.
      settled: the operands whose type the scan settles, in the loop itself.
      top: whether this is the loop's own function, not one that it calls.
      floats: state that is made of floats.
      follow: looks into the function that takes an argument.
    """

    context: FunctionContext
    floating: Floating
    follow: Callable[[Argument], Use]
    largest: float = LARGEST_INDEX
    settled: Settled | None = None
    top: bool = True
    floats: frozenset[str] = frozenset()

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.context.module.functions.parents.get(node)

    def is_array(self, node: ast.expr) -> bool:
        """Whether an operand is a number of JAX or Python, as far as anything shows."""
        return kind_of(node, self.context) == ARRAY

    def is_tracer(self, node: ast.expr) -> bool:
        """Whether an operand is an array for sure, and no Python number."""
        state = self.settled.arrays if self.settled is not None else ()
        return is_tracer(node, self.context, state)

    def meets_floats(self, value: ast.expr, op: ast.operator, other: ast.expr | None) -> bool:
        """Whether an integer meets floating-point numbers: they take any integer the same way.

        So does state that the scan would not let change its type; other is None in `x += i`.
        """
        if not isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div) or not _is_integer(value):
            return False
        if self.settled is not None:
            return self.settled.takes(value, other)
        return other is not None and self.floating.holds(other)


@dataclass
class Climb:
    """The way up from a read, until something says what is asked of the value.

    Attributes:
      integer: whether it is a Python number for sure, as an index is.
      start: what is read, where it is an item of the name: `pair[1]`.
      value: the largest Python-only expression so far.
      child: what has been passed, a part of `parent`.
      python_only: whether only Python numbers have been met.
      is_array: whether an array has been met, as far as anything shows.
      is_tracer: whether one has for sure.
      unknown: whether nothing shows that what has been met is no Python number.
      floats: whether a floating-point array has been, which takes any integer.
      hazard: what Python computes otherwise than int32 arithmetic would.
    """

    place: Place
    node: ast.Name
    integer: bool
    start: ast.expr | None = None
    value: ast.expr = field(init=False)
    child: ast.AST = field(init=False)
    python_only: bool = field(init=False)
    is_array: bool = False
    is_tracer: bool = False
    unknown: bool = False
    floats: bool = False
    hazard: str = ""

    def __post_init__(self) -> None:
        self.value = self.child = self.start or self.node
        self.python_only = self.integer
        self.numbers = Numbers(
            self.place.context, self.node.id, self.place.largest, floats=self.place.floats
        )

    def use(self) -> Use:
        condition = self._condition() if self.integer else None
        if condition is not None:
            return Use(self.node, Kind.HAZARD, "a condition", value=condition)
        while True:
            parent = self.place.parent(self.child)
            found = self._by(parent) or self._through(parent)
            if found is not None:
                return found
            assert parent is not None
            self.child = parent

    def _is(self, kind: Kind, what: str) -> Use:
        return Use(self.node, kind, what)

    def _by(self, parent: ast.AST | None) -> Use | None:
        """What needs the value, or its truth, whatever it is made of."""
        child = self.child
        match parent:
            case ast.FormattedValue() | ast.JoinedStr():
                return self._is(Kind.CONCRETE, "text")
            case ast.withitem():
                return self._is(Kind.CONCRETE, "a context manager")
            case ast.Dict(keys=keys) if child in keys:
                return self._is(Kind.CONCRETE, "a key of a dict")
            case ast.comprehension() if self.integer or child in parent.ifs:
                return self._is(Kind.CONCRETE, "a comprehension's range")
            case ast.Attribute(attr=attribute) if attribute in STATIC_ATTRIBUTES:
                return self._is(Kind.PURE, "its shape or type")
        decided = _decided(parent, child)
        if decided is not None:
            return self._is(Kind.BRANCH, decided)
        return self._by_python(parent) if self.python_only else None

    def _by_python(self, parent: ast.AST | None) -> Use | None:
        """What Python does with an object that is no number."""
        match parent:
            case ast.Subscript(value=base) if base is self.child:
                return self._is(Kind.CONCRETE, "something to index")
            case ast.Attribute(attr=attribute):
                return self._is(Kind.CONCRETE, f"its attribute {attribute}")
            case ast.Call(func=function) if function is self.child:
                return self._is(Kind.CONCRETE, "something to call")
            case ast.For(iter=iterable) if iterable is self.child:
                return self._is(Kind.CONCRETE, "something to iterate")
            case ast.Starred():
                return self._is(Kind.CONCRETE, "something to unpack")
        return None

    def _through(self, parent: ast.AST | None) -> Use | None:  # noqa: C901
        """What is computed of the value; None to go on with the result."""
        match parent:
            case ast.BinOp():
                return self._operation(parent)
            case ast.UnaryOp():
                self.value = parent if self.python_only else self.value
            case ast.Compare():
                return self._comparison(parent)
            case ast.Subscript(value=base) if base is not self.child:
                return self._subscript(parent)
            case ast.Tuple() | ast.List():
                grand = self.place.parent(parent)
                if isinstance(grand, ast.Subscript) and grand.slice is parent:
                    return self._subscript(grand)
                self.python_only = False
            case ast.Slice():
                return self._bound(parent)
            case ast.Call():
                return self._argument(parent)
            case ast.Subscript() | ast.Attribute() | ast.Starred() | ast.keyword():
                pass
            case ast.For(iter=iterable) if iterable is self.child:
                return self._is(Kind.PURE, "rows")
            case ast.comprehension() | ast.expr():
                self.python_only = False
            case _:
                return self._kept(parent)
        return None

    def _kept(self, parent: ast.AST | None) -> Use:
        """The end of the way: a statement."""
        if isinstance(parent, ast.AugAssign) and self.python_only:
            self.floats = self.place.meets_floats(self.value, parent.op, None)
        kind = Kind.ARITHMETIC if self.integer and not self.floats else Kind.PURE
        what = self.hazard or "a number"
        made = self.child if self.unknown and isinstance(self.child, ast.expr) else None
        return Use(self.node, worst(kind, self.hazard), what, value=self.value, unknown=made)

    def _operation(self, parent: ast.BinOp) -> Use | None:
        other = parent.right if parent.left is self.child else parent.left
        if self.python_only and self.numbers.is_number(other):
            self.value = parent
            self.hazard = self.hazard or self.numbers.wraps(parent)
            return None
        tracer = self.is_tracer or self.place.is_tracer(other)
        hazard = "" if tracer else self._of_unknown(parent, other)
        if hazard:
            # Of Python numbers it would be another one; so it is computed as a whole.
            return Use(self.node, Kind.HAZARD, hazard, value=parent, unknown=parent)
        if self.python_only and not self.floats:
            self.floats = self.place.meets_floats(self.value, parent.op, other)
        self.unknown = not tracer and (self.python_only or self.unknown)
        self.python_only = False
        self.is_array = self.is_array or tracer or self.place.is_array(other)
        self.is_tracer = tracer
        return None

    def _of_unknown(self, node: ast.BinOp, other: ast.expr) -> str:
        """What int32 or single precision would get wrong, where Python numbers are met.

        Nothing shows whether the other operand, or one that was met before, is a number.
        """
        if not self.python_only and not self.unknown:
            return ""
        number = self.numbers.is_number(other)
        match node.op:
            case ast.Pow() | ast.LShift() | ast.RShift() if self.python_only or other is node.left:
                return "an exponent or a shift"
            case ast.Mult() if number and self.numbers.wraps_times(other):
                return "a factor of a large number"
            case ast.Mod() | ast.FloorDiv() if self.unknown:
                return "a part of a remainder or quotient"
        return ""

    def _comparison(self, parent: ast.Compare) -> Use:
        if any(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in parent.ops):
            return self._is(Kind.BRANCH, "a test of identity or membership")
        if len(parent.ops) > 1:
            return self._is(Kind.BRANCH, "a chained comparison")
        branch = self._branch(parent)
        if branch:
            return self._is(Kind.BRANCH, branch)
        other = parent.comparators[0] if parent.left is self.child else parent.left
        if self._is_rounded(other):
            whole = self.unknown or self.numbers.is_number(other)
            value = parent if whole else self.value
            return Use(self.node, Kind.HAZARD, "a comparison of floats", value=value)
        what = self.hazard or "a comparison"
        return Use(self.node, worst(Kind.PURE, self.hazard), what, value=self.value)

    def _is_rounded(self, other: ast.expr) -> bool:
        """Whether a comparison may end otherwise in single precision than in Python."""
        if self.python_only:
            plain = isinstance(other, ast.Constant)  # any integer compares with it as it is
            of_float = not plain and self.numbers.is_number(other) and self.numbers.is_float(other)
            return self.numbers.is_float(self.value) or of_float
        return self.unknown and not self.place.is_tracer(other)

    def _branch(self, node: ast.expr) -> str | None:
        """What Python branch a comparison decides, if it does."""
        child: ast.AST = node
        parent = self.place.parent(node)
        while isinstance(parent, ast.UnaryOp | ast.BinOp):
            if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
                break
            child, parent = parent, self.place.parent(parent)
        if isinstance(parent, ast.comprehension):
            return "a comprehension's condition"
        return _decided(parent, child)

    def _subscript(self, parent: ast.Subscript) -> Use:
        what = self.hazard or "an index"
        kind = worst(Kind.PURE, self.hazard)
        if is_place(parent):
            return Use(self.node, kind, what, value=self.value)
        if not isinstance(parent.ctx, ast.Load):
            return self._is(Kind.CONCRETE, "the index of an assignment")
        test = self._test(parent)
        if test:
            return self._is(Kind.BRANCH, f"{test} of an item")
        if self.integer and is_table(parent.value, self.place.context):
            return self._number_of_table(parent)
        return Use(self.node, kind, what, parent, self.value)

    def _number_of_table(self, item: ast.Subscript) -> Use:
        """An item that is a Python number, and what Python makes of it and of others."""
        made = Climb(self.place, self.node, True, item).use()
        if made.kind >= Kind.HAZARD:
            return made
        if is_mixed(item.value, self.place.context):
            return Use(self.node, Kind.HAZARD, "an index of integers and floats", value=item)
        return Use(self.node, Kind.PURE, "an index", item, item)

    def _test(self, item: ast.expr) -> str | None:
        """What Python branch an item of a NumPy array decides, if it does."""
        parent = self.place.parent(item)
        if isinstance(parent, ast.Compare):
            return self._branch(parent)
        return _decided(parent, item) or self._branch(item)

    def _bound(self, part: ast.Slice) -> Use:
        """`x[i : i + k]`, `x[:, i : i + k]` with the index in both bounds may be a window."""
        whole = self.place.parent(part)
        if isinstance(whole, ast.Tuple):
            whole = self.place.parent(whole)
        bounds = [part.lower, part.upper]
        both = all(b is not None and self.node.id in names_in(b) for b in bounds)
        if self.integer and both and isinstance(whole, ast.Subscript) and self.place.top:
            if isinstance(whole.ctx, ast.Load):
                return Use(self.node, Kind.WINDOW, "a bound of a slice", whole)
        return self._is(Kind.CONCRETE, "a bound of a slice")

    def _argument(self, call: ast.Call) -> Use | None:
        if call.func is self.child:
            return None
        path = self.place.context.resolve(call.func)
        if self.is_array and path is None:
            return None
        argument = Argument(
            self.node,
            call,
            self.child,
            path,
            self.value,
            self.integer,
            self.python_only,
            self.hazard,
            self.numbers,
            self.unknown,
            self.place.top,
        )
        found = self._of_argument(argument)
        if found is None:
            self.python_only = self.unknown = False
        return found

    def _of_argument(self, argument: Argument) -> Use | None:
        """The use as an argument; None where the result is an array like any other."""
        found = of_python(argument)
        if found is not None:
            return found
        path = argument.path
        if path and path.startswith("jax.debug."):
            return self._is(Kind.PURE, "a callback's value")
        if path and path.startswith("jax."):
            return of_jax(argument)
        if isinstance(argument.call.func, ast.Attribute) and path is None:
            if is_kept(argument):
                return None
            return of_method(argument) or (self.place.follow(argument) if self.integer else None)
        if path in ("sum", "abs") or not self.integer:
            return None
        use = self.place.follow(argument)
        if use.kind > Kind.ARITHMETIC:
            return argument.as_number(f"an argument of {path}") or use
        return use

    def _condition(self) -> ast.expr | None:
        """The largest expression around a test that is a Python number for each index.

        `2.0 if 0 < i < 3 else 0.5`, or the predicate of a `lax.cond` that is more than one
        comparison.
        """
        found: ast.expr | None = None
        numbers = Numbers(self.place.context, self.node.id)
        child: ast.AST = self.node
        parent = self.place.parent(child)
        while isinstance(parent, ast.expr):
            if isinstance(parent, ast.IfExp) and (found is not None or parent.test is child):
                if numbers.is_number(parent):
                    found = parent
            elif isinstance(parent, ast.Call) and parent.args and parent.args[0] is child:
                assert isinstance(child, ast.expr)
                if self.place.context.resolve(parent.func) in _CHOOSING and _is_compound(child):
                    if numbers.is_number(child):
                        return child
            child, parent = parent, self.place.parent(parent)
        return found


def _decided(parent: ast.AST | None, child: ast.AST) -> str | None:
    """What takes the truth of a value, if anything does."""
    match parent:
        case ast.UnaryOp(op=ast.Not()):
            return "`not`"
        case ast.BoolOp():
            return "`and` or `or`"
        case ast.IfExp(test=test) if test is child:
            return "a conditional expression"
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) if test is child:
            return "a test"
    return None


def _is_integer(value: ast.expr) -> bool:
    """Whether an expression of an index gives an integer."""
    whole = (ast.Name, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Load)
    return all(
        isinstance(n.value, int) if isinstance(n, ast.Constant) else isinstance(n, whole)
        for n in walk(value)
    )


def _is_compound(test: ast.expr) -> bool:
    """Whether a test is more than a tracer can answer."""
    plain = isinstance(test, ast.Compare) and len(test.ops) == 1
    chained = any(
        isinstance(n, ast.BoolOp | ast.IfExp)
        or (isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not))
        or (
            isinstance(n, ast.Compare)
            and (len(n.ops) > 1 or isinstance(n.ops[0], ast.In | ast.NotIn))
        )
        for n in walk(test)
    )
    return chained or not plain
