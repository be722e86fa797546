"""How a call of a `lax` loop stands in its statement, and what becomes of its result."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from forscan.find.sites import Site
from forscan.model import Refusal, Refused
from forscan.syntax.code import expression
from forscan.syntax.source import Edit, apply_edits


@dataclass(frozen=True)
class Results:
    """Where the parts of a result go.

    Attributes:
      carry, ys: the patterns that take them; None where no pattern does.
      rest: gives the statement around the call for expressions of the carry and the ys,
        where the call is only a part of it.
      wants_carry, wants_ys: whether anybody reads them.
    """

    carry: str | None
    ys: str | None
    rest: Callable[[str, str], str] | None = None
    wants_carry: bool = True
    wants_ys: bool = True

    @classmethod
    def of_patterns(cls, carry: str | None, ys: str | None) -> Results:
        return cls(carry, ys, None, carry is not None, ys is not None)


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


def pair_results(site: Site) -> Results:
    """The results of a scan, which is a pair."""
    statement, call = site.statement, call_of(site)
    parent = site.context.parent(call)
    if isinstance(parent, ast.Subscript) and parent.value is call:
        return _item(site, parent)
    if parent is statement:
        if isinstance(statement, ast.Expr):
            return Results.of_patterns(None, None)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
                first, second = (_pattern(site, t) for t in target.elts)
                return Results.of_patterns(first, second)
    return Results(None, None, lambda carry, ys: _rest(site, call, f"({carry}, {ys})"))


def _item(site: Site, subscript: ast.Subscript) -> Results:
    """`scan(…)[0]`, `scan(…)[1]`: only one part is used."""
    index = ast.unparse(subscript.slice)
    if index not in ("0", "1", "-1", "-2"):
        call = call_of(site)
        return Results(None, None, lambda carry, ys: _rest(site, call, f"({carry}, {ys})"))
    is_carry = index in ("0", "-2")
    statement = site.statement
    if site.context.parent(subscript) is statement and isinstance(statement, ast.Assign):
        if len(statement.targets) == 1:
            pattern = _pattern(site, statement.targets[0])
            return Results.of_patterns(*((pattern, None) if is_carry else (None, pattern)))

    def rest(carry: str, ys: str) -> str:
        return _rest(site, subscript, carry if is_carry else ys)

    return Results(None, None, rest, wants_carry=is_carry, wants_ys=not is_carry)


def single_result(site: Site) -> Results:
    """The result of a fori_loop, which is the carry."""
    statement, call = site.statement, call_of(site)
    if site.context.parent(call) is statement:
        if isinstance(statement, ast.Expr):
            return Results.of_patterns(None, None)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return Results.of_patterns(_pattern(site, statement.targets[0]), None)
    return Results(None, None, lambda carry, _: _rest(site, call, carry), wants_ys=False)


def _pattern(site: Site, target: ast.expr) -> str | None:
    """A target as a pattern; None where it only forgets."""
    if isinstance(target, ast.Name) and target.id == "_":
        return None if "_" not in site.context.fresh.read else "_"
    if any(isinstance(n, ast.Attribute | ast.Subscript | ast.Starred) for n in ast.walk(target)):
        return site.context.source.segment(target)
    return ast.unparse(target)


def _rest(site: Site, node: ast.expr, text: str) -> str:
    """The statement with an expression in place of the call; a returned tuple is bare."""
    source = site.context.source
    statement = site.statement
    start, end = source.start(statement), source.end(statement)
    value = getattr(statement, "value", None)
    if value is node and isinstance(statement, ast.Return | ast.Assign):
        whole = expression(text)
        if isinstance(whole, ast.Tuple) and len(whole.elts) > 1 and whole.col_offset == 1:
            text = text[1:-1]
    edit = Edit(source.start(node) - start, source.end(node) - start, text)
    return apply_edits(source.text[start:end], [edit])


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a literal int, float or bool."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)
