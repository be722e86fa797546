"""Iterations that do nothing are left out of the range.

`if i % 2: continue` at the head of a body, or an `if` around the whole of it, picks indices.
Where those form a range themselves, the loop runs over that range and has no branch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.analyse.trip_count import add, extent, literal_int
from forscan.model import Refusal
from forscan.reshape.constancy import CONTRARY
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.suites import suite_of
from forscan.syntax.code import Code, expression, indent, one_line


@dataclass(frozen=True)
class _Range:
    start: int
    stop: str
    step: int = 1

    def __str__(self) -> str:
        if self.step != 1:
            return f"range({self.start}, {self.stop}, {self.step})"
        return f"range({self.start}, {self.stop})" if self.start else f"range({self.stop})"


def filter_range(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop over the indices that do something, None where they are no range."""
    whole = _range(loop)
    if whole is None or loop.node.orelse or loop.index in loop.state.live_after:
        return None
    found = _tested(loop)
    if found is None:
        return None
    test, wanted, body = found
    kept = _kept(loop, whole, test, wanted)
    if kept is None:
        return None
    return loop.replaced(f"for {loop.index} in {kept}:\n{indent(body.text, loop.context.unit)}", 0)


def _range(loop: LoopText) -> _Range | None:
    call = loop.node.iter
    if not isinstance(call, ast.Call) or loop.context.resolve(call.func) != "range":
        return None
    if call.keywords or not 1 <= len(call.args) <= 2 or "#" in loop.header:
        return None
    start = literal_int(call.args[0]) if len(call.args) == 2 else 0
    stop = one_line(loop.context.source, call.args[-1])
    return None if start is None else _Range(start, stop)


def _tested(loop: LoopText) -> tuple[ast.expr, bool, Code] | None:
    """A test, what it has to be for an iteration to do something, and what that then does."""
    body = loop.body
    match body.statements:
        case [ast.If(test=test, body=[ast.Continue()], orelse=[]) as first, _, *_]:
            if "#" not in body.segment(first):
                return test, False, body.edited([body.remove(first)])
        case [ast.If(test=test, body=suite, orelse=[])]:
            inner = suite_of(body, suite)
            if len(body.comments()) == len(inner.comments()):
                return test, True, inner
    return None


def _kept(loop: LoopText, whole: _Range, test: ast.expr, wanted: bool) -> _Range | None:
    """The part of a range for whose indices a test is what it has to be."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _kept(loop, whole, operand, not wanted)
        case ast.BinOp(op=ast.Mod()):
            return _periodic(loop, whole, test, 0, not wanted)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if isinstance(left, ast.BinOp) and isinstance(op, ast.Eq | ast.NotEq):
                rest = literal_int(right)
                same = isinstance(op, ast.Eq) == wanted
                return None if rest is None else _periodic(loop, whole, left, rest, same)
            if isinstance(left, ast.Name) and left.id == loop.index:
                return _compared(loop, whole, op, right, wanted)
    return None


def _periodic(
    loop: LoopText, whole: _Range, node: ast.expr, rest: int, same: bool
) -> _Range | None:
    """`i % k == rest`, or with a period of two the contrary of it."""
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Mod(), right=right) if name == loop.index:
            period = literal_int(right)
            if period is None or not 0 <= rest < period or (not same and period != 2):
                return None
            rest = rest if same else 1 - rest
            return _Range(whole.start + (rest - whole.start) % period, whole.stop, period)
    return None


# A bound below or above: what its operator adds to it.
_LOWER: dict[type[ast.cmpop], int] = {ast.GtE: 0, ast.Gt: 1}
_UPPER: dict[type[ast.cmpop], int] = {ast.Lt: 0, ast.LtE: 1}


def _compared(
    loop: LoopText, whole: _Range, op: ast.cmpop, right: ast.expr, wanted: bool
) -> _Range | None:
    """`i >= c`, `i < c`, and `i != c` for the first or last index."""
    if type(op) not in CONTRARY:
        return None
    holds = type(op) if wanted else CONTRARY[type(op)]
    number = literal_int(right)
    if holds in _LOWER and number is not None:
        return _Range(max(whole.start, number + _LOWER[holds]), whole.stop)
    if holds in _UPPER and number is not None and whole.stop.isdigit():
        return _Range(whole.start, str(min(int(whole.stop), number + _UPPER[holds])))
    if holds is ast.NotEq and number == whole.start:
        return _Range(whole.start + 1, whole.stop)
    last = extent(expression(add(whole.stop, -1)), loop.context)
    if holds is ast.NotEq and extent(right, loop.context) == last:
        return _Range(whole.start, add(whole.stop, -1))
    return None
