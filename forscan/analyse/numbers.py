"""Numbers that Python computes while tracing, and when int32 would not follow them.

In a `for` the index is a Python int, and so is whatever Python makes of it and of other
Python numbers. Inside a scan it is an int32: sums and products that are small stay the
same, powers and large products wrap around without an error.
"""

from __future__ import annotations

import ast
import math
from collections import Counter

from forscan.analyse.number_tables import is_of_floats, is_table
from forscan.analyse.trip_count import binding_counts, definition, literal_int
from forscan.find.context import FunctionContext, once
from forscan.syntax.names import names_in, parameters
from forscan.syntax.walk import walk

LARGEST_INDEX = 10_000  # nobody waits for a compiler to take more copies of a body
_INT32 = 2**31 - 1
_BUILTINS = {"abs", "min", "max", "int", "float", "round", "range", "len", "bool"}


@once
def indices(context: FunctionContext) -> frozenset[str]:
    """Names that loops over ranges bind, in the function, and nothing else does."""
    bound: Counter[str] = Counter()
    for node in context.nodes:
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Call):
            path = context.resolve(node.iter.func)
            match node.target:
                case ast.Name(id=name) if path == "range":
                    bound[name] += 1
                case ast.Tuple(elts=[ast.Name(id=name), *_]) if path == "enumerate":
                    bound[name] += 1
    counts = binding_counts(context)
    return frozenset(name for name, number in bound.items() if number == counts[name])


