"""The body function of a `lax` loop: inlined where a person would, else called."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from forscan.analyse.lists import block_of
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.syntax.code import Code, one_line, suite
from forscan.syntax.names import binds, free_names, parameters, walk_all, walk_scope
from forscan.syntax.source import Edit, Text

_MUTATING = {
    "append",
    "extend",
    "pop",
    "update",
    "insert",
    "clear",
    "remove",
    "setdefault",
}


@dataclass(frozen=True)
class Body:
    """A body that can be inlined.

    Attributes:
      code: its statements, without the return.
      parameters: as the function names them.
      returned: the expression that it returns.
      definition: the statement that defines it and goes when it is inlined.
    """

    code: Code
    parameters: tuple[str, ...]
    returned: str
    definition: ast.stmt | None
    context: FunctionContext

    def renamed(self, names: dict[str, str]) -> Body:
        """With other names for its own variables."""
        code = Code(rename(self.code.text, names))
        returned = rename(self.returned, names)
        given = tuple(names.get(p, p) for p in self.parameters)
        return Body(code, given, returned, self.definition, self.context)


def inlinable(site: Site, function: ast.expr, count: int) -> Body | None:
    """The body, if it can be inlined: short, plain, and nobody else's."""
    if isinstance(function, ast.Lambda):
        return _of_lambda(site, function, None, count)
    if not isinstance(function, ast.Name):
        return None
    definition = _own_definition(site, function)
    if isinstance(definition, ast.Assign):
        assert isinstance(definition.value, ast.Lambda)
        return _of_lambda(site, definition.value, definition, count)
    if definition is None or not _is_plain(definition, count):
        return None
    source = site.context.source
    colon = _colon_line(source, definition)
    whole = suite(source, definition.body, colon)
    header = source.text[source.start(definition) : source.start(definition.body[0])]
    if "#" in header.split("\n")[0]:
        return None  # a comment on the def itself has no place in a loop
    *_, last = whole.statements
    assert isinstance(last, ast.Return) and last.value is not None
    tail = whole.text[whole.end(last) :]
    if tail.strip():
        return None
    returned = one_line(whole, last.value)
    code = Code(whole.text[: whole.line_start(whole.start(last))].rstrip("\n"))
    if "\n" in whole.text[whole.start(last) : whole.end(last)] and "#" in returned:
        return None
    context = FunctionContext(site.context.module, definition)
    return Body(code, tuple(parameters(definition)), returned, definition, context)


def _of_lambda(
    site: Site, function: ast.Lambda, definition: ast.stmt | None, count: int
) -> Body | None:
    a = function.args
    plain = not (a.vararg or a.kwarg or a.kwonlyargs or a.defaults)
    if not plain or len(parameters(function)) != count:
        return None
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(function)):
        return None
    returned = one_line(site.context.source, function.body)
    if "#" in returned:
        return None
    return Body(Code(""), tuple(parameters(function)), returned, definition, site.context)


def _own_definition(site: Site, function: ast.Name) -> ast.FunctionDef | ast.Assign | None:
    """The local definition of the body, if this call is its only use."""
    context = site.context
    uses = [
        n
        for n in ast.walk(context.module.tree)
        if isinstance(n, ast.Name) and n.id == function.id and isinstance(n.ctx, ast.Load)
    ]
    inside = set(walk_all(context.node.body))
    if [u for u in uses if u in inside] != [function] or isinstance(context.node, ast.Module):
        return None
    block = block_of(site.statement, context)
    for statement in block[: block.index(site.statement)]:
        if isinstance(statement, ast.FunctionDef) and statement.name == function.id:
            return statement
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            target = statement.targets[0]
            if len(statement.targets) == 1 and isinstance(target, ast.Name):
                if target.id == function.id:
                    return statement
    return None


def _is_plain(node: ast.FunctionDef, count: int) -> bool:
    a = node.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or node.decorator_list:
        return False
    if len(a.args) + len(a.posonlyargs) != count or ast.get_docstring(node) is not None:
        return False
    returns = [n for n in walk_scope(node.body) if isinstance(n, ast.Return)]
    if returns != node.body[-1:] or node.body[-1].value is None:  # type: ignore[attr-defined]
        return False
    return not any(
        isinstance(n, ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal)
        for n in walk_scope(node.body)
    )


def _colon_line(source: Text, node: ast.FunctionDef) -> int:
    """The line of the header's colon."""
    first = node.body[0]
    line = first.lineno
    start = source.start(first)
    if source.text[source.line_start(start) : start].strip():
        return line  # def step(c, x): return c, x
    line -= 1
    while ":" not in source.line(line) or source.line(line).lstrip().startswith("#"):
        line -= 1
    return line


def mutates(function: ast.FunctionDef | ast.Lambda | None) -> bool:
    """Whether a body changes a container in place that it may have been given."""
    if function is None:
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript | ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _MUTATING and not isinstance(node.func.value, ast.Subscript):
                return True
    return False


def rename(text: str, names: dict[str, str]) -> str:
    """The text with other names for variables of its own scope.

    Nested functions and comprehensions see the new names where they see the old ones.
    """
    names = {old: new for old, new in names.items() if old != new}
    if not names or not text.strip():
        return text
    try:
        code, shift = Text(text), 0
        tree: ast.AST = ast.parse(text)
    except SyntaxError:  # an expression over several lines
        code, shift = Text(f"({text}\n)"), 1
        tree = ast.parse(code.text, mode="eval")
    edits = []
    for node in _own_names(tree, set(names)):
        start, end = code.start(node), code.end(node)
        edits.append(Edit(start - shift, end - shift, names[node.id]))
    from forscan.syntax.source import apply_edits

    return apply_edits(text, edits)


def _own_names(node: ast.AST, wanted: set[str]) -> Iterable[ast.Name]:
    """Names of the scope, and those that inner scopes take from it."""
    if isinstance(node, ast.Name):
        if node.id in wanted:
            yield node
        return
    if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        outer = set(free_names(node))
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            yield from _own_names(default, wanted)
        for part in body:
            yield from _own_names(part, wanted & outer)
        return
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        yield from _own_names(node.generators[0].iter, wanted)
        rest = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.comprehension)]
        for position, generator in enumerate(node.generators):
            rest += [*generator.ifs, *([generator.iter] if position else [])]
        for part in rest:
            yield from _own_names(part, wanted - own)
        return
    for child in ast.iter_child_nodes(node):
        yield from _own_names(child, wanted)


def locals_of(body: Body) -> list[str]:
    """The names that an inlined body binds, parameters first."""
    return list(dict.fromkeys([*body.parameters, *binds(body.code.statements)]))
