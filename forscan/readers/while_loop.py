"""Reads a call of `lax.while_loop` that only counts into the neutral loop."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.analyse.kinds import UNKNOWN
from forscan.analyse.trip_count import literal_int
from forscan.find.sites import Site
from forscan.model import Counter, Loop, Reading, Refusal, Refused
from forscan.readers.body import Takes
from forscan.readers.bounds import check_length
from forscan.readers.calls import arguments, check_place, single_result
from forscan.readers.index import check_index, is_wanted, take_counter
from forscan.readers.inlined import own_definition
from forscan.readers.lax_loop import LaxLoop
from forscan.readers.own_values import own_tuple
from forscan.readers.parts import Call, names_read
from forscan.syntax.code import Code, one_line
from forscan.syntax.names import names_in, parameters

_PARAMETERS = ("cond_fun", "body_fun", "init_val")


def read(site: Site, copied: bool = False) -> Reading:
    """The loop of a while_loop whose condition bounds a counter.

    Args:
      site: the call.
      copied: whether the body of a module function is read as if it stood here.

    Raises:
      Refused: a place or a call form that cannot be read, or a condition on something else.
    """
    given = arguments(site, _PARAMETERS, 3)
    check_place(site)
    bound = _bound(site, given["cond_fun"])
    check_length(site, bound.stop)
    init, _ = own_tuple(site, given["init_val"])
    start = init.elts[bound.item] if isinstance(init, ast.Tuple) else None
    if start is None or literal_int(start) is None:
        raise _refusal(site, "the counter does not begin with a literal integer")
    call = Call(
        given["body_fun"],
        given["init_val"],
        single_result(site),
        carry_at=1,
        wishes=("_none", "carry"),
        has_outputs=False,
        sources=names_read([bound.stop]),
        other=lambda _: UNKNOWN,
        copied=copied,
        takes=Takes.CARRY,
    )
    lax = LaxLoop.read(site, call)
    name = _take_counter(lax, bound)
    check_index(lax, name)
    if isinstance(given["cond_fun"], ast.Name):
        condition = own_definition(site, given["cond_fun"])
        lax.gone += [condition] if condition is not None else []
    stop = one_line(site.context.source, bound.stop)
    spelled = name if lax.reads(name) else "_"
    counter = Counter(spelled, bound.stop_text(stop), ast.unparse(start))
    return lax.reading(Loop(Code(""), counter=counter))


@dataclass(frozen=True)
class _Bound:
    """`carry[item] < stop`, or `<=`."""

    item: int
    stop: ast.expr
    inclusive: bool

    def stop_text(self, stop: str) -> str:
        if not self.inclusive:
            return stop
        number = literal_int(self.stop)
        return f"{stop} + 1" if number is None else str(number + 1)


def _refusal(site: Site, why: str) -> Refused:
    return Refused(
        Refusal(
            "FSC207",
            f"{why}, and a `for` needs a number of iterations that is known when it is traced",
            "Bound the iterations and mask those that are too many, or keep the while_loop.",
            site.node.lineno,
            site.node.col_offset + 1,
        )
    )


def _bound(site: Site, condition: ast.expr) -> _Bound:
    """The bound of the counter, from a condition that is nothing else.

    Raises:
      Refused: the condition cannot be seen, or is about something else.
    """
    function = site.context.module.traced.only(condition)
    if not isinstance(function, ast.FunctionDef | ast.Lambda) or len(parameters(function)) != 1:
        raise _refusal(site, "its condition cannot be looked into")
    [state] = parameters(function)
    body = [ast.Return(function.body)] if isinstance(function, ast.Lambda) else function.body
    items: list[str] = []
    match body:
        case [ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Name(id=value)), ast.Return()]:
            if value == state and all(isinstance(e, ast.Name) for e in elts):
                items = [e.id for e in elts if isinstance(e, ast.Name)]
        case [ast.Return()]:
            pass
        case _:
            raise _refusal(site, "its condition is more than one comparison")
    last = body[-1]
    assert isinstance(last, ast.Return)
    found = _comparison(last.value, state, items)
    if found is None:
        raise _refusal(site, "its condition does not compare a counter with a bound")
    item, stop, inclusive = found
    hidden = names_in(stop) & {state, *items}
    outside = isinstance(function, ast.Lambda) or _is_local(site, function)
    if hidden or (names_in(stop) and not outside):
        raise _refusal(site, "the bound in its condition may change")
    return _Bound(item, stop, inclusive)


def _comparison(
    node: ast.expr | None, state: str, items: list[str]
) -> tuple[int, ast.expr, bool] | None:
    """The item, the bound and whether it is reached, of `i < n`, `n > i`, `i <= n`, `n >= i`."""
    match node:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() as op], comparators=[right]):
            counter, stop, inclusive = left, right, isinstance(op, ast.LtE)
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() as op], comparators=[right]):
            counter, stop, inclusive = right, left, isinstance(op, ast.GtE)
        case _:
            return None
    match counter:
        case ast.Name(id=name) if items.count(name) == 1:
            return items.index(name), stop, inclusive
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as index)):
            if name == state and index >= 0:
                return index, stop, inclusive
    return None


def _is_local(site: Site, function: ast.FunctionDef) -> bool:
    """Whether a function stands where its names mean what they mean at the loop."""
    return site.context.module.functions.enclosing(function) is site.context.node


def _take_counter(lax: LaxLoop, bound: _Bound) -> str:
    """Takes the counter out of the carry; its name.

    Raises:
      Refused: the body does more with it than adding one.
    """
    site = lax.site
    if bound.item >= len(lax.carries) or len(lax.carries) < 2:
        raise _refusal(site, "the body does not take its state apart")
    carry = lax.carries[bound.item]
    if is_wanted(lax, carry):
        name = carry.target
        raise _refusal(site, f"the counter {name} is read behind the loop, where it is an array")
    if not take_counter(lax, carry):
        raise _refusal(site, f"{carry.target} is not counted up by one in each iteration")
    return carry.target
