"""Are the items of an unproven iterable used as arrays only?

If the iterable were a list, a scan would hand the body a list of slices. Where all
uses of an item are arithmetic or jax functions, that raises at trace time: loud.
"""

from __future__ import annotations

import ast

from forscan.analyse.arrays import assigned_values, is_array
from forscan.find.context import FunctionContext
from forscan.syntax.names import is_place, parameters, target_names, walk_all

_LOUD = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.random.", "jax.scipy.")
_OF_SEQUENCES = {"stack", "array", "asarray", "concatenate", "hstack", "vstack"}
_ARRAY_ATTRIBUTES = {
    "T",
    "mT",
    "astype",
    "dtype",
    "ndim",
    "size",
    "at",
    "sum",
    "mean",
    "max",
    "min",
    "reshape",
    "dot",
    "ravel",
    "prod",
    "std",
    "var",
}
_TREES = {"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"}


def used_as_arrays(target: ast.expr, loop: ast.For, context: FunctionContext) -> bool:
    """Whether every item is used, at least once, and only as an array."""
    names = target_names(target)
    unpacked = isinstance(target, ast.Tuple | ast.List)
    judged = [_judge(name, loop.body, context, 3, unpacked) for name in names]
    used = [j for j in judged if j is not None]
    if not used and isinstance(loop.target, ast.Name):  # for pair in enumerate(xs)
        parts = [
            n
            for n in walk_all(loop.body)
            if isinstance(n, ast.Subscript)
            and isinstance(n.value, ast.Name)
            and n.value.id == loop.target.id
        ]
        used = [bool(_use(p, context.module.functions.parents, context, 3, False)) for p in parts]
    return bool(used) and all(used)


def _judge(
    name: str,
    body: list[ast.stmt] | list[ast.expr],
    context: FunctionContext,
    depth: int,
    unpacked: bool,
) -> bool | None:
    """True: as an array; False: perhaps not; None: not used."""
    verdicts = []
    parents = context.module.functions.parents
    for node in walk_all(body):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            verdict = _use(node, parents, context, depth, unpacked)
            if verdict is not None:
                verdicts.append(verdict)
    return all(verdicts) if verdicts else None


def _use(
    node: ast.AST,
    parents: dict[ast.AST, ast.AST],
    context: FunctionContext,
    depth: int,
    unpacked: bool,
) -> bool | None:
    parent = parents.get(node)
    match parent:
        case ast.BinOp(op=op):
            # Unpacked weights and biases come as lists of tuples, not as one array.
            return not (unpacked and isinstance(op, ast.MatMult))
        case ast.Compare() | ast.UnaryOp() | ast.AugAssign():
            return True
        case ast.Attribute(attr=attribute):
            if attribute == "shape":  # rows of a list may have different shapes
                return _is_asserted(parent, parents)
            return attribute in _ARRAY_ATTRIBUTES
        case ast.Subscript(value=base, slice=index):
            if base is not node:
                return True
            if isinstance(index, ast.Constant) and isinstance(index.value, str):
                return False
            return isinstance(index, ast.Constant | ast.Tuple | ast.Slice | ast.Name)
        case ast.Call(func=function, args=arguments) if node in arguments:
            return _argument(parent, function, arguments.index(node), context, depth, unpacked)
        case ast.keyword():
            call = parents[parent]
            assert isinstance(call, ast.Call)
            path = context.resolve(call.func) or ""
            return path.startswith(_LOUD)
        case ast.comprehension() | ast.For():
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            if depth == 0:
                return False
            return _judge(name, context.node.body, context, depth - 1, unpacked)
        case ast.Assign(value=value) if value is node:
            return True
    return False


