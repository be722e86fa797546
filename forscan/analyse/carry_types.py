"""Whether a carry keeps its shape and dtype, as far as the source shows.

A scan compares the types of its carry before and after the body and raises when they
differ, so a mistake here is loud. What the source shows plainly is refused with its
reason instead of being left to fail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.carries import GIVES_INTEGERS, Carries, is_number, names_integers
from forscan.analyse.carry_numbers import feeding_each_other, rounded, weak_visitor
from forscan.analyse.carry_shapes import growth, no_array, no_pytree, seed
from forscan.analyse.mixed import mixed_precision
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import in_body

_KEEPS_INT = {
    "where", "maximum", "minimum", "abs", "clip", "roll", "mod", "bitwise_and", "bitwise_or",
    "bitwise_xor", "select", "sort", "cumsum", "astype", "sum", "max", "min",
    "dynamic_update_slice", "dynamic_update_index_in_dim",
}  # fmt: skip


def unsteady(carries: Carries, collected: tuple[ast.expr, ...] = ()) -> Iterator[Refusal]:
    """Why names cannot be carried as they are.

    Args:
      collected: what the loop appends to lists.
    """
    for name in carries.carried:
        if not carries.context.keeps_type(name):
            yield from _of(carries, name, collected)


def promoted(carries: Carries, name: str) -> bool:
    """Whether a scan may make something else of the number that a name starts with."""
    if carries.context.module.names_half_precision:
        return carries.may_start_weakly(name)
    start = carries.start(name)
    if start is None or not is_number(start) or isinstance(ast.literal_eval(start), float):
        return False
    return not all(_stays_integer(carries, u, name) for u in carries.updates(name))


def _of(carries: Carries, name: str, collected: tuple[ast.expr, ...]) -> Iterator[Refusal]:
    if carries.context.settles(name) or carries.context.changes(name):
        yield _changed(carries, name)
        return
    start = carries.start(name)
    if start is not None:
        yield from no_array(carries, name, start)
        yield from no_pytree(carries, name, start)
    yield from growth(carries, name)
    yield from weak_visitor(carries, name)
    yield from mixed_precision(carries, name)
    if start is None:
        return
    if isinstance(start, ast.Constant) and start.value is None:
        yield refuse(
            "FSC404",
            carries.loop,
            f"{name} is None before the loop: the carry would change from a pytree without "
            "leaves to an array",
            "Take the first iteration out of the loop, or start from an array.",
        )
    elif carries.is_integer(start):
        yield from _integer(carries, name, start)
    elif isinstance(start, ast.Constant) and isinstance(start.value, bool):
        yield from _boolean(carries, name)
    elif is_number(start):
        yield from rounded(carries, name, start)
        yield from feeding_each_other(carries, name)
        local = {*in_body(carries.loop).binds, *carries.targets}
        yield from seed(carries, name, collected, local)
    elif isinstance(start, ast.Tuple):
        yield from rounded(carries, name, start)


def _changed(carries: Carries, name: str) -> Refusal:
    """Calls have shown that the state has another type after an iteration."""
    if carries.context.changes(name):
        return refuse(
            "FSC405",
            carries.loop,
            f"the shape or dtype of {name} changes from one iteration to the next, and a "
            "scan's carry has one type",
            "Write into a buffer of full size, or collect the values in a list.",
        )
    return refuse(
        "FSC406",
        carries.loop,
        f"{name} has another type after the first iteration than before it: a scan's carry "
        "has one type",
        "Start from the type that the state has after one iteration.",
    )


def _boolean(carries: Carries, name: str) -> Iterator[Refusal]:
    """Python False starts as a bool array: arithmetic turns it into a number."""
    for update in carries.updates(name):
        if isinstance(update, ast.BinOp) and isinstance(
            update.op, ast.Add | ast.Sub | ast.Mult | ast.Div
        ):
            yield refuse(
                "FSC406",
                update,
                f"{name} starts as a bool and becomes a number",
                "Start from 0 instead.",
            )
            return


def _integer(carries: Carries, name: str, start: ast.expr) -> Iterator[Refusal]:
    for update in carries.updates(name):
        if not _stays_integer(carries, update, name):
            yield refuse(
                "FSC406",
                update,
                f"{name} starts as integers or booleans ({ast.unparse(start)}) and may become "
                "floating point: a scan promotes only weakly typed starts",
                "Start from the dtype that the state has after one iteration.",
            )
            return


def _stays_integer(carries: Carries, node: ast.expr, name: str) -> bool:  # noqa: C901
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.Name(id=other):
            if other == name or other in carries.carried:
                return True
            if other in carries.targets and _counts(carries):
                return True
            found = carries.updates(other)
            return bool(found) and all(_stays_integer(carries, v, name) for v in found)
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()):
            return True  # of floating-point numbers there are none
        case ast.BinOp(op=op, left=left, right=right):
            sides = left, right
            return not isinstance(op, ast.Div) and all(
                _stays_integer(carries, side, name) for side in sides
            )
        case ast.UnaryOp(operand=operand):
            return _stays_integer(carries, operand, name)
        case ast.Compare():
            return True
        case ast.Subscript(value=base):
            return _stays_integer(carries, base, name)
        case ast.Call():
            return _integer_call(carries, node, name)
    return False


def _counts(carries: Carries) -> bool:
    iterable = carries.loop.iter
    return isinstance(iterable, ast.Call) and carries.context.resolve(iterable.func) in (
        "range",
        "enumerate",
        "reversed",
    )


def _integer_call(carries: Carries, node: ast.Call, name: str) -> bool:
    if isinstance(node.func, ast.Attribute):
        base = node.func.value  # buffer.at[i].set(v) keeps the buffer's dtype
        if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Attribute):
            if base.value.attr == "at":
                return _stays_integer(carries, base.value.value, name)
        if node.func.attr == "astype" and node.args:
            shown = ast.unparse(node.args[0])
            return shown.endswith(".dtype") or shown == "dtype" or names_integers(node.args[0])
    tail = (carries.context.resolve(node.func) or "").rsplit(".", 1)[-1]
    if tail in ("where", "select"):
        return all(_stays_integer(carries, a, name) for a in node.args[1:])
    if tail in GIVES_INTEGERS or names_integers(node.func):
        return True
    return tail in _KEEPS_INT and all(_stays_integer(carries, a, name) for a in node.args[:1])
