"""Numbers that Python computes from the index alone are computed before the loop.

`2 ** -i`, `np.sqrt(i + 1)` and large products mean something else for an int32
tracer. The same Python expression for all iterations, stacked, keeps its meaning:
jnp.stack leaves Python numbers weakly typed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from forscan.analyse.number_tables import is_mixed
from forscan.analyse.numbers import Numbers
from forscan.analyse.trip_count import definition
from forscan.analyse.use import Kind, Use
from forscan.model import Element, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.passes.mirror import mirror
from forscan.refusal import refuse
from forscan.syntax.code import Code, one_line
from forscan.syntax.filled import filled
from forscan.syntax.names import (
    activity,
    bindings,
    binds,
    inner_functions,
    parameters,
    reads,
    target_names,
)
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk, walk_all

_SIMPLE = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Attribute | ast.Name | ast.Constant


def hoist(draft: Draft) -> Draft:
    """Replaces the hazardous expressions of the index by elements of a table."""
    hazards = [_with_numbers(draft, u) for u in draft.index_uses if u.kind is Kind.HAZARD]
    values: dict[str, list[Use]] = {}
    for use in hazards:
        values.setdefault(_checked(draft, use), []).append(use)
    # First what is made of names of the body: some of them nothing else may read.
    for text in sorted(values, key=lambda text: -len(_parts(draft, values[text]))):
        uses = values[text]
        draft = _without_unread(_one(draft, text, uses), _parts(draft, uses))
    return draft


def _parts(draft: Draft, uses: list[Use]) -> set[str]:
    """The names of the body that expressions are freed of."""
    return {name for u in uses if u.value for name in _put_in(draft, u.value)}


def _without_unread(draft: Draft, parts: set[str]) -> Draft:
    """Without the names of parts that now stand in tables, where nothing else reads them."""
    for statement in reversed(draft.loop.body.statements):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in parts.intersection(
                draft.state.local
            ):
                body = draft.loop.body
                if name not in activity(body.statements).reads:
                    made = {now: then for then, now in mirror(draft).items()}
                    draft = _without(draft, [made[statement.value]])
                    draft = draft.with_loop(body=body.edited([body.remove(statement)]))
                    return _without_unread(draft, parts)
    return draft


def _without(draft: Draft, values: Iterable[ast.AST]) -> Draft:
    """Notes expressions of the file that are no more in the body."""
    return replace(draft, replaced=draft.replaced.union(walk_all(values)))


def _with_numbers(draft: Draft, use: Use) -> Use:
    """With what Python makes of the value and numbers: `0.5 * base**i` has no bounds either."""
    value, numbers = use.value, Numbers(draft.context, use.node.id)
    while value is not None:
        match draft.context.parent(value):
            case ast.BinOp(left=left, right=right) as whole:
                other = right if left is value else left
                if not numbers.is_number(other):
                    break
                value = whole
            case ast.UnaryOp(op=ast.USub()) as whole:
                value = whole
            case ast.Compare(left=left, comparators=[right]) as whole:
                other = right if left is value else left
                if isinstance(value, ast.BinOp) and numbers.is_number(other):
                    value = whole
                break
            case _:
                break
    return replace(use, value=value and _row(draft, value))


def _row(draft: Draft, item: ast.expr) -> ast.expr:
    """The whole that a number is an item of: `jnp.stack([0.5 ** (i + j) for j in range(3)])`."""
    listed = draft.context.parent(item)
    if not isinstance(listed, ast.ListComp) or listed.elt is not item:
        return item
    match draft.context.parent(listed):
        case ast.Call(func=function, args=[whole], keywords=[]) as call if whole is listed:
            if draft.context.resolve(function) in ("jax.numpy.stack", "jax.numpy.array"):
                return call
    return item


def _checked(draft: Draft, use: Use) -> str:
    counter = draft.loop.counter
    value = use.value and _filled(draft, use.value)
    if (
        value is None
        or counter is None
        or counter.name not in reads(value)
        or not _is_invariant(draft, value, counter.name)
    ):
        raise Refused(_beyond(use))
    if draft.loop.reverse and draft.target == "fori_loop":
        what = f"{use.node.id} counts down and is used as {use.what}"
        raise Refused(refuse("FSC403", use.node, what, "Convert to a scan."))
    if _is_mixed(value, draft) and _is_rounded(draft, draft.context.parent(use.value or use.node)):
        raise Refused(_beyond(use))
    if value is use.value:
        return one_line(draft.context.source, value)
    return ast.unparse(value)


def _is_mixed(value: ast.expr, draft: Draft) -> bool:
    """`0.5 if t == 0 else 3`, `(0.5, 3)[t]`: an integer in one iteration, a float in another."""
    match value:
        case ast.IfExp(body=ast.Constant(value=one), orelse=ast.Constant(value=other)):
            return type(one) is not type(other)
    return any(
        isinstance(n, ast.Subscript) and is_mixed(n.value, draft.context) for n in walk(value)
    )


def _is_rounded(draft: Draft, above: ast.AST) -> bool:
    """Whether integers and floats go different ways: `x % 3` is not `x % 3.0`."""
    places = [above]
    match above:
        case ast.Assign(targets=[ast.Name(id=name)]):
            body = walk_all(draft.statement.body)
            places = [n for n in body if isinstance(n, ast.BinOp) and name in reads(n)]
    return any(
        isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mod | ast.FloorDiv) for p in places
    )


def _beyond(use: Use) -> Refusal:
    return refuse(
        "FSC403",
        use.node,
        f"{use.node.id} is used as {use.what}: Python computes it without bounds and in double "
        "precision, the index of a scan is an int32",
        "Compute the numbers before the loop in Python and iterate an array of them.",
    )


def _is_invariant(draft: Draft, value: ast.expr, index: str) -> bool:
    """Whether an expression can be computed before the loop, for each index."""
    match value:
        case ast.Call(args=[ast.ListComp(elt=item, generators=[ranges])]):
            whole = Numbers(draft.context, index, others=frozenset(target_names(ranges.target)))
            number = whole.is_number(ranges.iter) and whole.is_number(item) and not ranges.ifs
            return number and not set(reads(value)) & _changed(draft)
    simple = all(isinstance(n, _SIMPLE) for n in walk(value) if isinstance(n, ast.expr))
    number = simple or Numbers(draft.context, index).is_number(value)
    return number and not set(reads(value)) & _changed(draft)


def _changed(draft: Draft) -> set[str]:
    """The names that are bound in the loop, also in scopes of their own, without its index."""
    state, counter, body = draft.state, draft.loop.counter, draft.statement.body
    assert counter is not None
    inside = {name for name, _ in bindings(body, comprehensions=True)}
    for function in inner_functions(body):
        inside.update([*parameters(function), *binds(function.body)])
    return {*state.carried, *state.local, *state.last, *state.targets, *inside} - {counter.name}


def _filled(draft: Draft, value: ast.expr) -> ast.expr:
    """An expression without the names that the loop gives to numbers first, such as `g = 0.7`."""
    own = _own(draft, value)
    return _filled(draft, filled(value, own)) if own else value


def _own(draft: Draft, value: ast.expr) -> dict[str, ast.expr]:
    """The names in an expression that the loop gives to numbers, with those."""
    names = set(reads(value)) & _changed(draft)
    made = {name: definition(name, draft.context) for name in names}
    return {name: number for name, number in made.items() if number is not None}


def _put_in(draft: Draft, value: ast.expr) -> set[str]:
    """The names that an expression is freed of, one after the other."""
    own = _own(draft, value)
    return {*own, *(name for number in own.values() for name in _put_in(draft, number))}


def _one(draft: Draft, text: str, uses: list[Use]) -> Draft:
    counter = draft.loop.counter
    assert counter is not None
    table = f"{draft.spelling.jnp}.stack([{text} for {counter.name} in range({counter.range})])"
    values = [u.value for u in uses if u.value and u.value not in draft.replaced]
    nodes = mirror(draft)
    found = [n for n in map(nodes.get, values) if isinstance(n, ast.expr)]
    if len(found) < len(values):
        raise Refused(_beyond(uses[0]))
    if not found:
        return draft  # parts of what is in tables already
    draft = _without(draft, values)
    named = only_assigned(draft, found)
    if draft.target == "fori_loop":
        if counter.step != "1":
            raise Refused(
                Refusal("FSC403", f"{counter.name} counts in steps", "Convert to a scan.")
            )
        name = draft.fresh.name("factors", "table")
        start = "" if counter.start == "0" else f" - {counter.start}"
        draft = draft.with_loop(before=(*draft.loop.before, f"{name} = {table}"))
        return _replaced(draft, found, f"{name}[{counter.name}{start}]")
    new = named[1] if named else draft.fresh.name("factor", "value")
    wishes = [f"{new}_rows"] if new.endswith("s") else [f"{new}s", f"{new}_table"]
    name = draft.fresh.name(*wishes)
    draft = draft.with_loop(
        before=(*draft.loop.before, f"{name} = {table}"),
        elements=(*draft.loop.elements, Element(new, name)),
    )
    if named:
        body = draft.loop.body
        return draft.with_loop(body=body.edited([body.remove(named[0])]))
    return _replaced(draft, found, new)


def only_assigned(draft: Draft, found: list[ast.expr]) -> tuple[ast.stmt, str] | None:
    """The statement `w = <expression>`, where the table can bind w itself."""
    for statement in draft.loop.body.statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value in found:
                alone = len({id(n) for n in found}) == 1
                binds_once = list(_stores(draft.loop.body, name)) == [name]
                local = name in draft.state.local
                return (statement, name) if alone and binds_once and local else None
    return None


def _stores(body: Code, name: str) -> list[str]:
    return [
        n.id
        for n in walk_all(body.statements)
        if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
    ]


def _replaced(draft: Draft, nodes: list[ast.expr], new: str) -> Draft:
    body = draft.loop.body
    edits = {_with_parentheses(body, n): new for n in nodes}
    return draft.with_loop(body=body.edited(Edit(*place, text) for place, text in edits.items()))


def _with_parentheses(body: Code, node: ast.expr) -> tuple[int, int]:
    """Where an expression stands, with parentheses around it that no name needs."""
    start, end = body.start(node), body.end(node)
    head, tail = body.text[:start], body.text[end:]
    if head.endswith("(") and tail.startswith(")"):
        before = head[:-1].rstrip()[-1:]
        if before and not (before.isalnum() or before in "_])"):
            return start - 1, end + 1
    return start, end
