"""Are the items of an unproven iterable used as arrays only?

If the iterable were a list, a scan would hand the body a list of slices. Where an item
meets arithmetic or a function of jax that takes no lists, that raises at trace time: loud.
A list can be indexed, unpacked, added up and written into an array: that shows nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from forscan.analyse.arrays import Evidence, assigned_values, evidence, is_array
from forscan.analyse.kinds import kind_of
from forscan.analyse.trip_count import literal_int
from forscan.find.context import FunctionContext
from forscan.syntax.names import is_place, parameters, target_names
from forscan.syntax.walk import walk, walk_all

_LOUD = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.random.", "jax.scipy.")
_OF_SEQUENCES = {"stack", "array", "asarray", "concatenate", "hstack", "vstack"}
# Functions of jax that take a list for an array, or any tree.
_OF_LISTS = {
    *_OF_SEQUENCES, "dstack", "column_stack", "block", "one_hot", "stop_gradient",
    "optimization_barrier", "psum", "pmean", "pmax", "pmin", "float16", "bfloat16", "float32",
    "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_",
    "result_type", "broadcast_arrays", "select", "choose", "piecewise", "ix_", "full",
    "full_like", "shape", "ndim", "size", "custom_root", "custom_linear_solve",
}  # fmt: skip
_PRODUCTS = {"dot", "matmul", "tensordot", "einsum", "dot_general", "inner", "vdot"}
_OF_TREES = {"cond", "switch", "scan", "while_loop", "fori_loop", "map", "associative_scan"}
_SAME_ARGUMENTS = {
    "jax.grad",
    "jax.value_and_grad",
    "jax.jit",
    "jax.checkpoint",
    "jax.remat",
    "jax.vmap",
}
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


def used_as_arrays(target: ast.expr, loop: ast.For, context: FunctionContext) -> bool | None:
    """Whether the items are used as arrays and as nothing else.

    None where a list of arrays could be used so as well.
    """
    names = target_names(target)
    unpacked = isinstance(target, ast.Tuple | ast.List)
    judged = [_judge(name, loop.body, context, 3, unpacked) for name in names]
    used = [j for j in judged if j is not None]
    read = {n.id for n in walk_all(loop.body) if isinstance(n, ast.Name)}
    in_pair = target is not loop.target and isinstance(loop.target, ast.Name)
    if not used and in_pair and isinstance(loop.target, ast.Name):  # for pair in enumerate(xs)
        parts = [
            n
            for n in walk_all(loop.body)
            if isinstance(n, ast.Subscript)
            and isinstance(n.value, ast.Name)
            and n.value.id == loop.target.id
        ]
        found = [_use(p, context.module.functions.parents, context, 3, False) for p in parts]
        used = [f for f in found if f is not None]
    if not used:
        return None if read & set(names) else False
    return all(used)


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


def _use(  # noqa: C901
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
            if unpacked and isinstance(op, ast.MatMult):
                return False
            other = parent.right if parent.left is node else parent.left
            repeats = isinstance(op, ast.Mult) and isinstance(literal_int(other), int)
            joins = isinstance(op, ast.Add) and _is_item(other, parents)
            return None if repeats or joins else True
        case ast.Compare(ops=ops):
            ordered = any(isinstance(o, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for o in ops)
            return True if ordered else None
        case ast.UnaryOp(op=unary):
            return None if isinstance(unary, ast.Not) else True
        case ast.AugAssign():
            return True
        case ast.Attribute(attr=attribute):
            if attribute == "shape":  # rows of a list may have different shapes
                return _is_asserted(parent, parents)
            return attribute in _ARRAY_ATTRIBUTES
        case ast.Subscript(value=base, slice=index):
            if base is not node:  # a list indexes no array; a dict may have any keys
                return evidence(base, context) is not Evidence.OTHER or None
            if isinstance(index, ast.Constant) and isinstance(index.value, str):
                return False
            if isinstance(index, ast.Tuple):
                return True
            return None if isinstance(index, ast.Constant | ast.Slice | ast.Name) else False
        case ast.Call(func=function, args=arguments) if node in arguments:
            return _argument(parent, function, arguments.index(node), context, depth, unpacked)
        case ast.keyword():
            call = parents[parent]
            if not isinstance(call, ast.Call) or parent.arg is None:
                return False  # f(**item)
            return True if _takes_arrays(context.resolve(call.func) or "") else None
        case ast.comprehension() | ast.For():
            return None
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            if depth == 0:
                return False
            return _judge(name, context.node.body, context, depth - 1, unpacked)
        case ast.Assign(value=value) if value is node:
            return None
    return False


def _is_item(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a name is what a loop around it takes from an iterable: of two lists as well."""
    around = parents.get(node)
    while around is not None and not isinstance(around, ast.FunctionDef):
        if isinstance(around, ast.For) and isinstance(node, ast.Name):
            if node.id in target_names(around.target):
                return True
        around = parents.get(around)
    return False


