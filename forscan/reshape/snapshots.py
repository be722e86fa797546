"""Appends in some iterations only: every fifth state, or those behind a burn-in.

A scan gives back one value for each iteration. Where the iterations that append are a part
`[a::k]` of all, the list takes that part of what every iteration appends: the value, where it
does no harm to compute it, else zeros unless it is wanted. A period that divides the trip count
becomes a loop of its own, so that nothing is kept that nobody wants.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.items import is_array_expression
from forscan.analyse.lists import appended, block_of, given_value
from forscan.analyse.trip_count import extent, literal_int
from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.suites import suite_of, whole_end
from forscan.syntax.code import Code, indent, one_line
from forscan.syntax.names import binds, names_in, reads
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk, walk_all

# What costs nothing to compute where it is not wanted, and has no bad derivative there.
_TAME = (
    ast.Name, ast.Attribute, ast.Tuple, ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.UnaryOp, ast.USub, ast.Load, ast.Subscript, ast.MatMult, ast.Pow,
    ast.keyword,
)  # fmt: skip
_TAME_FUNCTIONS = {
    f"jax.numpy.{name}"
    for name in ("abs", "cos", "dot", "max", "mean", "min", "sin", "square", "sum", "tanh", "vdot")
}
_TAME_METHODS = {"copy", "max", "mean", "min", "sum"}


@dataclass(frozen=True)
class _Part:
    """The indices `first, first + period, …` of a range from 0 on, as Python.

    Attributes:
      numbers: both, where the file has numbers for them.
    """

    first: str
    period: str
    numbers: tuple[int, int] | None = None

    @property
    def slice(self) -> str:
        first = "" if self.first == "0" else self.first
        if self.period == "1":
            return f"{first}:"
        spaced = " " if not (first + self.period).replace("_", "").isalnum() and first else ""
        return f"{first}{spaced}::{spaced}{self.period}"


def snapshots(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop that appends in every iteration, or a loop of loops."""
    stop = _stop(loop)
    if stop is None or loop.node.orelse:
        return None
    found = _branch(loop)
    if found is None:
        return None
    branch, names = found
    part = _part(loop, branch.test)
    if part is None:
        return None
    blocks = _in_blocks(loop, branch, part, stop)
    return blocks or _thinned(loop, branch, names, part) or _chosen(loop, branch, names, part)


def _stop(loop: LoopText) -> ast.expr | None:
    """The bound of `range(stop)` or `range(0, stop)`."""
    call = loop.node.iter
    if not isinstance(call, ast.Call) or loop.context.resolve(call.func) != "range":
        return None
    if call.keywords or not isinstance(loop.node.target, ast.Name) or "#" in loop.header:
        return None
    match call.args:
        case [stop]:
            return stop
        case [start, stop] if literal_int(start) == 0:
            return stop
    return None


def _branch(loop: LoopText) -> tuple[ast.If, list[str]] | None:
    """The only branch that asks for the index, which ends with nothing but appends; the lists."""
    branches = [
        s for s in loop.body.statements if isinstance(s, ast.If) and loop.index in reads(s.test)
    ]
    if len(branches) != 1 or branches[0].orelse:
        return None
    steps = [appended(s) for s in _parts_of(branches[0])[1]]
    names = [step[0] for step in steps if step is not None]
    if (
        not names
        or len(names) < len(steps)
        or len(set(names)) < len(names)
        or not all(_is_ours(loop, name) for name in names)
    ):
        return None
    return branches[0], names


