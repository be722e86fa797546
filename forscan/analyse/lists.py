"""Lists and tuples that a loop fills: where they come from, how they grow, how they are used."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.find.context import FunctionContext
from forscan.model import Refusal
from forscan.syntax.names import binds, in_body, names_in, target_names
from forscan.syntax.walk import walk, walk_all


@dataclass(frozen=True)
class FilledList:
    """A local list that each iteration appends to, once or several times.

    A tuple that grows by `ys = (*ys, y)` or `ys += (y,)` is one as well.

    Attributes:
      name: of the list.
      kind: "list" or "tuple".
      definition: the statement that makes it.
      appends: the statements of the body that let it grow, in order.
      values: what each of them appends.
      fresh: whether the list is empty when the loop begins.
      seeded: whether it surely has items by then, and nobody else has it.
      looked_at: the names that are made of its items before the loop. Where one is carried,
        the items of the loop have their type, or the carry has not.
      uses: reads of the list behind the loop.
      branch: the statement of the body whose branches append, each at most once; its test
        is decided before the loop.
    """

    name: str
    kind: str
    definition: ast.Assign
    appends: tuple[ast.stmt, ...]
    values: tuple[ast.expr, ...]
    fresh: bool
    seeded: bool
    looked_at: frozenset[str]
    uses: tuple[ast.Name, ...]
    branch: ast.If | None = None

    @property
    def several(self) -> bool:
        """Whether each iteration appends several items."""
        return len(self.appends) > 1 and self.branch is None

    @property
    def may_miss(self) -> bool:
        """Whether only one side of the branch appends."""
        return len(self.appends) == 1 and self.branch is not None


def appended(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """The list and the value of `out.append(v)`, `out += [v]`, `out = out + [v]`, `out = [*out, v]`.

    The last three of tuples as well.
    """
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                args=[value],
                keywords=[],
            )
        ):
            pass
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=added):
            if not isinstance(added, ast.List | ast.Tuple) or len(added.elts) != 1:
                return None
            value = added.elts[0]
        case ast.Assign(targets=[ast.Name(id=name)], value=made):
            items = together(made)
            if len(items) != 2 or _spread_name(items[0]) != name:
                return None
            value = items[1]
        case _:
            return None
    return None if isinstance(value, ast.Starred) else (name, value)


def together(made: ast.expr) -> list[ast.expr]:
    """The items of a display, or of the sum of a name and a display: `ys + [y]` is `[*ys, y]`.

    Empty for anything else.
    """
    match made:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return items
        case ast.BinOp(
            left=ast.Name() as name, op=ast.Add(), right=ast.List() | ast.Tuple() as added
        ):
            return [ast.Starred(name), *added.elts]
        case ast.BinOp(
            left=ast.List() | ast.Tuple() as added, op=ast.Add(), right=ast.Name() as name
        ):
            return [*added.elts, ast.Starred(name)]
    return []


def _spread_name(item: ast.expr) -> str | None:
    """The name in `*name`."""
    match item:
        case ast.Starred(value=ast.Name(id=name)):
            return name
    return None


def keeps_kind(statement: ast.stmt, kind: str) -> bool:
    """Whether what grows by a statement is of a kind, "list" or "tuple", before and behind it."""
    match statement:
        case ast.AugAssign(value=ast.Tuple()):
            return True  # a list takes it, too
        case ast.Assign(value=ast.BinOp(left=left, right=right)):
            return kind == (_KINDS.get(type(left)) or _KINDS.get(type(right)))
        case ast.Assign(value=made):
            return kind == _KINDS.get(type(made))
    return kind == "list"


_KINDS: dict[type[ast.expr], str] = {ast.List: "list", ast.Tuple: "tuple"}


def appends_to(statement: ast.stmt, name: str) -> bool:
    """Whether a statement lets the list of that name grow by one item."""
    found = appended(statement)
    return found is not None and found[0] == name


def find_lists(loop: ast.For, context: FunctionContext) -> tuple[list[FilledList], list[Refusal]]:
    """The lists that the loop fills, and what is wrong with the others."""
    growth: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
    branches: dict[str, ast.If] = {}
    bound = {*in_body(loop).binds, *target_names(loop.target)}
    for statement in loop.body:
        found = appended(statement)
        if found:
            growth.setdefault(found[0], []).append((statement, found[1]))
        elif isinstance(statement, ast.If) and _is_decided(statement.test, bound):
            for name, steps in _in_branches(statement).items():
                growth.setdefault(name, []).extend(steps)
                branches.setdefault(name, statement)
    for name, branch in branches.items():
        if len(growth[name]) > len(_in_branches(branch)[name]):
            del growth[name]  # in branches and besides: the effects say what that means
    lists: list[FilledList] = []
    refusals: list[Refusal] = []
    for name, steps in growth.items():
        definition = _definition(name, loop, context)
        kind = _kind(definition, name) if definition is not None else ""
        if definition is None or not all(keeps_kind(s, kind) for s, _ in steps):
            continue  # not a list of ours: the effects say what that means
        reads = _other_mentions(name, loop, [s for s, _ in steps])
        if reads:
            node = reads[0]
            refusals.append(
                Refusal(
                    "FSC407",
                    f"the list {name} is filled by the loop and read in it as well; the "
                    "outputs of a scan exist only after the last iteration",
                    "Keep what the next iteration needs in a name of its own.",
                    node.lineno,
                    node.col_offset + 1,
                )
            )
        filled = _filled(name, definition, steps, loop, context)
        lists.append(replace(filled, branch=branches.get(name)))
    return lists, refusals


def _is_decided(test: ast.expr, bound: set[str]) -> bool:
    """Whether a test asks for nothing that the loop binds, and is plain to repeat."""
    plain = (
        ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop,
        ast.UnaryOp, ast.unaryop, ast.expr_context,
    )  # fmt: skip
    return all(isinstance(n, plain) for n in walk(test)) and not names_in(test) & bound


def _in_branches(statement: ast.If) -> dict[str, list[tuple[ast.stmt, ast.expr]]]:
    """What the branches of a statement append, where none of them does it twice."""
    growth: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
    for suite in (statement.body, statement.orelse):
        found = [(s, a) for s in suite if (a := appended(s)) is not None]
        for step, (name, value) in found:
            growth.setdefault(name, []).append((step, value))
        for name in {name for _, (name, _) in found}:
            if sum(other == name for _, (other, _) in found) > 1:
                growth[name] = []
    return {name: steps for name, steps in growth.items() if steps}


def _filled(
    name: str,
    definition: ast.Assign,
    steps: list[tuple[ast.stmt, ast.expr]],
    loop: ast.For,
    context: FunctionContext,
) -> FilledList:
    block = block_of(loop, context)
    start = block.index(definition)
    between = block[start + 1 : block.index(loop)]
    value = given_value(definition, name)
    empty = isinstance(value, ast.List | ast.Tuple) and not value.elts
    touched = any(name in names_in(s) for s in between)
    inside = set(walk(loop)) | set(walk(definition))
    grown = [s for s in between if _grows(s, name)]
    plain = len(definition.targets) == 1
    looking = [s for s in between if _looks_at_items(s, name)]
    items = isinstance(value, ast.List | ast.Tuple) and bool(value.elts)
    own = all(s in grown or s in looking for s in between if name in names_in(s))
    seeded = plain and own and (bool(grown) or items)
    if seeded:
        inside.update(walk_all([*grown, *looking]))
    inside |= _of_other_values(name, definition, loop, context)
    uses = [
        n
        for n in context.nodes
        if isinstance(n, ast.Name) and n.id == name and n not in inside
        if isinstance(n.ctx, ast.Load) or not cuts(context.parent(n), name)
    ]
    uses.sort(key=lambda n: (n.lineno, n.col_offset))
    return FilledList(
        name,
        _kind(definition, name),
        definition,
        tuple(s for s, _ in steps),
        tuple(v for _, v in steps),
        empty and not touched and plain,
        seeded,
        frozenset(binds(looking)),
        tuple(uses),
    )


def _of_other_values(
    name: str, definition: ast.stmt, loop: ast.For, context: FunctionContext
) -> set[ast.AST]:
    """Names that run before the list is made or after its name has got another value."""
    block = block_of(loop, context)
    end = float("inf")
    targets: list[ast.expr] = []
    for statement in block[block.index(loop) + 1 :]:
        if isinstance(statement, ast.Assign) and given_value(statement, name) is not None:
            if cuts(statement, name):
                continue
            assert statement.end_lineno is not None
            end, targets = statement.end_lineno, statement.targets
            break
    else:  # the list itself may be seen in the next round of a loop around
        if is_nested(loop, context):
            return set()
    return {
        n
        for n in context.nodes
        if isinstance(n, ast.Name)
        and (n.lineno < definition.lineno or n.lineno > end or n in targets)
    }


def is_nested(loop: ast.For, context: FunctionContext) -> bool:
    """Whether another loop of the function stands around a loop."""
    around = context.parent(loop)
    while around is not context.node and not isinstance(around, ast.For | ast.While):
        around = context.parent(around)
    return around is not context.node


def _grows(statement: ast.stmt, name: str) -> bool:
    """Whether a statement appends to the list, and does nothing else with it."""
    found = appended(statement)
    return found is not None and found[0] == name and name not in names_in(found[1])


def _looks_at_items(statement: ast.stmt, name: str) -> bool:
    """Whether a statement only reads items of the list, such as `h = hs[-1]`."""
    mentions = sum(isinstance(n, ast.Name) and n.id == name for n in walk(statement))
    items = sum(
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        and isinstance(n.slice, ast.UnaryOp | ast.Constant)
        for n in walk(statement)
    )
    return mentions == items > 0


def block_of(node: ast.stmt, context: FunctionContext) -> list[ast.stmt]:
    """The suite that holds a statement."""
    parent = context.parent(node)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            return block
    raise LookupError("the statement is in no suite")


def _definition(name: str, loop: ast.For, context: FunctionContext) -> ast.Assign | None:
    """The last assignment of a list display to the name in the loop's own suite."""
    block = block_of(loop, context)
    for statement in reversed(block[: block.index(loop)]):
        if _grows(statement, name):
            continue
        if isinstance(statement, ast.Assign):
            value = given_value(statement, name)
            if value is not None:
                return statement if _kind(statement, name) else None
        rebound = any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
            for n in walk(statement)
        )
        if rebound:
            return None
    return None


