"""Whether a carry keeps its shape and dtype, as far as the source shows.

A scan compares the types of its carry before and after the body and raises when they
differ, so a mistake here is loud. What the source shows plainly is refused with its
reason instead of being left to fail.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from forscan.analyse.arrays import assigned_values
from forscan.analyse.effects import refuse
from forscan.find.context import FunctionContext
from forscan.model import Refusal
from forscan.syntax.names import names_in, reads
from forscan.syntax.walk import walk, walk_all

_GROWING = {
    "concatenate",
    "append",
    "hstack",
    "vstack",
    "kron",
    "tile",
    "repeat",
    "expand_dims",
    "pad",
    "outer",
    "insert",
    "column_stack",
    "block",
    "resize",
    "atleast_2d",
    "convolve",
    "correlate",
    "diff",
    "trim_zeros",
}
_INT_TYPES = {
    "int",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool_",
}
_MAKERS = {
    "zeros",
    "ones",
    "full",
    "empty",
    "zeros_like",
    "ones_like",
    "full_like",
    "array",
    "asarray",
}
# Of Python numbers these are weakly typed.
_OF_NUMBERS = {
    "abs", "cos", "cosh", "exp", "log", "log1p", "maximum", "minimum", "sin", "sinh", "sqrt",
    "square", "tan", "tanh",
}  # fmt: skip
_KEEPS_INT = {
    "where",
    "maximum",
    "minimum",
    "abs",
    "clip",
    "roll",
    "mod",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "select",
    "sort",
    "cumsum",
    "astype",
}


class CarryTypes:
    """Checks the carries of one loop."""

    def __init__(
        self,
        loop: ast.For,
        carried: tuple[str, ...],
        collected: tuple[ast.expr, ...],
        targets: tuple[str, ...],
        context: FunctionContext,
    ) -> None:
        self.loop = loop
        self.carried = carried
        self.collected = collected
        self.targets = set(targets)
        self.context = context

    def reasons(self) -> Iterator[Refusal]:
        starts = {name: self.start(name) for name in self.carried}
        for name in self.carried:
            start = starts[name]
            if self.context.keeps_type(name):
                continue
            if self.context.settles(name) or self.context.changes(name):
                yield self.changed(name)
                continue
            if start is not None:
                yield from self.no_array(name, start)
            yield from self.growth(name)
            yield from self.weak_visitor(name, starts)
            if start is None:
                continue
            if isinstance(start, ast.Constant) and start.value is None:
                yield refuse(
                    "FSC404",
                    self.loop,
                    f"{name} is None before the loop: the carry would change from "
                    "a pytree without leaves to an array",
                    "Take the first iteration out of the loop, or start from an array.",
                )
            elif self.is_integer(start):
                yield from self.integer(name, start)
            elif isinstance(start, ast.Constant) and isinstance(start.value, bool):
                yield from self.boolean(name)
            elif self.is_number(start):
                yield from self.number(name, starts)
            elif isinstance(start, ast.Tuple) and any(map(self.is_number, start.elts)):
                numbers = [e for e in start.elts if self.is_number(e)]
                yield from self.rounded(name, numbers, set())

    def changed(self, name: str) -> Refusal:
        """Calls have shown that the state has another type after an iteration."""
        if self.context.changes(name):
            return refuse(
                "FSC405",
                self.loop,
                f"the shape or dtype of {name} changes from one iteration to the next, and a "
                "scan's carry has one type",
                "Write into a buffer of full size, or collect the values in a list.",
            )
        return refuse(
            "FSC406",
            self.loop,
            f"{name} has another type after the first iteration than before it: a scan's carry "
            "has one type",
            "Start from the type that the state has after one iteration.",
        )

    # What a carry starts from, and what the body makes of it.

    def start(self, name: str) -> ast.expr | None:
        """The value that the name surely has before the loop, if it is plain."""
        before = self.starts(name)
        if name in self.context.parameters and not before:
            return None
        value = before[-1] if before else self.from_tuple(name)
        return value

    def starts(self, name: str) -> list[ast.expr]:
        """All values that plain assignments before the loop give to a name."""
        inside = set(walk_all(self.loop.body))
        values = [v for v in assigned_values(name, self.context) if v not in inside]
        return [v for v in values if v.lineno <= self.loop.lineno]

    def from_tuple(self, name: str) -> ast.expr | None:
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
        """The expressions that the body gives to a name."""
        found: list[ast.expr] = []
        for node in walk_all(self.loop.body):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    found += _paired(target, node.value, name)
            elif isinstance(node, ast.AugAssign):
                if isinstance(node.target, ast.Name) and node.target.id == name:
                    found.append(
                        ast.copy_location(
                            ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value),
                            node,
                        )
                    )
            elif isinstance(node, ast.NamedExpr) and node.target.id == name:
                found.append(node.value)
        return found

    def is_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.UnaryOp):
            return self.is_number(node.operand)
        return isinstance(node, ast.Constant) and isinstance(node.value, int | float)

    def is_integer(self, node: ast.expr) -> bool:
        """Whether an array start is strongly typed and no float."""
        if not isinstance(node, ast.Call):
            return False
        path = self.context.resolve(node.func) or ""
        if not path.startswith(("jax.numpy.", "numpy.")):
            return False
        tail = path.rsplit(".", 1)[-1]
        if tail in _INT_TYPES or tail == "arange":
            return tail != "arange" or all(
                isinstance(a, ast.Constant) and isinstance(a.value, int) for a in node.args
            )
        if tail not in _MAKERS:
            return False
        candidates = [
            *node.args[1:],
            *(k.value for k in node.keywords if k.arg == "dtype"),
        ]
        for candidate in candidates:
            words = ast.unparse(candidate).rsplit(".", 1)[-1].strip("'\"")
            if words in _INT_TYPES:
                return True
        return False

    # The checks.

    def no_array(self, name: str, start: ast.expr) -> Iterator[Refusal]:
        """State that Python builds: a tuple that grows, a function that is wrapped."""
        made = isinstance(start, ast.Tuple | ast.List | ast.JoinedStr)
        grows = any(
            isinstance(u, ast.BinOp) and name in names_in(u) and (made or _adds_items(u))
            for u in self.updates(name)
        )
        function = self.is_function(start)
        if function or grows:
            what = "a function" if function else "no array, and grows"
            yield refuse(
                "FSC405",
                self.loop,
                f"{name} is {what}: a scan's carry is made of arrays of one type",
                "Keep the Python loop.",
            )

    def is_function(self, start: ast.expr) -> bool:
        if isinstance(start, ast.Name):
            return next(self.context.module.traced.candidates(start), None) is not None
        return isinstance(start, ast.Lambda)

    def growth(self, name: str) -> Iterator[Refusal]:
        """Concatenating to itself, or an einsum whose labels do not come back."""
        for update in self.updates(name):
            for node in walk(update):
                if not isinstance(node, ast.Call) or name not in reads(node):
                    continue
                path = self.context.resolve(node.func) or ""
                tail = path.rsplit(".", 1)[-1]
                if not path.startswith(("jax.numpy.", "jax.lax.")) or self.reduced(node, update):
                    continue
                changes = tail in _GROWING and not _is_window(node, name)
                if changes or (tail == "einsum" and _einsum_drifts(node, name)):
                    yield refuse(
                        "FSC405",
                        node,
                        f"{name} is made by {tail} of itself: its shape may change in each "
                        "iteration, and a scan's carry has one shape",
                        "Append to a list and stack it after the loop, or write into a buffer of full size.",
                    )
                    return
            if _of_slices(update, name):
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

    def reduced(self, call: ast.Call, update: ast.expr) -> bool:
        """Whether the grown array is not itself the new state (an argument of a call)."""
        parent = self.context.module.functions.parents.get(call)
        return isinstance(parent, ast.Call | ast.keyword) and call is not update

    def integer(self, name: str, start: ast.expr) -> Iterator[Refusal]:
        for update in self.updates(name):
            if not self.stays_integer(update, name):
                yield refuse(
                    "FSC406",
                    update,
                    f"{name} starts as integers or booleans ({ast.unparse(start)}) and may become "
                    "floating point: a scan promotes only weakly typed starts",
                    "Start from the dtype that the state has after one iteration.",
                )
                return

    def stays_integer(self, node: ast.expr, name: str) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int)
            case ast.Name(id=other):
                if other == name or other in self.carried:
                    return True
                if other in self.targets and self.counts(other):
                    return True
                found = self.updates(other)
                return bool(found) and all(self.stays_integer(v, name) for v in found)
            case ast.BinOp(op=op, left=left, right=right):
                return not isinstance(op, ast.Div) and all(
                    self.stays_integer(side, name) for side in (left, right)
                )
            case ast.UnaryOp(operand=operand):
                return self.stays_integer(operand, name)
            case ast.Compare():
                return True
            case ast.Subscript(value=base):
                return self.stays_integer(base, name)
            case ast.Call():
                return self.integer_call(node, name)
        return False

    def counts(self, name: str) -> bool:
        iterable = self.loop.iter
        return isinstance(iterable, ast.Call) and self.context.resolve(iterable.func) in (
            "range",
            "enumerate",
            "reversed",
        )

    def integer_call(self, node: ast.Call, name: str) -> bool:
        if isinstance(node.func, ast.Attribute):
            base = node.func.value  # buffer.at[i].set(v) keeps the buffer's dtype
            if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Attribute):
                if base.value.attr == "at":
                    return self.stays_integer(base.value.value, name)
            if node.func.attr == "astype" and node.args:
                return ast.unparse(node.args[0]).rsplit(".", 1)[-1] in {
                    *_INT_TYPES,
                    "dtype",
                }
        path = self.context.resolve(node.func) or ""
        tail = path.rsplit(".", 1)[-1]
        if tail in ("where", "select"):
            return all(self.stays_integer(a, name) for a in node.args[1:])
        if tail in (
            "argmax",
            "argmin",
            "argsort",
            "searchsorted",
            "logical_or",
            "logical_and",
            "logical_not",
            "isnan",
            "isfinite",
            "any",
            "all",
            "count_nonzero",
        ):
            return True
        if tail in _INT_TYPES:
            return True
        if tail in _KEEPS_INT | {
            "sum",
            "max",
            "min",
            "dynamic_update_slice",
            "dynamic_update_index_in_dim",
        }:
            return all(self.stays_integer(a, name) for a in node.args[:1])
        return False

    def boolean(self, name: str) -> Iterator[Refusal]:
        """Python False starts as a bool array: arithmetic turns it into a number."""
        for update in self.updates(name):
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

    def number(self, name: str, starts: dict[str, ast.expr | None]) -> Iterator[Refusal]:
        literal = {n for n, s in starts.items() if s is not None and self.is_number(s)}
        start = starts[name]
        assert start is not None
        yield from self.rounded(name, [start], literal)
        for update in self.updates(name):
            names = set(reads(update))
            if isinstance(update, ast.Name):
                continue  # a shift: right in float32, a loud type error in half precision
            others = (names & literal) - {name}
            strong = names - literal
            if others and not strong and not self.written_first(others, update):
                fed = [o for o in others if any(set(reads(u)) - literal for u in self.updates(o))]
                if fed:
                    yield refuse(
                        "FSC413",
                        update,
                        f"{name} and {', '.join(sorted(fed))} start as Python numbers and feed each "
                        "other: a scan promotes such starts in one pass only",
                        "Give the starts the dtype of the arrays: jnp.zeros((), x.dtype).",
                    )
                    return
        yield from self.seed(name)

    def rounded(self, name: str, numbers: list[ast.expr], literal: set[str]) -> Iterator[Refusal]:
        """A start that a scan may round, and that more than the update sees.

        Promoted to bfloat16, `0.1` is another number; `1.0` is not. Where the first iteration
        makes nothing of it but its next value, that is of the same type in Python.
        """
        start = next((n for n in numbers if not _is_short(n)), None)
        first = next((s for s in self.loop.body if name in names_in(s)), None)
        if start is None or first is None:
            return
        if isinstance(first, ast.Assign | ast.AugAssign) and name in _bound(first):
            return
        for update in self.updates(name):
            if any(n not in literal and not self.is_module(n) for n in reads(update)):
                yield refuse(
                    "FSC406",
                    update,
                    f"{name} starts from the number {ast.unparse(start)}, which a scan rounds where "
                    f"{name} becomes an array of half precision, also for what else is made of it",
                    f"Start {name} from an array: jnp.full((), {ast.unparse(start)}, x.dtype).",
                )
                return

    def weak_visitor(self, name: str, starts: dict[str, ast.expr | None]) -> Iterator[Refusal]:
        """An array that is handed a Python number, as in a swap: its type alternates."""
        weak = {n for n, start in starts.items() if start is not None and self.is_weak(start)}
        if name in weak:
            return
        for update in self.updates(name):
            given = {n for n in reads(update) if not self.is_module(n)}
            handed = isinstance(update, ast.Name) or self.feeds(name, given)
            if given and given <= weak and handed:
                visitor = min(given)
                yield refuse(
                    "FSC413",
                    update,
                    f"{name} is handed {visitor}, which starts as a Python number: the type of "
                    f"{name} changes from one iteration to the next",
                    f"Start {visitor} from an array: jnp.zeros((), x.dtype).",
                )
                return

    def is_weak(self, start: ast.expr) -> bool:
        """Whether a start is a Python number, or made of nothing else: `jnp.tanh(0.7)`."""
        match start:
            case ast.Call(func=function, args=arguments, keywords=[]) if arguments:
                path = self.context.resolve(function) or ""
                plain = path.startswith("jax.numpy.") and path.rsplit(".", 1)[-1] in _OF_NUMBERS
                return plain and all(map(self.is_weak, arguments))
            case ast.BinOp(left=left, right=right):
                return self.is_weak(left) and self.is_weak(right)
        return self.is_number(start)

    def is_module(self, name: str) -> bool:
        return (self.context.resolve(ast.Name(name, ast.Load())) or "").startswith("jax")

    def feeds(self, name: str, others: set[str]) -> bool:
        """Whether one of the names is updated with this one."""
        return any(name in reads(u) for other in others for u in self.updates(other))

    def written_first(self, names: set[str], update: ast.expr) -> bool:
        """Whether the body gives the names a new value before the update reads them."""
        first = {n: min((u.lineno for u in self.updates(n)), default=update.lineno) for n in names}
        return all(line < update.lineno for line in first.values())

    def seed(self, name: str) -> Iterator[Refusal]:
        """A trajectory that starts from a number and takes in an array of unknown shape."""
        if not any(isinstance(v, ast.Name) and v.id == name for v in self.collected):
            return
        local = {n for node in self.loop.body for n in _bound(node)} | self.targets
        for update in self.updates(name):
            for other in reads(update):
                if other in self.context.parameters and other not in local:
                    yield refuse(
                        "FSC412",
                        update,
                        f"{name} starts as a Python number and takes in {other}, which may be an "
                        "array: a scan promotes the dtype of such a start, never its shape",
                        f"Start from an array of the final shape, such as jnp.zeros_like({other}).",
                    )
                    return


def _is_short(number: ast.expr) -> bool:
    """Whether a number is the same in half precision: bfloat16 has eight digits."""
    value = ast.literal_eval(number)
    return isinstance(value, complex) or (math.frexp(value)[0] * 256) % 1 == 0


def _adds_items(update: ast.BinOp) -> bool:
    """`xs + [x]`, of a list."""
    return any(isinstance(side, ast.List) for side in (update.left, update.right))


def _bound(node: ast.stmt) -> list[str]:
    return [n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


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


def _adds_axis(update: ast.expr, name: str) -> bool:
    if not isinstance(update, ast.Subscript) or not isinstance(update.value, ast.Name):
        return False
    index = update.slice.elts if isinstance(update.slice, ast.Tuple) else [update.slice]
    is_new = [isinstance(i, ast.Constant) and i.value is None for i in index]
    return update.value.id == name and any(is_new)
