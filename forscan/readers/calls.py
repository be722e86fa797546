"""How a call of a `lax` loop stands in its statement, and what becomes of its result."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeGuard

from forscan.analyse.lists import block_of
from forscan.find.sites import Site
from forscan.model import Refusal, Refused
from forscan.readers.own_values import is_only_read
from forscan.readers.patterns import bare, leaves
from forscan.syntax.code import expression
from forscan.syntax.source import Edit, Text, apply_edits
from forscan.syntax.walk import walk


@dataclass(frozen=True)
class Results:
    """Where the parts of a result go.

    Attributes:
      carry, ys: the patterns that take them; None where no pattern does.
      rest: gives the statement around the call for expressions of the carry and the ys,
        where the call is only a part of it.
      wants_carry, wants_ys: whether anybody reads them.
      item_of_ys: which item of the ys is read, where it is only that one.
      gone: a statement that only takes the carry apart, which the pattern does.
    """

    carry: str | None
    ys: str | None
    rest: Callable[[str, str], str] | None = None
    wants_carry: bool = True
    wants_ys: bool = True
    item_of_ys: int | None = None
    gone: ast.stmt | None = None

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


_WORDS = {
    ast.Lambda: "a lambda expression",
    ast.IfExp: "a conditional expression",
    ast.BoolOp: "an `and` or `or`",
    ast.NamedExpr: "an assignment expression",
    ast.ListComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.comprehension: "a comprehension",
    ast.JoinedStr: "a string",
    ast.FormattedValue: "a string",
    ast.FunctionDef: "a def",
    ast.AsyncFunctionDef: "a def",
    ast.ClassDef: "a class",
}


def _word(node: ast.AST) -> str:
    return _WORDS.get(type(node), f"a {type(node).__name__.lower()}")


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
            raise Refused(_misplaced(site, f"inside {_word(parent)}"))
        node, parent = parent, context.parent(parent)
    if not isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr):
        raise Refused(_misplaced(site, f"in the header of {_word(parent)}"))
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
        if _has_pattern(statement):
            target = statement.targets[0]
            if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
                first, gone = _taken_apart(site, target.elts[0])
                patterns = _pattern(site, first), _pattern(site, target.elts[1])
                return replace(Results.of_patterns(*patterns), gone=gone)
    return Results(None, None, lambda carry, ys: _rest(site, call, f"({carry}, {ys})"))


def _item(site: Site, subscript: ast.Subscript) -> Results:
    """`scan(…)[0]`, `scan(…)[1]`: only one part is used."""
    index = ast.unparse(subscript.slice)
    if index not in ("0", "1", "-1", "-2"):
        call = call_of(site)
        return Results(None, None, lambda carry, ys: _rest(site, call, f"({carry}, {ys})"))
    is_carry = index in ("0", "-2")
    statement = site.statement
    if site.context.parent(subscript) is statement and _has_pattern(statement):
        if is_carry:
            return _of_carry(site, statement.targets[0])
        return Results.of_patterns(None, _pattern(site, statement.targets[0]))

    def rest(carry: str, ys: str) -> str:
        return _rest(site, subscript, carry if is_carry else ys)

    item = None if is_carry else _index(site, subscript)
    return Results(None, None, rest, wants_carry=is_carry, wants_ys=not is_carry, item_of_ys=item)


def _index(site: Site, node: ast.expr) -> int | None:
    """The literal that a value is indexed with at once."""
    parent = site.context.parent(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        index = parent.slice
        if isinstance(index, ast.Constant) and type(index.value) is int:
            return index.value
    return None


def single_result(site: Site) -> Results:
    """The result of a fori_loop, which is the carry."""
    call = call_of(site)
    whole = _whole_statement(site, call, lambda target: _of_carry(site, target))
    if whole is not None:
        return whole
    return Results(None, None, lambda carry, _: _rest(site, call, carry), wants_ys=False)


def stack_results(site: Site) -> Results:
    """The result of a map, which is the stack of its outputs."""
    call = call_of(site)
    whole = _whole_statement(
        site, call, lambda target: Results.of_patterns(None, _pattern(site, target))
    )
    if whole is not None:
        return whole

    def rest(_: str, ys: str) -> str:
        return _rest(site, call, ys)

    return Results(None, None, rest, wants_carry=False, item_of_ys=_index(site, call))


def _whole_statement(
    site: Site, call: ast.expr, assigned: Callable[[ast.expr], Results]
) -> Results | None:
    """The results of a call that is a statement, or all that one assigns to a target."""
    statement = site.statement
    if site.context.parent(call) is statement:
        if isinstance(statement, ast.Expr):
            return Results.of_patterns(None, None)
        if _has_pattern(statement):
            return assigned(statement.targets[0])
    return None


def _has_pattern(statement: ast.stmt) -> TypeGuard[ast.Assign]:
    """Whether a statement assigns to one pattern; `first, *rest` fits values of many lengths."""
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and not any(isinstance(n, ast.Starred) for n in walk(statement.targets[0]))
    )


def _of_carry(site: Site, target: ast.expr) -> Results:
    first, gone = _taken_apart(site, target)
    return replace(Results.of_patterns(_pattern(site, first), None), gone=gone)


def _taken_apart(site: Site, target: ast.expr) -> tuple[ast.expr, ast.stmt | None]:
    """The pattern that the next statement takes a name apart with, where nobody else reads it."""
    context, source = site.context, site.context.source
    if not isinstance(target, ast.Name) or target.id in context.outside:
        return target, None
    block = block_of(site.statement, context)
    behind = block[block.index(site.statement) + 1 :][:1]
    match behind:
        case [ast.Assign(targets=[ast.Tuple() as pattern], value=ast.Name(id=name) as read)] if (
            name == target.id and leaves(pattern) is not None
        ):
            start, end = source.start(behind[0]), source.end(behind[0])
            line = source.text[source.line_start(start) : source.line_end(end)].strip()
            if is_only_read(site, read) and line == source.segment(behind[0]):
                return pattern, behind[0]
    return target, None


def _pattern(site: Site, target: ast.expr) -> str | None:
    """A target as a pattern; None where it only forgets."""
    if all(is_forgotten(site, n.id) for n in walk(target) if isinstance(n, ast.Name)):
        return None
    if any(isinstance(n, ast.Attribute | ast.Subscript | ast.Starred) for n in walk(target)):
        return site.context.source.segment(target)
    return ast.unparse(target)


def is_forgotten(site: Site, name: str) -> bool:
    """Whether a name is one that takes what nobody needs, and nobody reads it."""
    context = site.context
    graph = context.graph
    behind = graph.nodes[graph.statements[site.statement]].successors
    live = context.outside.union(context.captured, *(context.live[s] for s in behind))
    return name.startswith(("_", "unused")) and name not in live


def _rest(site: Site, node: ast.expr, text: str) -> str:
    """The statement with an expression in place of the call; a returned tuple is bare."""
    source = site.context.source
    statement = site.statement
    start, end = source.start(statement), source.end(statement)
    value = getattr(statement, "value", None)
    if value is node and isinstance(statement, ast.Return | ast.Assign):
        text = bare(text)
    node, text = _dissolved(site, node, text)
    edit = Edit(source.start(node) - start, source.end(node) - start, text)
    return apply_edits(source.text[start:end], [edit])


def _dissolved(site: Site, node: ast.expr, text: str) -> tuple[ast.expr, str]:
    """A tuple that is indexed or unpacked at once is not made: `(a, b)[0]`, `f(*(a, b))`."""
    parent = site.context.parent(node)
    display = expression(text)
    if not isinstance(display, ast.Tuple) or not display.elts:
        return node, text
    index = _index(site, node)
    if index is not None and 0 <= index < len(display.elts):
        assert isinstance(parent, ast.Subscript)
        return _dissolved(site, parent, Text(f"({text}\n)").segment(display.elts[index]))
    if isinstance(parent, ast.Starred) and len(display.elts) > 1:
        return parent, bare(text)
    return node, text


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a literal int, float or bool."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)
