"""How the body uses a value that a scan turns into a tracer.

In a `for` the index is a Python int and the state may be Python numbers; inside a
scan all of them are tracers. Each use of such a name is one of the kinds below.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from forscan.analyse.floating import Floating
from forscan.analyse.kinds import ARRAY, kind_of
from forscan.analyse.numbers import LARGEST_INDEX, Numbers
from forscan.analyse.settled import Settled
from forscan.analyse.static_values import (
    ANY_INTEGER,
    CONCRETE_BUILTINS,
    SHAPE_FIRST,
    SHAPE_LATER,
    STATIC_ATTRIBUTES,
    STATIC_KEYWORDS,
)
from forscan.analyse.traced_bounds import traced_parameters
from forscan.find.context import FunctionContext
from forscan.find.traced import Function
from forscan.syntax.names import is_place, names_in, parameters, target_names
from forscan.syntax.walk import walk, walk_all


class Kind(IntEnum):
    """In order of how much they ask of the value."""

    PURE = 0  # indexing, comparing, keys of the random generator: any integer will do
    ARITHMETIC = 1  # meets arrays as a number: must stay weakly typed
    HAZARD = 2  # Python gives another number than int32 arithmetic
    WINDOW = 3  # a bound of a slice whose width is constant
    CONCRETE = 4  # needs the Python value
    BRANCH = 5  # decides a Python branch
    PASSED = 6  # goes to a function that cannot be looked into


@dataclass(frozen=True)
class Use:
    """One read of the name.

    Attributes:
      node: the read.
      kind: what it asks.
      what: a few words for the message.
      read: the subscript `a[…i…]` for a plain read, else None.
      value: the largest Python-only expression around the read.
    """

    node: ast.Name
    kind: Kind
    what: str
    read: ast.Subscript | None = None
    value: ast.expr | None = None


_CHOOSING = {"jax.lax.cond", "jax.numpy.where"}
_WRAPPING = ast.Pow | ast.LShift | ast.RShift
_DEPTH = 3  # functions that an index is followed into


class Uses:
    """Classifies uses of names in a suite of one function."""

    def __init__(
        self,
        context: FunctionContext,
        body: Iterable[ast.AST],
        depth: int = _DEPTH,
        largest: int = LARGEST_INDEX,
        settled: Settled | None = None,
    ) -> None:
        self.context = context
        self.body = list(body)
        self.depth = depth
        self.largest = largest
        self.parents = context.module.functions.parents
        self.floating = Floating(context)
        self.settled = settled

    def of(self, name: str, *, integer: bool) -> list[Use]:
        """All uses of a name, and of the names computed from it in Python only.

        Args:
          name: the name.
          integer: whether it is a Python int for sure (an index).
        """
        found: list[Use] = []
        done = {name}
        work = [name]
        while work:
            current = work.pop()
            for node in walk_all(self.body):
                if (
                    isinstance(node, ast.Name)
                    and node.id == current
                    and isinstance(node.ctx, ast.Load)
                    and not self._shadowed(node)
                ):
                    use = self.classify(node, integer)
                    found.append(use)
                    for derived in self._derived(use, done):
                        done.add(derived)
                        work.append(derived)
        return sorted(found, key=lambda u: (u.node.lineno, u.node.col_offset))

    def _shadowed(self, node: ast.Name) -> bool:
        """Whether a comprehension or lambda around the read has its own such name."""
        child: ast.AST = node
        scope = self.parents.get(node)
        while scope is not None and child not in self.body:
            if isinstance(scope, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                own = {n for g in scope.generators for n in target_names(g.target)}
                if node.id in own and child is not scope.generators[0]:
                    return True
            elif isinstance(scope, ast.Lambda | ast.FunctionDef):
                inside = child is scope.body or child in _as_list(scope.body)
                if inside and node.id in parameters(scope):
                    return True
            child, scope = scope, self.parents.get(scope)
        return False

    def _derived(self, use: Use, done: set[str]) -> list[str]:
        """Names that get a Python-only value computed from the use."""
        if use.value is None:
            return []
        parent = self.parents.get(use.value)
        names: list[str] = []
        if isinstance(parent, ast.Assign) and parent.value is use.value:
            for target in parent.targets:
                names += target_names(target)
        elif isinstance(parent, ast.NamedExpr):
            names = [parent.target.id]
        elif isinstance(parent, ast.arguments):  # lambda v, k=i: …
            names = [self._parameter_of_default(parent, use.value) or ""]
        return [n for n in names if n and n not in done]

    @staticmethod
    def _parameter_of_default(arguments: ast.arguments, value: ast.expr) -> str | None:
        plain = [*arguments.posonlyargs, *arguments.args]
        with_default = plain[len(plain) - len(arguments.defaults) :]
        for parameter, default in zip(with_default, arguments.defaults, strict=True):
            if default is value:
                return parameter.arg
        for parameter, other in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if other is value:
                return parameter.arg
        return None

    def is_array(self, node: ast.expr) -> bool:
        """Whether an operand is an array for sure."""
        if isinstance(node, ast.Name) and node.id in traced_parameters(self.context):
            return True
        return kind_of(node, self.context) == ARRAY

    def classify(self, node: ast.Name, integer: bool) -> Use:
        """The kind of one read, found by walking up the expression around it."""
        condition = self._condition(node) if integer else None
        if condition is not None:
            return Use(node, Kind.HAZARD, "a condition", value=condition)
        hazard = ""
        numbers = Numbers(self.context, node.id, self.largest)
        value: ast.expr = node
        python_only, is_array, floats = integer, False, False
        child: ast.AST = node
        parent = self.parents.get(node)
        while True:
            match parent:
                case ast.BinOp(left=left, op=op, right=right):
                    other = right if left is child else left
                    if python_only and numbers.is_number(other):
                        value = parent
                        hazard = hazard or numbers.wraps(parent)
                    elif python_only and isinstance(op, _WRAPPING) and not self.is_array(other):
                        # Of a Python integer it would wrap around; so it is computed as a whole.
                        return Use(node, Kind.HAZARD, "an exponent or a shift", value=parent)
                    else:
                        floats = floats or (python_only and self._meets_floats(value, op, other))
                        python_only = False
                        is_array = is_array or self.is_array(other)
                case ast.UnaryOp(op=op):
                    if isinstance(op, ast.Not):
                        return Use(node, Kind.BRANCH, "`not`")
                    value = parent if python_only else value
                case ast.Subscript(value=base, slice=index) if index is child or child is not base:
                    return self._subscript(node, parent, value, hazard)
                case ast.Subscript():
                    if python_only:
                        return Use(node, Kind.CONCRETE, "something to index")
                case ast.Tuple() | ast.List():
                    grand = self.parents.get(parent)
                    if isinstance(grand, ast.Subscript) and grand.slice is parent:
                        return self._subscript(node, grand, value, hazard)
                    python_only = False
                case ast.Slice():
                    return self._bound_of_slice(node, parent, integer)
                case ast.Attribute(attr=attribute):
                    if attribute in STATIC_ATTRIBUTES:
                        return Use(node, Kind.PURE, "its shape or type")
                    if python_only:
                        return Use(node, Kind.CONCRETE, f"its attribute {attribute}")
                case ast.Compare(ops=ops):
                    if any(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in ops):
                        return Use(node, Kind.BRANCH, "a test of identity or membership")
                    if len(ops) > 1:
                        return Use(node, Kind.BRANCH, "a chained comparison")
                    branch = self._branch(parent)
                    if branch:
                        return Use(node, Kind.BRANCH, branch)
                    return Use(
                        node,
                        _worst(Kind.PURE, hazard),
                        hazard or "a comparison",
                        value=value,
                    )
                case ast.Call() | ast.keyword():
                    call = parent if isinstance(parent, ast.Call) else self.parents[parent]
                    assert isinstance(call, ast.Call)
                    if call.func is child:
                        if python_only:
                            return Use(node, Kind.CONCRETE, "something to call")
                    elif not is_array or self.context.resolve(call.func) is not None:
                        use = self._argument(node, call, child, value, integer, python_only, hazard)
                        if use is not None:
                            return use
                        python_only = False
                case ast.FormattedValue() | ast.JoinedStr():
                    return Use(node, Kind.CONCRETE, "text")
                case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) if (
                    test is child
                ):
                    return Use(node, Kind.BRANCH, "a test")
                case ast.IfExp(test=test) if test is child:
                    return Use(node, Kind.BRANCH, "a conditional expression")
                case ast.BoolOp():
                    return Use(node, Kind.BRANCH, "`and` or `or`")
                case ast.comprehension():
                    if integer or child in parent.ifs:
                        return Use(node, Kind.CONCRETE, "a comprehension's range")
                    python_only = False
                case ast.Dict(keys=keys) if child in keys:
                    return Use(node, Kind.CONCRETE, "a key of a dict")
                case ast.For(iter=iterable) if iterable is child:
                    if python_only:
                        return Use(node, Kind.CONCRETE, "something to iterate")
                    return Use(node, Kind.PURE, "rows")
                case ast.withitem():
                    return Use(node, Kind.CONCRETE, "a context manager")
                case ast.Starred():
                    if python_only:
                        return Use(node, Kind.CONCRETE, "something to unpack")
                case ast.expr():
                    python_only = False
                case _:
                    if isinstance(parent, ast.AugAssign) and python_only:
                        floats = self._meets_floats(value, parent.op, None)
                    kind = Kind.ARITHMETIC if integer and not floats else Kind.PURE
                    return Use(node, _worst(kind, hazard), hazard or "a number", value=value)
            child, parent = parent, self.parents.get(parent)

    def _meets_floats(self, value: ast.expr, op: ast.operator, other: ast.expr | None) -> bool:
        """Whether an integer meets floating-point numbers: they take any integer the same way.

        So does state that the scan would not let change its type; other is None in `x += i`.
        """
        if not isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div) or not _is_integer(value):
            return False
        if self.settled is not None:
            return self.settled.takes(value, other)
        return other is not None and self.floating.holds(other)

    def _bound_of_slice(self, node: ast.Name, part: ast.Slice, integer: bool) -> Use:
        """`x[i : i + k]` with the index in both bounds may be a window."""
        whole = self.parents.get(part)
        bounds = [part.lower, part.upper]
        both = all(b is not None and node.id in names_in(b) for b in bounds)
        if integer and both and isinstance(whole, ast.Subscript) and self.depth == _DEPTH:
            if isinstance(whole.ctx, ast.Load):
                return Use(node, Kind.WINDOW, "a bound of a slice", whole)
        return Use(node, Kind.CONCRETE, "a bound of a slice")

    def _condition(self, node: ast.Name) -> ast.expr | None:
        """The largest expression around a test that is a Python number for each index.

        `2.0 if 0 < i < 3 else 0.5`, or the predicate of a `lax.cond` that is more than one
        comparison.
        """
        found: ast.expr | None = None
        child: ast.AST = node
        parent = self.parents.get(node)
        while isinstance(parent, ast.expr):
            if isinstance(parent, ast.IfExp) and (found is not None or parent.test is child):
                if Numbers(self.context, node.id).is_number(parent):
                    found = parent
            elif isinstance(parent, ast.Call) and parent.args and parent.args[0] is child:
                assert isinstance(child, ast.expr)
                if self.context.resolve(parent.func) in _CHOOSING and _is_compound(child):
                    if Numbers(self.context, node.id).is_number(child):
                        return child
            child, parent = parent, self.parents.get(parent)
        return found

    def _branch(self, node: ast.expr) -> str | None:
        """What Python branch a comparison decides, if it does."""
        child: ast.AST = node
        parent = self.parents.get(node)
        while isinstance(parent, ast.UnaryOp | ast.BinOp):
            if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
                return "`not`"
            child, parent = parent, self.parents.get(parent)
        match parent:
            case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) if test is child:
                return "a test"
            case ast.IfExp(test=test) if test is child:
                return "a conditional expression"
            case ast.BoolOp():
                return "`and` or `or`"
            case ast.comprehension():
                return "a comprehension's condition"
        return None

    def _subscript(
        self, node: ast.Name, parent: ast.Subscript, value: ast.expr, hazard: str
    ) -> Use:
        if is_place(parent):
            return Use(node, _worst(Kind.PURE, hazard), hazard or "an index", value=value)
        if not isinstance(parent.ctx, ast.Load):
            return Use(node, Kind.CONCRETE, "the index of an assignment")
        return Use(node, _worst(Kind.PURE, hazard), hazard or "an index", parent, value)

    def _argument(
        self,
        node: ast.Name,
        call: ast.Call,
        child: ast.AST,
        value: ast.expr,
        integer: bool,
        python_only: bool,
        hazard: str,
    ) -> Use | None:
        """The use as an argument; None where the result is an array like any other."""
        numbers = Numbers(self.context, node.id)
        path = self.context.resolve(call.func)
        tail = (path or "").rsplit(".", 1)[-1]
        keyword = child.arg if isinstance(child, ast.keyword) else None
        position = call.args.index(child) if child in call.args else None
        if path and path.startswith("jax.debug."):
            return Use(node, Kind.PURE, "a callback's value")
        if path and path.startswith(("numpy.", "math.", "random.", "time.", "scipy.")):
            if python_only and path.startswith(("numpy.", "math.")):
                if all(numbers.is_number(a) for a in call.args) and not call.keywords:
                    return Use(node, Kind.HAZARD, f"an argument of {path}", value=call)
            return Use(node, Kind.CONCRETE, f"an argument of {path}")
        if path in CONCRETE_BUILTINS and isinstance(call.func, ast.Name):
            if path == "print":
                return Use(node, Kind.CONCRETE, "print")
            if python_only and path in ("float", "int", "min", "max", "abs", "round"):
                if numbers.is_number(call) and self.depth == _DEPTH:
                    return Use(node, Kind.HAZARD, f"an argument of {path}", value=call)
            if not integer and path in (
                "len",
                "isinstance",
                "type",
                "zip",
                "enumerate",
                "list",
                "tuple",
                "reversed",
            ):
                return Use(node, Kind.PURE, "its shape or type")
            return Use(node, Kind.CONCRETE, f"an argument of {path}")
        if path and path.startswith("jax."):
            return self._jax_argument(node, path, tail, position, keyword, value, hazard)
        if isinstance(call.func, ast.Attribute) and path is None:
            return self._method_argument(node, call, integer)
        if path in ("sum", "abs"):
            return None
        if integer:
            use = self._callee(node, call, position, keyword, hazard)
            if use is not None and use.kind > Kind.ARITHMETIC and python_only:
                if numbers.is_number(call) and self.depth == _DEPTH:
                    return Use(node, Kind.HAZARD, f"an argument of {path}", value=call)
            return use
        return None

    def _jax_argument(
        self,
        node: ast.Name,
        path: str,
        tail: str,
        position: int | None,
        keyword: str | None,
        value: ast.expr,
        hazard: str,
    ) -> Use | None:
        concrete = Use(node, Kind.CONCRETE, f"a static argument of {path}")
        if keyword in STATIC_KEYWORDS and path.startswith(
            ("jax.numpy", "jax.lax", "jax.nn", "jax.random")
        ):
            return concrete
        if keyword in ("argnums", "in_axes", "out_axes", "static_argnums", "length"):
            return concrete
        if tail in SHAPE_FIRST and position == 0:
            return concrete
        if tail in ("full", "linspace") and position in (1, 2):
            return None if tail == "full" or position == 1 else concrete
        if tail in SHAPE_FIRST and position is not None:
            return concrete
        if tail in SHAPE_LATER and tail not in ("one_hot",) and position not in (0, None):
            return concrete
        if path.startswith("jax.random.") and tail not in ANY_INTEGER | {
            "randint",
            "uniform",
        }:
            if position not in (0, None):
                return concrete
        if tail in ("uniform",) and position == 1:
            return concrete
        if tail in ANY_INTEGER:
            return Use(node, _worst(Kind.PURE, hazard), hazard or "an index", value=value)
        if path in (
            "jax.grad",
            "jax.value_and_grad",
            "jax.vmap",
            "jax.jit",
            "jax.jacfwd",
        ):
            return concrete
        return None

    def _method_argument(self, node: ast.Name, call: ast.Call, integer: bool) -> Use | None:
        """An argument of a method of an object."""
        assert isinstance(call.func, ast.Attribute)
        method = call.func.attr
        if method == "append":
            return None
        if method in SHAPE_LATER | {"reshape", "transpose"}:
            return Use(node, Kind.CONCRETE, f"an argument of .{method}")
        if is_place(call.func.value):
            return None
        if not integer:
            return None
        return self._callee(node, call, None, None, "")

    def _callee(
        self,
        node: ast.Name,
        call: ast.Call,
        position: int | None,
        keyword: str | None,
        hazard: str,
    ) -> Use | None:
        """Follows an index into a function of the module."""
        shown = ast.unparse(call.func)
        passed = Use(node, Kind.PASSED, f"an argument of {shown}")
        callee = next(iter(self.context.module.traced.candidates(call.func)), None)
        if callee is None or self.depth == 0:
            return passed
        a = callee.args
        plain = [p.arg for p in (*a.posonlyargs, *a.args)]
        is_method = isinstance(call.func, ast.Attribute) and plain[:1] in (
            ["self"],
            ["cls"],
        )
        name = keyword
        if position is not None:
            position += 1 if is_method else 0
            name = plain[position] if position < len(plain) else None
        if name is None or name not in [*plain, *(p.arg for p in a.kwonlyargs)]:
            return passed
        return self._inside(node, callee, name, shown)

    def _inside(
        self, node: ast.Name, callee: Function | ast.Lambda, name: str, shown: str
    ) -> Use | None:
        body = [callee.body] if isinstance(callee, ast.Lambda) else callee.body
        context = self.context
        if not isinstance(callee, ast.Lambda):
            context = FunctionContext(self.context.module, callee)
        uses = Uses(context, body, self.depth - 1).of(name, integer=True)
        worst = max(uses, key=lambda u: u.kind, default=None)
        if worst is None:
            return Use(node, Kind.PURE, "nothing")
        if worst.kind is Kind.HAZARD:
            return Use(node, Kind.CONCRETE, f"{worst.what} in {shown}")
        if worst.kind > Kind.ARITHMETIC:
            return Use(node, worst.kind, f"{worst.what} in {shown}")
        if any(u.kind is Kind.ARITHMETIC for u in uses):
            return Use(node, Kind.ARITHMETIC, f"a number in {shown}")
        return Use(node, Kind.PURE, f"an index in {shown}")


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


def _as_list(body: object) -> list[object]:
    return body if isinstance(body, list) else [body]


def _worst(kind: Kind, hazard: str) -> Kind:
    return Kind.HAZARD if hazard else kind