class Numbers:
    """What is known of Python numbers in the body of one loop.

    Args:
      context: the function around it.
      index: the induction variable.
      largest: a bound of its magnitude.
      others: further names of Python numbers.
      floats: names of floats.
    """

    def __init__(
        self,
        context: FunctionContext,
        index: str,
        largest: float = LARGEST_INDEX,
        others: frozenset[str] = frozenset(),
        floats: frozenset[str] = frozenset(),
    ) -> None:
        self.context = context
        self.index = index
        self.largest = largest
        self.others = others
        self.floats = floats

    def is_number(self, node: ast.AST) -> bool:
        """Whether an expression is a Python number, given that the index is one."""
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int | float | complex)
            case ast.Name(id=name):
                return name == self.index or name in self.others or self.is_known(name)
            case ast.Attribute():
                path = self.context.resolve(node) or ""
                return path.startswith("math.") or path in ("numpy.pi", "numpy.e")
            case ast.Call(func=function, args=arguments, keywords=[]):
                path = self.context.resolve(function) or ""
                known = path.startswith(("math.", "numpy.")) or path in _BUILTINS
                if not known and not self.is_of_numbers(function):
                    return False
                return all(self.is_number(a) for a in arguments)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return all(self.is_number(i) for i in items)  # i in (0, 3)
            case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]
                return all(self.is_number(p) for p in parts)
            case ast.Subscript(value=base, slice=place):
                return is_table(base, self.context) and self.is_number(place)
        return False

    def is_of_numbers(self, function: ast.expr) -> bool:
        """Whether a function of the module makes a Python number of such numbers, all in one kind."""
        callee = self.context.module.traced.only(function)
        if not isinstance(function, ast.Name) or not isinstance(callee, ast.FunctionDef):
            return False
        if callee.args.defaults or callee.args.vararg or callee.args.kwonlyargs:
            return False
        names = set(parameters(callee))
        inside = FunctionContext(self.context.module, callee)
        kinds = set()
        for statement in callee.body:
            known = Numbers(inside, "", others=frozenset(names))
            match statement:
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if known.is_number(value):
                    names.add(name)
                case ast.Return(value=ast.expr() as value) if known.is_number(value):
                    kinds.add(known.is_float(value))
                case _:
                    return False
        return kinds == {True}

    def is_known(self, name: str, depth: int = 5) -> bool:
        """Whether a name that the loop does not change is a Python number."""
        if name in self.static or name in indices(self.context):
            return True
        value = definition(name, self.context)
        if value is None or depth == 0:
            return False
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Attribute):
            return value.value.attr == "shape"
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return value.func.id == "len"
        return all(
            (
                self.is_known(n.id, depth - 1)
                if isinstance(n, ast.Name)
                else isinstance(n, ast.Constant) and isinstance(n.value, int | float)
            )
            for n in walk(value)
            if not isinstance(n, ast.operator | ast.unaryop | ast.BinOp | ast.UnaryOp | ast.Load)
        )

    @property
    def static(self) -> set[str]:
        """Parameters that jit was told are static, of the function and those around it."""
        traced = self.context.module.traced
        found: set[str] = set()
        scope: ast.AST | None = self.context.node
        while scope is not None:
            info = traced.jitted.get(scope)
            found |= info.static if info is not None else set()
            scope = self.context.module.functions.enclosing(scope)
        return found

    def wraps(self, node: ast.BinOp) -> str:
        """Why arithmetic in 32 bits may differ from Python's here: a few words, or nothing."""
        if isinstance(node.op, ast.Pow):
            square = literal_int(node.right) == 2 and self.index not in names_in(node.right)
            if not square or self.magnitude(node) > _INT32:
                return "a power"
        elif isinstance(node.op, ast.LShift | ast.RShift):
            return "a shift"
        elif isinstance(node.op, ast.Mod | ast.FloorDiv):
            of_floats = self.is_float(node.left) or self.is_float(node.right)
            return "a remainder or quotient of floats" if of_floats else ""
        elif self.magnitude(node) > _INT32:
            return "a number that may be too large for int32"
        return ""

    def wraps_times(self, factor: ast.expr) -> bool:
        """Whether a number times an unknown one, of the size of an index, is too large for int32."""
        return self.magnitude(factor) * LARGEST_INDEX > _INT32

    def size(self, node: ast.expr | None) -> float:
        """A bound of the magnitude of a name that is given this number: 0 if it is a float."""
        if node is None:
            return LARGEST_INDEX
        return 0 if self.is_float(node) else max(self.magnitude(node), LARGEST_INDEX)

    def magnitude(self, node: ast.expr) -> float:
        """A bound of the magnitude of an integer; 0 for floats, which do not wrap around."""
        match node:
            case ast.Constant(value=value):
                return abs(value) if isinstance(value, int) else 0
            case ast.Name(id=name):
                return self.magnitude_of_name(name)
            case ast.UnaryOp(operand=operand):
                return self.magnitude(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.magnitude_of_operation(op, left, right)
            case ast.Compare() | ast.BoolOp():
                return 1
            case ast.IfExp(body=body, orelse=orelse):
                return max(self.magnitude(body), self.magnitude(orelse))
            case ast.Call() | ast.Attribute():
                return 0
        return math.inf

    def magnitude_of_name(self, name: str) -> float:
        if name == self.index:
            return self.largest
        if name in indices(self.context):
            return LARGEST_INDEX
        value = definition(name, self.context)
        if value is None:
            return math.inf  # a static argument
        if isinstance(value, ast.Subscript | ast.Call):
            return LARGEST_INDEX  # a length
        return self.magnitude(value)

    def magnitude_of_operation(self, op: ast.operator, left: ast.expr, right: ast.expr) -> float:
        if self.is_float(left) or self.is_float(right) or isinstance(op, ast.Div):
            return 0
        a, b = self.magnitude(left), self.magnitude(right)
        match op:
            case ast.Add() | ast.Sub():
                return a + b
            case ast.Mult():
                return a * b if a and b else 0
            case ast.Pow():
                return a**b if a < _INT32 and b < 64 else math.inf
            case ast.FloorDiv():
                return a
            case ast.Mod():
                return min(a, b)
        return math.inf

    def is_float(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, float)
            case ast.Name(id=name) if name in self.floats:
                return True
            case ast.Name(id=name) if name == self.index:
                return self.largest == 0  # a name of the body that stands for a float
            case ast.Name(id=name):
                given = definition(name, self.context)
                return given is not None and self.is_float(given)
            case ast.UnaryOp(operand=operand):
                return self.is_float(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return isinstance(op, ast.Div) or self.is_float(left) or self.is_float(right)
            case ast.Call():
                path = self.context.resolve(node.func) or ""
                return path.startswith("math.") or self.is_of_numbers(node.func)
            case ast.Attribute():
                return True
            case ast.Subscript(value=base):
                return is_of_floats(base, self.context)
        return False
