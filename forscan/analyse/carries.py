"""What the state of a loop starts from, and what the body makes of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property

from forscan.analyse.arrays import assigned_values
from forscan.find.context import FunctionContext
from forscan.syntax.names import defaults, names_in, parameters
from forscan.syntax.walk import walk_all

_INT_TYPES = {
    "int", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool_",
}  # fmt: skip
_MAKERS = {
    "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "array", "asarray",
}  # fmt: skip
# Functions of jax that give integers or booleans, whatever they are given.
GIVES_INTEGERS = {
    "argmax", "argmin", "argsort", "searchsorted", "logical_or", "logical_and", "logical_not",
    "isnan", "isfinite", "any", "all", "count_nonzero",
}  # fmt: skip
# Of Python numbers these are weakly typed.
_OF_NUMBERS = {
    "abs", "clip", "cos", "cosh", "exp", "log", "log1p", "maximum", "minimum", "negative", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "tanh",
}  # fmt: skip


class Carries:
    """The carried names of one loop.

    Attributes:
      carried: their names.
      targets: the names of the loop's target.
    """

    def __init__(
        self,
        loop: ast.For,
        carried: tuple[str, ...],
        targets: tuple[str, ...],
        context: FunctionContext,
    ) -> None:
        self.loop = loop
        self.carried = carried
        self.targets = targets
        self.context = context
        self._updates: dict[str, list[ast.expr]] = {}

    def start(self, name: str) -> ast.expr | None:
        """The value that the name surely has before the loop, if it is plain."""
        before = self.starts(name)
        if name in self.context.parameters and not before:
            return None
        value = before[-1] if before else self._from_tuple(name)
        if isinstance(value, ast.Name) and value.id != name:  # low = 0; a = low
            earlier = [v for v in self.starts(value.id) if v.lineno < value.lineno]
            return earlier[-1] if earlier and is_number(earlier[-1]) else value
        return value

    def starts(self, name: str) -> list[ast.expr]:
        """All values that plain assignments before the loop give to a name."""
        values = [v for v in assigned_values(name, self.context) if v not in self._inside]
        return [v for v in values if v.lineno <= self.loop.lineno]

    @cached_property
    def _inside(self) -> set[ast.AST]:
        return set(walk_all(self.loop.body))

    def _from_tuple(self, name: str) -> ast.expr | None:
        """The item of `mean, var = 0.0, 1.0`."""
        for node in self.context.nodes:
            if isinstance(node, ast.Assign) and node.lineno < self.loop.lineno:
                for target in node.targets:
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        if len(target.elts) == len(node.value.elts):
                            for item, value in zip(target.elts, node.value.elts, strict=True):
                                if isinstance(item, ast.Name) and item.id == name:
                                    return value
        return None

    def updates(self, name: str) -> list[ast.expr]:
        """The expressions that the body gives to a name, the same ones each time."""
        if name not in self._updates:
            self._updates[name] = given_to(name, self.loop.body)
        return self._updates[name]

    @cached_property
    def numbers(self) -> set[str]:
        """The names that start as Python numbers."""
        starts = {name: self.start(name) for name in self.carried}
        return {n for n, start in starts.items() if start is not None and is_number(start)}

    def stays_weak(self, value: ast.expr) -> bool:
        """Whether a value of the body is made of Python numbers and of state that is."""
        return self._is_weak(value, self._weak_state, 4)

    @cached_property
    def _weak_state(self) -> set[str]:
        """The names that start as numbers, or as arrays of them, and take in nothing else."""
        starts = {name: self.start(name) for name in self.carried}
        weak = {n for n, s in starts.items() if s is not None and self._is_made_weak(s)}
        while True:
            stay = {n for n in weak if all(self._is_weak(u, weak, 4) for u in self.updates(n))}
            if stay == weak:
                return weak
            weak = stay

    def is_weak(self, start: ast.expr) -> bool:
        """Whether a start is a Python number, or made of nothing else: `jnp.tanh(0.7)`."""
        return self._is_weak(start, None, 4)

    def _is_weak(self, node: ast.expr, given: set[str] | None, depth: int) -> bool:
        """Whether an expression is made of Python numbers alone.

        Args:
          given: in a function that is called with numbers, its parameters.
          depth: how many names and functions are still followed.
        """
        match node:
            case ast.Name(id=name) if given is not None:
                return name in given
            case ast.Name(id=name):
                before = [] if name in self.context.parameters else self.starts(name)
                same = [{name} if name in names_in(v) else None for v in before]  # t = t + 0.1
                weak = (self._is_weak(v, g, depth - 1) for v, g in zip(before, same, strict=True))
                return depth > 0 and bool(before) and all(weak)
            case ast.Call(args=arguments, keywords=[]) if arguments:
                if self.context.resolve(node.func) == "jax.numpy.where":
                    return all(self._is_weak(a, given, depth) for a in arguments[1:])
                numbers = all(self._is_weak(a, given, depth) for a in arguments)
                return numbers and self._keeps_weak(node.func, depth)
            case ast.BinOp(left=left, right=right):
                return self._is_weak(left, given, depth) and self._is_weak(right, given, depth)
            case ast.UnaryOp(operand=operand):
                return self._is_weak(operand, given, depth)
        return is_number(node)

    def _keeps_weak(self, function: ast.expr, depth: int) -> bool:
        """Whether a function makes weakly typed arrays, or numbers, of Python numbers."""
        path = self.context.resolve(function) or ""
        if path.startswith(("jax.numpy.", "jax.lax.")) or path == "abs":
            return path.rsplit(".", 1)[-1] in _OF_NUMBERS
        callee = self.context.module.traced.only(function) if depth > 0 else None
        match callee:
            case ast.FunctionDef(body=[ast.Return(value=ast.expr() as value)]):
                return self._is_weak(value, set(parameters(callee)), depth - 1)
        return False

    def may_start_weakly(self, name: str) -> bool:
        """Whether a name may be made of numbers before the loop."""
        start = self.start(name)
        return self.may_be_weak(start if start is not None else ast.Name(name))

    def may_start_as_integer(self, name: str) -> bool:
        """Whether a name may be a literal integer before the loop.

        It may be one by default, and as the state of a scan around the loop.
        """
        node = self.context.node
        default = None if isinstance(node, ast.Module) else defaults(node.args).get(name)
        given = [*self.starts(name), *([default] if default is not None else [])]
        parts = [v.value for v in given if isinstance(v, ast.Subscript)]  # low, high = carry
        handed = [name, *(v.id for v in parts if isinstance(v, ast.Name))]
        literal = any(is_number(v) and _is_whole(v) for v in given)
        is_inner = self.context.module.functions.enclosing(node) is not None
        return literal or (is_inner and any(map(self.context.is_bare, handed)))

    def may_become_floating(self, name: str) -> bool:
        """Whether the body does more than to count with a name."""
        return not all(map(_is_whole, self.updates(name)))

    def may_be_weak(self, start: ast.expr, depth: int = 4) -> bool:
        """Whether a start is made of numbers, or of arguments that may be handed in as such.

        Args:
          depth: how many names are still followed.
        """
        if self._is_made_weak(start):
            return True
        match start:
            case ast.Name(id=name):
                before = self.starts(name) if depth else []
                made = any(self.may_be_weak(value, depth - 1) for value in before)
                return made or self.context.is_bare(name)
            case ast.Subscript(value=ast.Name(id=whole)):  # x, y = carry
                return self.context.is_bare(whole)
            case ast.Call(func=ast.Name(id=made)) if made[:1].isupper():  # State(0.5, x)
                fields = [*start.args, *(k.value for k in start.keywords)]
                return any(self.may_be_weak(field, depth) for field in fields)
            case ast.Call(args=[_, *_] as given, keywords=[]) if self._keeps_weak(start.func, 1):
                return all(self.may_be_weak(argument, depth) for argument in given)
            case ast.Tuple(elts=fields):
                return any(self.may_be_weak(field, depth) for field in fields)
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
                sides = [s for s in (left, right) if not isinstance(s, ast.Constant)]
                return all(self.may_be_weak(side, depth) for side in sides)
            case ast.UnaryOp(operand=operand):
                return self.may_be_weak(operand, depth)
        return False

    def _is_made_weak(self, start: ast.expr) -> bool:
        return self.is_weak(start) or self.is_weak_array(start)

    def is_weak_array(self, start: ast.expr) -> bool:
        """Whether a start is an array made of a number: `jnp.array(0.5)`, `jnp.full(3, 0.5)`."""
        match start:
            case ast.Call(func=function, args=[_, number]):
                paths = {"jax.numpy.full"}
            case ast.Call(func=function, args=[number]):
                paths = {"jax.numpy.array", "jax.numpy.asarray"}
            case _:
                return False
        typed = any(k.arg == "dtype" for k in start.keywords)
        return self.context.resolve(function) in paths and is_number(number) and not typed

    def is_integer(self, start: ast.expr) -> bool:
        """Whether an array start is strongly typed and no float."""
        if not isinstance(start, ast.Call):
            return False
        path = self.context.resolve(start.func) or ""
        if not path.startswith(("jax.numpy.", "numpy.")):
            return False
        tail = path.rsplit(".", 1)[-1]
        if tail == "arange":
            return all(isinstance(a, ast.Constant) and isinstance(a.value, int) for a in start.args)
        if tail in _INT_TYPES:
            return True
        given = [*start.args[1:], *(k.value for k in start.keywords if k.arg == "dtype")]
        return tail in _MAKERS and any(map(names_integers, given))

    def is_module(self, name: str) -> bool:
        return (self.context.resolve(ast.Name(name, ast.Load())) or "").startswith("jax")


def is_number(node: ast.expr) -> bool:
    """A literal number, with or without a sign; a bool is one too."""
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_whole(node: ast.expr) -> bool:
    """Whether integers give an integer, as far as names are integers."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _is_whole(left) and _is_whole(right)
        case ast.UnaryOp(operand=operand):
            return _is_whole(operand)
        case ast.Constant(value=value):
            return isinstance(value, int)
    return isinstance(node, ast.Name)


def names_integers(dtype: ast.expr) -> bool:
    """`jnp.int32`, `"bool"`, `int`."""
    return ast.unparse(dtype).rsplit(".", 1)[-1].strip("'\"") in _INT_TYPES


def given_to(name: str, body: Sequence[ast.AST]) -> list[ast.expr]:
    """The expressions that statements give to a name."""
    found: list[ast.expr] = []
    for node in walk_all(body):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                found += _paired(target, node.value, name)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name) and node.target.id == name:
                whole = ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
                found.append(ast.copy_location(whole, node))
        elif isinstance(node, ast.NamedExpr) and node.target.id == name:
            found.append(node.value)
    return found


def _paired(target: ast.expr, value: ast.expr, name: str) -> list[ast.expr]:
    """The part of a value that an assignment gives to a name."""
    if isinstance(target, ast.Name):
        return [value] if target.id == name else []
    if isinstance(target, ast.Tuple | ast.List):
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            return [
                found
                for t, v in zip(target.elts, value.elts, strict=True)
                for found in _paired(t, v, name)
            ]
        if name in names_in(target):
            return [value]
    return []
