"""How a call of a `lax` loop stands in its statement, and what becomes of its result."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from forscan.find.sites import Site
from forscan.model import Refusal, Refused
from forscan.syntax.code import expression
from forscan.syntax.source import Edit, apply_edits


@dataclass(frozen=True)
class Results:
    """Where the parts of a result go.

    Attributes:
      carry, ys: the patterns that take them; None where nobody does.
      after: statements behind the loop, with the rest of the statement.
    """

    carry: str | None
    ys: str | None
    after: tuple[str, ...] = ()


def call_of(site: Site) -> ast.Call:
    assert isinstance(site.node, ast.Call)
    return site.node


def arguments(site: Site, names: tuple[str, ...], required: int) -> dict[str, ast.expr]:
    """The arguments of the call by parameter name.

    Raises:
      Refused: star arguments, unknown keywords or missing ones.
    """
    call = call_of(site)
    found: dict[str, ast.expr] = {}
    bad = any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > len(names)
    for name, value in zip(names, call.args, strict=False):
        found[name] = value
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in names or keyword.arg in found:
            bad = True
        else:
            found[keyword.arg] = keyword.value
    if bad or any(n not in found for n in names[:required]):
        raise Refused(
            Refusal(
                "FSC306",
                f"the arguments of this {site.form} cannot be told apart",
                "Write each argument by position or by its keyword.",
                call.lineno,
                call.col_offset + 1,
            )
        )
    return found


_TRANSPARENT = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.Call,
    ast.keyword,
    ast.Attribute,
    ast.Subscript,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Starred,
    ast.Index,
)


def check_place(site: Site) -> None:
    """The call must be evaluated exactly once in a simple statement.

    Raises:
      Refused: it stands in a lambda, a comprehension, a branch or a header.
    """
    context = site.context
    node: ast.AST = site.node
    parent = context.parent(node)
    while not isinstance(parent, ast.stmt):
        if not isinstance(parent, _TRANSPARENT):
            what = type(parent).__name__.lower()
            raise Refused(_misplaced(site, f"inside a {what} expression"))
        node, parent = parent, context.parent(parent)
    if not isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr):
        raise Refused(_misplaced(site, f"in the header of a {type(parent).__name__.lower()}"))
    source = context.source
    start, end = source.start(parent), source.end(parent)
    before = source.text[source.line_start(start) : start]
    behind = source.text[end : source.line_end(end)].strip()
    if before.strip() or (behind and not behind.startswith("#")):
        raise Refused(_misplaced(site, "on a line with other statements"))


def _misplaced(site: Site, where: str) -> Refusal:
    return Refusal(
        "FSC305",
        f"the {site.form} stands {where}, where there is no place for a `for` statement",
        "Make a lambda a def, and the call a statement of its own.",
        site.node.lineno,
        site.node.col_offset + 1,
    )


def pair_results(site: Site, carry: str, ys: str) -> Results:
    """The results of a scan, which is a pair.

    Args:
      site: the call.
      carry, ys: names for the parts where the statement gives none.
    """
    statement, call = site.statement, call_of(site)
    parent = site.context.parent(call)
    if isinstance(parent, ast.Subscript) and parent.value is call:
        return _item(site, parent, carry, ys)
    if parent is statement:
        if isinstance(statement, ast.Expr):
            return Results(None, None)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
                first, second = (_pattern(site, t) for t in target.elts)
                return Results(first, second)
    return Results(carry, ys, (_rest(site, call, f"({carry}, {ys})"),))


def _item(site: Site, subscript: ast.Subscript, carry: str, ys: str) -> Results:
    """`scan(…)[0]`, `scan(…)[1]`: only one part is used."""
    index = ast.unparse(subscript.slice)
    if index not in ("0", "1", "-1", "-2"):
        return Results(carry, ys, (_rest(site, call_of(site), f"({carry}, {ys})"),))
    is_carry = index in ("0", "-2")
    name = carry if is_carry else ys
    statement = site.statement
    if site.context.parent(subscript) is statement and isinstance(statement, ast.Assign):
        if len(statement.targets) == 1:
            pattern = _pattern(site, statement.targets[0])
            return Results(pattern, None) if is_carry else Results(None, pattern)
    rest = (_rest(site, subscript, name),)
    return Results(name, None, rest) if is_carry else Results(None, name, rest)


def single_result(site: Site, name: str) -> Results:
    """The result of a fori_loop, which is the carry."""
    statement, call = site.statement, call_of(site)
    if site.context.parent(call) is statement:
        if isinstance(statement, ast.Expr):
            return Results(None, None)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return Results(_pattern(site, statement.targets[0]), None)
    return Results(name, None, (_rest(site, call, name),))


def _pattern(site: Site, target: ast.expr) -> str | None:
    """A target as a pattern; None where it only forgets."""
    if isinstance(target, ast.Name) and target.id == "_":
        return None if "_" not in site.context.module.fresh.read else "_"
    if any(isinstance(n, ast.Attribute | ast.Subscript | ast.Starred) for n in ast.walk(target)):
        return site.context.source.segment(target)
    return ast.unparse(target)


def _rest(site: Site, node: ast.expr, name: str) -> str:
    """The statement with a name in place of the call; a bare tuple where it may be."""
    source = site.context.source
    statement = site.statement
    start, end = source.start(statement), source.end(statement)
    if isinstance(statement, ast.Return) and statement.value is node:
        name = name.removeprefix("(").removesuffix(")") if name.startswith("(") else name
    edit = Edit(source.start(node) - start, source.end(node) - start, name)
    return apply_edits(source.text[start:end], [edit])


def is_number(text: str) -> bool:
    """Whether an expression is a literal int, float or bool."""
    node = expression(text)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)