def _parts_of(branch: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements before the first append, and those from there on."""
    first = next((n for n, s in enumerate(branch.body) if appended(s) is not None), 0)
    return branch.body[:first], branch.body[first:]


def _values(appends: list[ast.stmt]) -> list[ast.expr]:
    return [step[1] for s in appends if (step := appended(s)) is not None]


def _is_ours(loop: LoopText, name: str) -> bool:
    """Whether a name is an empty list when the loop begins, that the loop has no other use for."""
    block = block_of(loop.node, loop.context)
    mentions = [s for s in block[: block.index(loop.node)] if name in names_in(s)]
    if not mentions or not isinstance(mentions[-1], ast.Assign):
        return False
    made = given_value(mentions[-1], name)
    inside = [n for n in walk_all(loop.node.body) if isinstance(n, ast.Name) and n.id == name]
    return isinstance(made, ast.List) and not made.elts and len(inside) == 1


def _part(loop: LoopText, test: ast.expr) -> _Part | None:
    """The part of the range for whose indices a test holds."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.BinOp() as rest):
            return _periodic(loop, rest, ast.Constant(0))
        case ast.Compare(left=ast.BinOp() as rest, ops=[ast.Eq()], comparators=[wanted]):
            return _periodic(loop, rest, wanted)
        case ast.Compare(left=ast.Name(id=name), ops=[ast.GtE() | ast.Gt() as op]):
            return _late(loop, name, op, test.comparators[0])
        case ast.BoolOp(op=ast.And(), values=[ast.Compare() as late, ast.Compare() as periodic]):
            return _late_and_periodic(loop, late, periodic)
    return None


def _periodic(loop: LoopText, rest: ast.BinOp, wanted: ast.expr) -> _Part | None:
    """`(i + c) % k == r` for a known k: with a number for it, or `i % k == 0` and the like."""
    if not isinstance(rest.op, ast.Mod) or not _is_positive(loop, rest.right):
        return None
    place = extent(rest.left, None)
    if place.base != loop.index:
        return None
    period, number, offset = (
        one_line(loop.body, rest.right),
        literal_int(rest.right),
        literal_int(wanted),
    )
    if number is not None and offset is not None and 0 <= offset < number:
        first = (offset - place.constant) % number
        return _Part(str(first), period, (first, number))
    last = place.constant == 0 and ast.unparse(wanted) == f"{period} - 1"
    if last or (place.constant == 1 and offset == 0):
        return _Part(f"{period} - 1", period)
    return _Part("0", period) if place.constant == 0 and offset == 0 else None


def _late(loop: LoopText, name: str, op: ast.cmpop, bound: ast.expr) -> _Part | None:
    """`i >= b` for a known b."""
    known = extent(bound, loop.context).number
    if name != loop.index or known is None or known < 0:
        return None
    text = one_line(loop.body, bound)
    if isinstance(op, ast.Gt):
        number = literal_int(bound)
        text = str(number + 1) if number is not None else f"{text} + 1"
    return _Part(text, "1")


def _late_and_periodic(loop: LoopText, late: ast.Compare, periodic: ast.Compare) -> _Part | None:
    """`i >= b and (i - b) % k == 0`."""
    match late, periodic:
        case (
            ast.Compare(left=ast.Name(id=name), ops=[ast.GtE() as op], comparators=[bound]),
            ast.Compare(
                left=ast.BinOp(
                    left=ast.BinOp(left=ast.Name(id=counted), op=ast.Sub(), right=start),
                    op=ast.Mod(),
                    right=period,
                ),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=0)],
            ),
        ) if counted == loop.index and ast.dump(start) == ast.dump(bound):
            part = _late(loop, name, op, bound)
            if part is not None and _is_positive(loop, period):
                return _Part(part.first, one_line(loop.body, period))
    return None


def _is_positive(loop: LoopText, period: ast.expr) -> bool:
    known = extent(period, loop.context).number
    plain = isinstance(period, ast.Name | ast.Constant | ast.Attribute)
    return plain and known is not None and known > 0


def _in_blocks(loop: LoopText, branch: ast.If, part: _Part, stop: ast.expr) -> Reshaped | None:
    """A loop over blocks of iterations, each of which ends or begins with an append."""
    trips, body = literal_int(stop), loop.body
    if trips is None or part.numbers is None or loop.index in loop.state.live_after:
        return None
    first, period = part.numbers
    if _parts_of(branch)[0]:
        return None
    at_head = branch is body.statements[0] and first == 0
    at_end = branch is body.statements[-1] and first == period - 1
    if trips % period or trips == period or not (at_head or at_end) or len(body.comments()):
        return None
    appends = suite_of(body, branch.body).text
    others = body.edited([body.remove(branch)])
    if loop.index in reads(others.statements) or loop.index in names_in(branch.body[0]):
        return None
    if not others.statements or any(
        isinstance(n, ast.Break | ast.Continue) for n in walk_all(body.statements)
    ):
        return None
    if any(loop.index in names_in(s) for s in branch.body):
        return None
    unit = loop.context.unit
    header = f"for _ in range({period}):"
    inner = f"{header}\n{indent(others.text.strip(chr(10)), unit)}"
    both = [appends, inner] if at_head else [inner, appends]
    text = f"for _ in range({trips // period}):\n{indent(chr(10).join(both), unit)}"
    return replace(loop.replaced(text, 0), inner=header)