def _takes_arrays(path: str) -> bool:
    """Whether a function of jax raises when it is handed a list."""
    tail = path.rsplit(".", 1)[-1]
    return path.startswith(_LOUD) and tail not in _OF_LISTS | _OF_TREES


def _is_asserted(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while node is not None and not isinstance(node, ast.stmt):
        node = parents[node]
    return isinstance(node, ast.Assert)


def _argument(  # noqa: C901
    call: ast.Call,
    function: ast.expr,
    position: int,
    context: FunctionContext,
    depth: int,
    unpacked: bool,
) -> bool | None:
    path = context.resolve(function) or ""
    if path.startswith(_LOUD):
        tail = path.rsplit(".", 1)[-1]
        if tail in _OF_SEQUENCES or (unpacked and tail in _PRODUCTS):
            return False
        return _takes_arrays(path) or None
    if path in ("enumerate", "zip", "sum", "len", "reversed"):
        return None
    if path.startswith(("jax.tree", "jax.debug")):
        return None
    if isinstance(function, ast.Attribute):
        if function.attr == "append":
            return None
        if is_place(function.value):  # buffer.at[i].set(item)
            return None
    callee = context.module.traced.only(function)
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


def _surely(node: ast.expr, body: list[ast.stmt], context: FunctionContext, depth: int) -> bool:
    if depth == 0:
        return False
    match node:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Constant() | ast.NamedExpr():
            return is_array_expression(node, body, context, depth - 1)
        case ast.Name(id=name):
            values = assigned_values(name, context)
            inside = [v for v in values if any(v in walk(s) for s in body)]
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
        case ast.Call(func=function) if context.resolve(function) == "jax.lax.cond":
            return kind_of(node, context).is_array
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


def used_as_an_array(
    name: str,
    nodes: Iterable[ast.AST],
    context: FunctionContext,
    depth: int = 3,
    item: int | None = None,
) -> bool:
    """Whether code uses a variable, or one item of it, as an array at least once.

    For a program that works this proves that it is one: a pytree would raise there.

    Args:
      name: the variable.
      nodes: the code, as it is in the file.
      context: the function that it belongs to.
      depth: into how many functions of the module the variable is followed.
      item: the literal that the variable is indexed with, where that item is meant.
    """
    parents = context.module.functions.parents
    nodes = list(nodes)
    reads = (n for n in walk_all(nodes) if isinstance(n, ast.Name) and n.id == name)
    for node in reads:
        parent = parents[node]
        if isinstance(parent, ast.Call) and node in parent.args:
            if _proved_by_call(node, parent, context, depth, item):
                return True
        elif item is None:
            if _proves(node, parent):
                return True
        elif _item_proved(node, item, nodes, context, depth):
            return True
    return False


def _item_proved(
    node: ast.Name, item: int, nodes: list[ast.AST], context: FunctionContext, depth: int
) -> bool:
    """Whether `name[item]` is an array, or what `a, b = name` binds for it."""
    parents = context.module.functions.parents
    parent = parents[node]
    match parent:
        case ast.Subscript(slice=ast.Constant(value=index)) if index == item:
            around = parents[parent]
            if isinstance(around, ast.Call) and parent in around.args:
                return _proved_by_call(parent, around, context, depth, None)
            return _proves(parent, around)
        case ast.Assign(targets=[ast.Tuple(elts=items)]) if item < len(items):
            target = items[item]
            if isinstance(target, ast.Name):
                return used_as_an_array(target.id, nodes, context, depth)
    return False


def _proves(node: ast.expr, parent: ast.AST) -> bool:
    match parent:
        case ast.BinOp(op=op):
            return not isinstance(op, ast.Mod)
        case ast.Compare(ops=ops):
            return not any(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in ops)
        case ast.UnaryOp(op=op):
            return not isinstance(op, ast.Not)
        case ast.Subscript(slice=index):
            return index is node
        case ast.Attribute(attr=attribute):
            return attribute in ("T", "astype", "at", "dtype", "ndim")
    return False


def _proved_by_call(
    node: ast.expr, call: ast.Call, context: FunctionContext, depth: int, item: int | None
) -> bool:
    """Whether what is called uses its argument, or one item of it, as an array."""
    function, position = call.func, call.args.index(node)
    path = context.resolve(function) or ""
    if path.startswith(_LOUD):
        return item is None and path.rsplit(".", 1)[-1] not in _OF_SEQUENCES | _OF_TREES
    if isinstance(function, ast.Call) and context.resolve(function.func) not in _SAME_ARGUMENTS:
        return False
    callee = context.module.traced.only(function)
    if callee is None or depth == 0:
        return False
    names = [p.arg for p in (*callee.args.posonlyargs, *callee.args.args)]
    position += names[:1] == ["self"] and isinstance(function, ast.Attribute)
    if position >= len(names):
        return False
    if isinstance(callee, ast.Lambda):
        return used_as_an_array(names[position], [callee.body], context, depth - 1, item)
    inside = FunctionContext(context.module, callee)
    return used_as_an_array(names[position], callee.body, inside, depth - 1, item)
