"""Trip counts as texts: `n`, `x.shape[0] - 1`, and when two of them are the same."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from forscan.find.context import FunctionContext, once
from forscan.syntax.code import expression
from forscan.syntax.names import bindings, walk_scope
from forscan.syntax.slices import uncut
from forscan.syntax.walk import walk


@dataclass(frozen=True)
class Extent:
    """An integer `base + constant`; `base` is a normal form, empty for a number."""

    base: str
    constant: int

    @property
    def number(self) -> int | None:
        """Its value, where that is known."""
        return None if self.base else self.constant

    def __add__(self, other: int) -> Extent:
        return Extent(self.base, self.constant + other)

    def text(self, spelled: str) -> str:
        """Python for it, where `spelled` is how the file writes the base."""
        if not self.base:
            return str(self.constant)
        if self.constant == 0:
            return spelled
        sign = "+" if self.constant > 0 else "-"
        return f"{spelled} {sign} {abs(self.constant)}"


def literal_int(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def extent(node: ast.expr, context: FunctionContext | None, depth: int = 5) -> Extent:
    """The normal form of an integer expression."""
    return _sum(node, lambda rest: _base(rest, context, depth))


def _sum(node: ast.expr, base: Callable[[ast.expr], Extent]) -> Extent:
    """A sum with its literals added up, and what `base` makes of the rest."""
    number = literal_int(node)
    if number is not None:
        return Extent("", number)
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            of_right, of_left = literal_int(right), literal_int(left)
            if of_right is not None:
                return _sum(left, base) + sign * of_right
            if of_left is not None and sign == 1:
                return _sum(right, base) + of_left
    return base(node)


def _base(node: ast.expr, context: FunctionContext | None, depth: int) -> Extent:
    """The normal form of what is no sum with a literal: a length, or the value of a name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "len" and len(node.args) == 1:
            return _length_of(node.args[0], context, depth)
    if isinstance(node, ast.Name) and context is not None and depth:
        value = definition(node.id, context)
        if value is not None:
            return extent(value, context, depth - 1)
    return Extent(ast.unparse(node), 0)


def _length_of(node: ast.expr, context: FunctionContext | None, depth: int) -> Extent:
    if isinstance(node, ast.List | ast.Tuple) and not any(
        isinstance(e, ast.Starred) for e in node.elts
    ):
        return Extent("", len(node.elts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return Extent(f"len({ast.unparse(node)})", 0)
    return leading(node, context, depth)


def leading(
    node: ast.expr, context: FunctionContext | None, depth: int = 5, axis: int = 0
) -> Extent:
    """The normal form of `node.shape[axis]`."""
    whole, left_out = uncut(node)
    if whole is not node and axis == 0:
        return leading(whole, context, depth) + -left_out
    if context is not None and depth:
        value = definition(node.id, context) if isinstance(node, ast.Name) else node
        made = _of_maker(value, context, depth - 1, axis)
        if made is not None:
            return made
    unstable = "" if stable(node, context) else "some version of "
    return Extent(f"{unstable}{ast.unparse(node)}.shape[{axis}]", 0)


def _of_maker(
    value: ast.expr | None, context: FunctionContext, depth: int, axis: int
) -> Extent | None:
    """The extent of what jnp.zeros and its like make."""
    if not isinstance(value, ast.Call) or not value.args:
        return None
    path = context.resolve(value.func) or ""
    first = value.args[0]
    if path.endswith("_like"):
        return leading(first, context, depth, axis)
    if path.endswith(("numpy.array", "numpy.asarray")) and axis == 0:
        if isinstance(first, ast.List | ast.Tuple):
            return _length_of(first, context, depth)
    if path in ("jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.empty", "jax.numpy.full"):
        return dimension(first, context, depth, axis)
    return None


def stable(node: ast.expr, context: FunctionContext | None) -> bool:
    """Whether the names in an expression mean one object all through the function."""
    if context is None:
        return True
    counts = binding_counts(context)
    return all(counts.get(n.id, 0) <= 1 for n in walk(node) if isinstance(n, ast.Name))


@once
def binding_counts(context: FunctionContext) -> Counter[str]:
    """How often each name is bound in the function; a parameter counts once.

    A `del` and a function inside that binds the name count as well.
    """
    found = Counter(context.parameters)
    found.update(name for name, _ in bindings(context.node.body, comprehensions=True))
    for node in context.nodes:
        if isinstance(node, ast.Nonlocal):
            found.update(node.names)
        elif isinstance(node, ast.Delete):
            found.update(t.id for t in node.targets if isinstance(t, ast.Name))
    return found


def dimension(shape: ast.expr, context: FunctionContext, depth: int = 5, axis: int = 0) -> Extent:
    """The normal form of one entry of a shape that is given to jnp.zeros."""
    if isinstance(shape, ast.Tuple | ast.List):
        if axis < len(shape.elts) and not any(
            isinstance(e, ast.Starred) for e in shape.elts[: axis + 1]
        ):
            return extent(shape.elts[axis], context, depth)
    elif isinstance(shape, ast.Attribute) and shape.attr == "shape":
        return leading(shape.value, context, depth, axis)
    elif axis == 0 and (is_number(shape) or not isinstance(shape, ast.BinOp | ast.Name)):
        return extent(shape, context, depth)
    elif isinstance(shape, ast.Name) and axis == 0:
        found = extent(shape, context, depth)
        if not found.base.endswith(".shape"):
            return found
    return Extent(f"({ast.unparse(shape)})[{axis}]", 0)


def is_number(shape: ast.expr) -> bool:
    """Whether what is given as a shape is surely no tuple, for which `-` and `+ 1` mean nothing."""
    match shape:
        case ast.Constant(value=int()) | ast.BinOp(op=ast.Sub() | ast.FloorDiv()):
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return any(isinstance(s, ast.Constant) for s in (left, right))
    return False


def definition(name: str, context: FunctionContext) -> ast.expr | None:
    """The value of a name that is assigned once in the function and is no parameter.

    A tuple assignment from a shape gives the item: `n, d = x.shape` makes n the
    expression `x.shape[0]`.
    """
    return _definitions(context).get(name)


@once
def _definitions(context: FunctionContext) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    count = binding_counts(context)
    for node in walk_scope(context.node.body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                found[target.id] = node.value
            elif isinstance(target, ast.Tuple):
                _from_tuple(target, node.value, found)
    result = {
        name: value
        for name, value in found.items()
        if count.get(name) == 1 and name not in context.parameters
    }
    if not isinstance(context.node, ast.Module):
        for name, value in context.module.constants.items():
            if name not in context.locals:
                result.setdefault(name, value)
    return result


def _from_tuple(target: ast.Tuple, value: ast.expr, found: dict[str, ast.expr]) -> None:
    for position, item in enumerate(target.elts):
        if isinstance(item, ast.Starred):
            return
        if not isinstance(item, ast.Name):
            continue
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            found[item.id] = value.elts[position]
        elif isinstance(value, ast.Attribute) and value.attr == "shape":
            found[item.id] = ast.Subscript(value, ast.Constant(position), ast.Load())


def add(text: str, number: int) -> str:
    """The text of `text + number`, folded where it is a sum already."""
    found = _sum(expression(text), lambda rest: Extent(ast.unparse(rest), 0)) + number
    return found.text(found.base)