def _thinned(loop: LoopText, branch: ast.If, names: list[str], part: _Part) -> Reshaped | None:
    """The loop that appends always, and the part of each list that is wanted."""
    given, appends = _parts_of(branch)
    if given or not all(_is_tame(loop, n) for n in walk_all(_values(appends))):
        return None
    body: Code = loop.body
    inner = suite_of(body, branch.body)
    return _with_parts(loop, branch, inner.text.strip("\n"), names, part)


def _chosen(loop: LoopText, branch: ast.If, names: list[str], part: _Part) -> Reshaped | None:
    """The loop that appends what is computed where it is wanted, and zeros elsewhere."""
    given, appends = _parts_of(branch)
    kept = {*loop.state.carried, *loop.state.last, *loop.state.live_after}
    behind = loop.body.statements[loop.body.statements.index(branch) + 1 :]
    if set(binds(given)) & (kept | set(reads(behind))):
        return None  # it does more than to append
    if not all(map(_names_only, given)) or "#" in _source(loop.body, branch):
        return None
    if any(isinstance(n, ast.NamedExpr) for n in walk(branch)):
        return None  # a function would keep the name to itself
    if (given and len(names) > 1) or loop.index in reads(branch.body):
        return None  # each list would need what is given; the index is a number no more
    if not all(is_array_expression(v, branch.body, loop.context) for v in _values(appends)):
        return None  # a part of a tree of stacks is cut out leaf by leaf
    lines: list[str] = []
    for statement in appends:
        if lines or branch is not loop.body.statements[0]:
            lines.append("")
        lines += _conditional(loop, branch.test, given, statement)
    return _with_parts(loop, branch, "\n".join(lines), names, part)


def _names_only(statement: ast.stmt) -> bool:
    """Whether a statement gives values to names, and does nothing else."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [None]
    parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return all(isinstance(part, ast.Name) for part in parts)


def _conditional(
    loop: LoopText, test: ast.expr, given: list[ast.stmt], append: ast.stmt
) -> list[str]:
    """The append of what a function computes where a test holds, and of zeros elsewhere."""
    step = appended(append)
    assert step is not None
    name, value = step
    spelling, unit = loop.context.module.spelling(loop.node.body[0]), loop.context.unit
    jax, jnp, body = spelling.jax, spelling.jnp, loop.body
    logged = loop.context.fresh.name("logged", f"{name}_here")
    return [
        f"def {logged}():",
        *(indent(body.segment(s), unit) for s in given),
        indent(f"return {one_line(body, value)}", unit),
        "",
        f"{name}.append({spelling.lax}.cond({one_line(body, test)}, {logged}, "
        f"lambda: {jnp}.zeros_like({jax}.eval_shape({logged}))))",
    ]


def _source(body: Code, branch: ast.If) -> str:
    return body.text[body.start(branch) : whole_end(body, branch)]


def _with_parts(
    loop: LoopText, branch: ast.If, text: str, names: list[str], part: _Part
) -> Reshaped:
    """The loop with a text in place of the branch, and behind it the parts that are wanted."""
    edit = Edit(loop.body.start(branch), whole_end(loop.body, branch), text)
    body = loop.body.edited([edit]).text
    after = "".join(f"\n{name} = {name}[{part.slice}]" for name in names)
    return loop.replaced(f"{loop.header}\n{indent(body, loop.context.unit)}{after}", 0)


def _is_tame(loop: LoopText, node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow(), right=exponent):
            return (literal_int(exponent) or 0) > 0
        case ast.Call(func=function) if loop.context.resolve(function) in _TAME_FUNCTIONS:
            return True
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return method in _TAME_METHODS and loop.context.resolve(value) is None
    return isinstance(node, _TAME)