def given_value(statement: ast.Assign, name: str) -> ast.expr | None:
    """What an assignment gives to a name, alone or in `xs, ys = [], []`."""
    for target in statement.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return statement.value
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for item, value in zip(target.elts, statement.value.elts, strict=False):
                if isinstance(item, ast.Name) and item.id == name:
                    return value
    return None


def cuts(statement: ast.AST | None, name: str) -> bool:
    """`out = out[::-1]`, `out = out[4::5]`: a part of the list under its own name."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Subscript(value=ast.Name(id=base), slice=ast.Slice() as part),
        ):
            return target == base == name and name not in names_in(part)
    return False


def _kind(definition: ast.Assign, name: str) -> str:
    """Whether an assignment gives a name a list or a tuple: "" for neither."""
    match given_value(definition, name):
        case ast.List() | ast.ListComp() | ast.BinOp(left=ast.List(), op=ast.Mult()):
            return "list"
        case ast.Tuple():
            return "tuple"
        case ast.Call(func=ast.Name(id="list" | "tuple" as kind), args=[]):
            return kind
    return ""


def _other_mentions(name: str, loop: ast.For, growth: list[ast.stmt]) -> list[ast.Name]:
    allowed: set[ast.AST] = set()
    for statement in growth:
        found = appended(statement)
        assert found is not None
        inside_value = set(walk(found[1]))
        allowed |= {n for n in walk(statement) if n not in inside_value}
    return [
        n
        for n in walk_all([loop.iter, *loop.body])
        if isinstance(n, ast.Name) and n.id == name and n not in allowed
    ]
