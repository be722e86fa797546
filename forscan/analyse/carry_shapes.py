"""State that changes its shape in each iteration, or that is no array at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.carries import Carries
from forscan.analyse.lists import together
from forscan.analyse.trip_count import literal_int
from forscan.find.module import ModuleContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import names_in, reads
from forscan.syntax.walk import walk

_GROWING = {
    "concatenate", "append", "hstack", "vstack", "kron", "tile", "repeat", "expand_dims", "pad",
    "outer", "insert", "column_stack", "block", "resize", "atleast_2d", "convolve", "correlate",
    "diff", "trim_zeros", "stack", "dstack",
}  # fmt: skip
# Of jax.numpy: the result has the shape of the arguments, broadcast.
ELEMENTWISE = {
    "abs", "add", "clip", "cos", "cosh", "divide", "exp", "exp2", "expm1", "log", "log10", "log1p",
    "log2", "maximum", "minimum", "multiply", "negative", "reciprocal", "sign", "sin", "sinh",
    "sqrt", "square", "subtract", "tan", "tanh", "where",
}  # fmt: skip
# Whatever library these are of.
_JOINING = {"concatenate", "hstack", "vstack", "dstack", "stack"}


def no_array(carries: Carries, name: str, start: ast.expr) -> Iterator[Refusal]:
    """State that Python builds: a tuple that grows, a set, a function that is wrapped."""
    made = isinstance(start, ast.Tuple | ast.List | ast.JoinedStr)
    grows = any(
        (isinstance(u, ast.BinOp) and name in names_in(u) and (made or _adds_items(u)))
        or _takes_itself_in(u, name)
        for u in carries.updates(name)
    )
    function = _is_function(carries, start) or _is_called(carries, name)
    if function or grows or _is_set(carries, start):
        what = "a function" if function else "no array, and grows"
        yield refuse(
            "FSC405",
            carries.loop,
            f"{name} is {what}: a scan's carry is made of arrays of one type",
            "Keep the Python loop.",
        )


def _takes_itself_in(update: ast.expr, name: str) -> bool:
    """`[*ys, y]`: all that there was before, and something else."""
    items = together(update)
    spread = [i.value for i in items if isinstance(i, ast.Starred)]
    return len(items) > 1 and any(isinstance(v, ast.Name) and v.id == name for v in spread)


def no_pytree(carries: Carries, name: str, start: ast.expr) -> Iterator[Refusal]:
    """State that is an object of a class of the module that JAX has not been told about."""
    for value in (start, *carries.updates(name)):
        made = value.func if isinstance(value, ast.Call) else None
        if isinstance(made, ast.Name) and _is_plain_class(made.id, carries.context.module):
            yield refuse(
                "FSC405",
                value,
                f"{name} is an object of {made.id}, which is no pytree: a scan cannot carry it",
                f"Make {made.id} a NamedTuple, or register it: jax.tree_util.register_dataclass.",
            )
            return


def _is_plain_class(name: str, module: ModuleContext) -> bool:
    """Whether a name is a class without bases that nothing registers."""
    match module.class_named(name):
        case ast.ClassDef(bases=[], decorator_list=decorators):
            paths = {
                module.imports.resolve(d.func if isinstance(d, ast.Call) else d) for d in decorators
            }
        case _:
            return False
    mentions = (a for call in module.functions.calls for a in call.args)
    handed = any(isinstance(a, ast.Name) and a.id == name for a in mentions)
    return paths <= {"dataclasses.dataclass"} and not handed


def _is_function(carries: Carries, start: ast.expr) -> bool:
    if isinstance(start, ast.Name):
        return bool(carries.context.module.traced.candidates(start))
    return isinstance(start, ast.Lambda)


def _is_called(carries: Carries, name: str) -> bool:
    """Whether the function around the loop calls the state."""
    calls = carries.context.module.functions.calls_of.get(name, ())
    return any(call in carries.context.nodes for call in calls)


def _is_set(carries: Carries, start: ast.expr) -> bool:
    if isinstance(start, ast.Call):
        return carries.context.resolve(start.func) in ("set", "frozenset")
    return isinstance(start, ast.Set)


def growth(carries: Carries, name: str) -> Iterator[Refusal]:
    """Concatenating to itself, slices of itself, another axis: the first of them."""
    for update in carries.updates(name):
        call = next(_growing_calls(carries, name, update), None)
        if call is not None:
            tail = (carries.context.resolve(call.func) or "").rsplit(".", 1)[-1]
            yield refuse(
                "FSC405",
                call,
                f"{name} is made by {tail} of itself: its shape may change in each iteration, "
                "and a scan's carry has one shape",
                "Append to a list and stack it after the loop, or write into a buffer of full size.",
            )
            return
        if _of_slices(update, name) or _shrinks(carries, update, name):
            yield refuse(
                "FSC405",
                update,
                f"{name} is made of slices of itself: its shape changes in each iteration, and "
                "a scan's carry has one shape",
                "Keep the Python loop, or write into a buffer of full size.",
            )
            return
        if _adds_axis(update, name):
            yield refuse(
                "FSC405",
                update,
                f"{name} gains an axis in each iteration, and a scan's carry has one shape",
                "Give it its final number of axes before the loop.",
            )
            return


def _growing_calls(carries: Carries, name: str, update: ast.expr) -> Iterator[ast.Call]:
    """Calls in an update whose result is larger than the state that they are given."""
    for node in walk(update):
        if not isinstance(node, ast.Call) or name not in reads(node):
            continue
        path = carries.context.resolve(node.func) or ""
        tail = path.rsplit(".", 1)[-1]
        known = path.startswith(("jax.numpy.", "jax.lax.")) or tail in _JOINING
        if not known or _is_reduced(carries, node, update):
            continue
        changes = tail in _GROWING and not _is_window(node, name)
        if changes or (tail == "einsum" and _einsum_drifts(node, name)):
            yield node


def _is_reduced(carries: Carries, call: ast.Call, update: ast.expr) -> bool:
    """Whether the grown array is not itself the new state (an argument of a call)."""
    parent = carries.context.module.functions.parents.get(call)
    return isinstance(parent, ast.Call | ast.keyword) and call is not update


def seed(
    carries: Carries, name: str, collected: tuple[ast.expr, ...], local: set[str]
) -> Iterator[Refusal]:
    """A trajectory that starts from a number and takes in an array of unknown shape.

    Args:
      collected: what is stacked.
      local: names that the loop binds.
    """
    if not any(isinstance(v, ast.Name) and v.id == name for v in collected):
        return
    for update in carries.updates(name):
        for other in reads(update):
            if other in carries.context.parameters and other not in local:
                yield refuse(
                    "FSC412",
                    update,
                    f"{name} starts as a Python number and takes in {other}, which may be an "
                    "array: a scan promotes the dtype of such a start, never its shape",
                    f"Start from an array of the final shape, such as jnp.zeros_like({other}).",
                )
                return


def _adds_items(update: ast.BinOp) -> bool:
    """`xs + [x]`, of a list."""
    return any(isinstance(side, ast.List) for side in (update.left, update.right))


def _is_window(call: ast.Call, name: str) -> bool:
    """`concatenate([v[1:], new[None]])`: one leaves, one enters."""
    parts = call.args[0] if call.args else None
    if not isinstance(parts, ast.List | ast.Tuple):
        return False
    for part in parts.elts:
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            if part.value.id == name and isinstance(part.slice, ast.Slice):
                if part.slice.lower is not None or part.slice.upper is not None:
                    return True
    return False


def _einsum_drifts(call: ast.Call, name: str) -> bool:
    """Whether the labels of the state in an einsum are not those of the result."""
    if not call.args or not isinstance(call.args[0], ast.Constant):
        return False
    spec = str(call.args[0].value).replace(" ", "")
    if "->" not in spec:
        return False
    inputs, output = spec.split("->")
    labels = inputs.split(",")
    for label, argument in zip(labels, call.args[1:], strict=False):
        if isinstance(argument, ast.Name) and argument.id == name and label != output:
            return True
    return False


def _of_slices(update: ast.expr, name: str) -> bool:
    """`x[1:] - x[:-1]`: arithmetic on nothing but parts of the state."""
    match update:
        case ast.BinOp(left=left, right=right):
            return _of_slices(left, name) and _of_slices(right, name)
        case ast.Subscript(value=ast.Name(id=base), slice=ast.Slice() as part) if base == name:
            return any(b is not None for b in (part.lower, part.upper, part.step))
    return False


def _shrinks(carries: Carries, update: ast.expr, name: str) -> bool:
    """`p * x[1:] + q * x[:-1]`: parts of the state, which nothing makes as large again.

    What meets a part element by element is as large as it, or broadcasts to it.
    """
    cut = {n.value for n in walk(update) if isinstance(n, ast.Subscript)}
    if any(isinstance(n, ast.Name) and n.id == name and n not in cut for n in walk(update)):
        return False

    def parts(node: ast.expr, depth: int = 3) -> bool:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
                return parts(left, depth) or parts(right, depth)
            case ast.UnaryOp(operand=operand):
                return parts(operand, depth)
            case ast.Call(func=function, args=arguments, keywords=[]):
                path = carries.context.resolve(function) or ""
                known = path.startswith("jax.numpy.") and path.rpartition(".")[2] in ELEMENTWISE
                return known and any(parts(a, depth) for a in arguments)
            case ast.Subscript(value=ast.Name(id=base), slice=index) if base == name:
                bounds = index.elts if isinstance(index, ast.Tuple) else [index]
                return all(isinstance(b, ast.Slice) for b in bounds) and any(map(_cuts, bounds))
            case ast.Name(id=found) if found != name and depth:
                values = carries.updates(found)
                return len(values) == 1 and parts(values[0], depth - 1)
        return False

    return parts(update)


def _cuts(part: ast.expr) -> bool:
    """Whether a slice leaves something out, and more than one row, which would broadcast."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return False
    if part.upper is None:
        lower = literal_int(part.lower) if part.lower is not None else None
        return lower not in (None, 0, -1)
    upper = literal_int(part.upper)
    lower = literal_int(part.lower) if part.lower is not None else 0
    return upper is not None and upper < 0 and lower is not None and upper - lower != 1


def _adds_axis(update: ast.expr, name: str) -> bool:
    if not isinstance(update, ast.Subscript) or not isinstance(update.value, ast.Name):
        return False
    index = update.slice.elts if isinstance(update.slice, ast.Tuple) else [update.slice]
    is_new = [isinstance(i, ast.Constant) and i.value is None for i in index]
    return update.value.id == name and any(is_new)