def _is_asserted(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while node is not None and not isinstance(node, ast.stmt):
        node = parents[node]
    return isinstance(node, ast.Assert)


def _argument(
    call: ast.Call,
    function: ast.expr,
    position: int,
    context: FunctionContext,
    depth: int,
    unpacked: bool,
) -> bool | None:
    path = context.resolve(function) or ""
    if path.startswith(_LOUD):
        return path.rsplit(".", 1)[-1] not in _OF_SEQUENCES
    if path in ("enumerate", "zip", "sum", "len", "reversed"):
        return True
    if path.startswith(("jax.tree", "jax.debug")):
        return None
    if isinstance(function, ast.Attribute):
        if function.attr == "append":
            return None
        if is_place(function.value):  # buffer.at[i].set(item)
            return True
    callee = next(iter(context.module.traced.candidates(function)), None)
    if callee is None:
        # `hs.append(cell(h, x))` of an unknown cell: an array in most code, and a
        # list would reach code that we cannot see.
        return False
    if depth == 0:
        return False
    names = parameters(callee)
    offset = 1 if names[:1] == ["self"] and isinstance(function, ast.Attribute) else 0
    if position + offset >= len(names):
        return False
    body: list[ast.stmt] | list[ast.expr]
    body = [callee.body] if isinstance(callee, ast.Lambda) else callee.body
    place = context
    if not isinstance(callee, ast.Lambda):
        place = FunctionContext(context.module, callee)
    return _judge(names[position + offset], body, place, depth - 1, unpacked)


def is_array_expression(
    node: ast.expr, body: list[ast.stmt], context: FunctionContext, depth: int = 4
) -> bool:
    """Whether a value computed in a loop body is one array (or a number), for sure."""
    seen = context.seen(node)
    if seen is not None:
        return seen.is_array
    match node:
        case ast.NamedExpr(value=value):
            return is_array_expression(value, body, context, depth)
        case ast.BinOp(op=op, left=left, right=right):
            if isinstance(op, ast.Add | ast.Mult):  # also lists and tuples can do this
                return any(_surely(s, body, context, depth) for s in (left, right))
            return True
        case ast.UnaryOp() | ast.Compare():
            return True
        case ast.Constant(value=value):
            return isinstance(value, int | float | complex)
    return _surely(node, body, context, depth)


_FLOATING = {"exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "mean", "sigmoid", "softplus"}


def is_floating(node: ast.expr, context: FunctionContext, depth: int = 3) -> bool:
    """Whether arithmetic surely gives floating-point (or complex) numbers."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, float)
        case ast.BinOp(op=op, left=left, right=right):
            sides = (left, right)
            return isinstance(op, ast.Div) or any(is_floating(s, context, depth) for s in sides)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_floating(operand, context, depth)
        case ast.Call(func=function):
            path = context.resolve(function) or ""
            return path.startswith(_LOUD) and path.rsplit(".", 1)[-1] in _FLOATING
        case ast.Name(id=name) if depth:
            values = assigned_values(name, context)
            return bool(values) and all(is_floating(v, context, depth - 1) for v in values)
    return False


def _surely(node: ast.expr, body: list[ast.stmt], context: FunctionContext, depth: int) -> bool:
    if depth == 0:
        return False
    match node:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Constant() | ast.NamedExpr():
            return is_array_expression(node, body, context, depth - 1)
        case ast.Name(id=name):
            values = assigned_values(name, context)
            inside = [v for v in values if any(v in ast.walk(s) for s in body)]
            augmented = any(
                isinstance(n, ast.AugAssign)
                and isinstance(n.target, ast.Name)
                and n.target.id == name
                for n in walk_all(body)
            )
            if inside or augmented:
                return all(is_array_expression(v, body, context, depth - 1) for v in inside)
            return is_array(node, context) or _arithmetic_use(name, body)
        case ast.Subscript(value=base):
            return _surely(base, body, context, depth - 1)
        case ast.Attribute(attr="shape"):
            return False
    return is_array(node, context)


def _arithmetic_use(name: str, body: list[ast.stmt]) -> bool:
    return any(
        isinstance(n, ast.BinOp)
        and not isinstance(n.op, ast.Add | ast.Mult)
        and any(isinstance(s, ast.Name) and s.id == name for s in (n.left, n.right))
        for n in walk_all(body)
    )


def reads_as_arrays(read: ast.Subscript, context: FunctionContext) -> bool:
    """Whether a read `a[i]` is used as an array or a number, never as a pytree."""
    return bool(_use(read, context.module.functions.parents, context, 2, False))


def used_as_arrays_named(name: str, body: str, context: FunctionContext) -> bool:
    """Whether a body, given as text, uses a variable as an array at least once.

    For a program that works this proves that it is one: a pytree would raise there.
    """
    tree = ast.parse(body)
    parents = {c: n for n in ast.walk(tree) for c in ast.iter_child_nodes(n)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            parent = parents.get(node)
            if isinstance(parent, ast.BinOp | ast.Compare | ast.UnaryOp):
                if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Mod):
                    return True
            if isinstance(parent, ast.Subscript) and parent.slice is node:
                return True
            if isinstance(parent, ast.Call) and node in parent.args:
                path = context.resolve(parent.func) or ""
                tail = path.rsplit(".", 1)[-1]
                if path.startswith(_LOUD) and tail not in _OF_SEQUENCES | {
                    "cond",
                    "switch",
                    "scan",
                }:
                    return True
            if isinstance(parent, ast.Attribute) and parent.attr in (
                "T",
                "astype",
                "at",
                "dtype",
                "ndim",
            ):
                return True
    return False
