"""What kind of value an expression has, by a small abstract interpretation.

Kinds are what matters for stacking: one array (or a number), nothing, a tuple of kinds,
or unknown. Functions of the module are looked into with the kinds of their arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forscan.analyse.arrays import Evidence, evidence
from forscan.find.context import FunctionContext, once
from forscan.find.functions import Function
from forscan.syntax.names import target_names


@dataclass(frozen=True)
class Kind:
    """A kind; `items` are those of a tuple."""

    name: str
    items: tuple[Kind, ...] = ()

    @property
    def is_array(self) -> bool:
        return self in (ARRAY, NUMBER)


ARRAY = Kind("array")
NUMBER = Kind("number")
NOTHING = Kind("None")
UNKNOWN = Kind("unknown")


def of_items(items: Sequence[Kind]) -> Kind:
    return Kind("tuple", tuple(items))


def join(a: Kind, b: Kind) -> Kind:
    """The kind of a value that is one of two."""
    if a is b or a == b:
        return a
    if a.is_array and b.is_array:
        return ARRAY
    if a.name == b.name == "tuple" and len(a.items) == len(b.items):
        return of_items([join(x, y) for x, y in zip(a.items, b.items, strict=True)])
    return UNKNOWN


def as_carry(kind: Kind) -> Kind:
    """Numbers become arrays when they are carried."""
    if kind == NUMBER:
        return ARRAY
    return of_items([as_carry(k) for k in kind.items]) if kind.name == "tuple" else kind


def kind_of(
    node: ast.expr, context: FunctionContext, known: Mapping[str, Kind] | None = None
) -> Kind:
    """The kind of an expression of a function."""
    if not known:
        return _kind(node, context)
    return _Interpreter(context, dict(known), depth=3).expression(node)


@once
def _kind(node: ast.expr, context: FunctionContext) -> Kind:
    return _Interpreter(context, {}, depth=3).expression(node)


def kinds_behind(
    statements: Sequence[ast.stmt],
    expressions: Sequence[ast.expr],
    known: Mapping[str, Kind],
    context: FunctionContext,
) -> list[Kind]:
    """The kinds of expressions behind statements, before which names are of known kinds."""
    interpreter = _Interpreter(context, dict(known), depth=3)
    interpreter.block(statements)
    return [interpreter.expression(e) for e in expressions]


def returned_kind(
    function: Function | ast.Lambda, arguments: Sequence[Kind], context: FunctionContext
) -> Kind:
    """The kind that a function gives back for arguments of these kinds.

    Args:
      function: a definition or lambda of the module.
      arguments: the kinds of its positional arguments, without self.
      context: the function that the definition stands in.
    """
    return _returned(function, arguments, context, depth=3)


def _returned(
    function: Function | ast.Lambda,
    arguments: Sequence[Kind],
    context: FunctionContext,
    depth: int,
) -> Kind:
    names = [p.arg for p in (*function.args.posonlyargs, *function.args.args)]
    names = [n for n in names if n not in ("self", "cls")]
    known = dict(zip(names, arguments, strict=False))
    if isinstance(function, ast.Lambda):
        return _Interpreter(context, known, depth).expression(function.body)
    inside = FunctionContext(context.module, function)
    return _returned_inside(tuple(known.items()), depth, inside)


@once
def _returned_inside(
    known: tuple[tuple[str, Kind], ...], depth: int, context: FunctionContext
) -> Kind:
    """The kind that a function gives back where its parameters are of known kinds."""
    interpreter = _Interpreter(context, dict(known), depth)
    interpreter.block(context.node.body)
    found = interpreter.returns
    kind = found[0] if found else NOTHING
    for other in found[1:]:
        kind = join(kind, other)
    return kind


class _Interpreter:
    def __init__(self, context: FunctionContext, known: dict[str, Kind], depth: int) -> None:
        self.context = context
        self.known = known
        self.depth = depth
        self.returns: list[Kind] = []

    # Statements; what is not understood makes the names that it binds unknown.

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=value):
                self.returns.append(NOTHING if value is None else self.expression(value))
            case ast.Assign(targets=targets, value=value):
                kind = self.expression(value)
                for target in targets:
                    self.bind(target, kind)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.expression(value))
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                left = self.expression(ast.Name(target.id, ast.Load()))
                self.bind(target, self.arithmetic(op, left, self.expression(value)))
            case ast.If(body=body, orelse=orelse):
                self.branches([body, orelse])
            case ast.For() | ast.While() | ast.With() | ast.Try():
                self.twice(node)

    def branches(self, suites: Sequence[Sequence[ast.stmt]]) -> None:
        start, ends = self.known, []
        for suite in suites:
            self.known = dict(start)
            self.block(suite)
            ends.append(self.known)
        names = dict.fromkeys(n for end in ends for n in end)
        first, *others = ends
        for name in names:
            kind = first.get(name, UNKNOWN)
            for other in others:
                kind = join(kind, other.get(name, UNKNOWN))
            self.known[name] = kind

    def twice(self, node: ast.stmt) -> None:
        """A suite that may run any number of times: what it changes must agree."""
        if isinstance(node, ast.For):
            for name in target_names(node.target):
                self.known[name] = UNKNOWN
        body = getattr(node, "body", [])
        for _ in range(2):
            before = self.known
            self.branches([body, []])
            if self.known == before:
                break

    def bind(self, target: ast.expr, kind: Kind) -> None:
        if isinstance(target, ast.Name):
            self.known[target.id] = kind
        elif isinstance(target, ast.Tuple | ast.List):
            for position, item in enumerate(target.elts):
                self.bind(item, self.part(kind, position, len(target.elts)))
        elif isinstance(target, ast.Starred):
            self.bind(target.value, UNKNOWN)

    @staticmethod
    def part(kind: Kind, position: int, count: int | None = None) -> Kind:
        """What unpacking or indexing gives."""
        if kind == ARRAY:
            return ARRAY
        if kind.name == "tuple" and count in (None, len(kind.items)):
            if -len(kind.items) <= position < len(kind.items):
                return kind.items[position]
        return UNKNOWN

    # Expressions.

    def expression(self, node: ast.expr) -> Kind:  # noqa: C901
        match node:
            case ast.Constant(value=value):
                if value is None:
                    return NOTHING
                return NUMBER if isinstance(value, int | float | complex) else UNKNOWN
            case ast.Name(id=name):
                return self.known[name] if name in self.known else self.seen(node)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                if any(isinstance(i, ast.Starred) for i in items):
                    return UNKNOWN
                return of_items([self.expression(i) for i in items])
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=op, operand=operand):
                kind = self.expression(operand)
                return ARRAY if kind == UNKNOWN and not isinstance(op, ast.Not) else kind
            case ast.Compare():
                return ARRAY
            case ast.IfExp(body=body, orelse=orelse):
                return join(self.expression(body), self.expression(orelse))
            case ast.NamedExpr(target=target, value=value):
                self.bind(target, self.expression(value))
                return self.known[target.id]
            case ast.Subscript():
                return self.subscript(node)
            case ast.Call():
                return self.call(node)
        return self.seen(node)

    def seen(self, node: ast.expr) -> Kind:
        """What the rest of the function shows."""
        found = evidence(node, self.context)
        return ARRAY if found in (Evidence.ARRAY, Evidence.NUMPY) else UNKNOWN

    @staticmethod
    def arithmetic(op: ast.operator, left: Kind, right: Kind) -> Kind:
        if left == right == NUMBER:
            return NUMBER
        if left.is_array or right.is_array:
            return ARRAY
        # Tuples and lists can be added and repeated; nothing else is defined for them.
        return UNKNOWN if isinstance(op, ast.Add | ast.Mult | ast.Mod) else ARRAY

    def subscript(self, node: ast.Subscript) -> Kind:
        base = self.expression(node.value)
        if base == ARRAY:
            return ARRAY
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return self.part(base, node.slice.value)
        return self.seen(node)

    def call(self, node: ast.Call) -> Kind:
        if isinstance(node.func, ast.Attribute) and self.context.resolve(node.func) is None:
            if self.expression(node.func.value) == ARRAY:
                return ARRAY
        if self.context.resolve(node.func) == "jax.lax.cond" and self.depth:
            return self.chosen(node)
        found = self.seen(node)
        callee = self.context.module.traced.only(node.func)
        if found == ARRAY or callee is None or self.depth == 0:
            return found
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        arguments = [self.expression(a) for a in node.args] if plain else []
        return _returned(callee, arguments, self.context, self.depth - 1)

    def chosen(self, cond: ast.Call) -> Kind:
        """What both branches of `lax.cond` give back, as one of them shows: they are alike."""
        operands = [self.expression(a) for a in cond.args[3:]]
        for branch in cond.args[1:3]:
            named = isinstance(branch, ast.Name | ast.Attribute)
            function = self.context.module.traced.only(branch) if named else branch
            if isinstance(function, ast.FunctionDef | ast.Lambda):
                kind = _returned(function, operands, self.context, self.depth - 1)
                if kind != UNKNOWN:
                    return kind
        return UNKNOWN
