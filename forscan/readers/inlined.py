"""A body that is inlined as a person would, because it is short, plain and nobody else's."""

from __future__ import annotations

import ast

from forscan.analyse.lists import block_of
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.readers.body import NO_PARAMETER, Body, Takes, as_pair
from forscan.readers.called import called_body
from forscan.readers.patterns import unpacked_at_the_end
from forscan.syntax.code import Code, one_line, suite
from forscan.syntax.names import free_names, parameters, walk_scope
from forscan.syntax.source import Text
from forscan.syntax.walk import walk


def read_body(
    site: Site,
    function: ast.expr,
    wishes: tuple[str, str],
    copied: bool = False,
    takes: Takes = Takes.BOTH,
) -> Body:
    """The body of a loop.

    Args:
      site: the call of the loop.
      function: the expression of its body.
      wishes: names for the parameters, where the source of the body does not give them.
      copied: whether a function of the module is read as if it stood here.
      takes: what the function is given.
    """
    inlined = _inlined(site, function, copied, takes)
    return inlined or called_body(site, function, wishes, takes)


def _inlined(site: Site, function: ast.expr, copied: bool, takes: Takes) -> Body | None:
    """The body, if it is short, plain, and nobody else's."""
    if isinstance(function, ast.Lambda):
        return _of_lambda(site, function, None, takes)
    if not isinstance(function, ast.Name):
        return None
    definition = own_definition(site, function)
    if isinstance(definition, ast.Assign):
        assert isinstance(definition.value, ast.Lambda)
        return _of_lambda(site, definition.value, definition, takes)
    source = site.context.source
    gone: ast.stmt | None = definition
    if definition is None and copied:
        definition = _module_function(site, function)
    if definition is None or not _is_plain(definition, takes):
        return None
    whole = suite(source, definition.body, _colon_line(source, definition))
    header = source.text[source.start(definition) : source.start(definition.body[0])]
    if "#" in header.split("\n")[0]:
        return None  # a comment on the def itself has no place in a loop
    last = whole.statements[-1]
    assert isinstance(last, ast.Return) and last.value is not None
    returned = one_line(whole, last.value)
    comment = whole.text[whole.end(last) :].strip()
    if "\n" in comment or ("\n" in returned and "#" in returned):
        return None
    code = Code(whole.text[: _end_before(whole, last)].rstrip("\n"))
    code, returned = unpacked_at_the_end(code, returned)
    code = Code("\n".join(filter(None, [code.text, comment])))
    context = FunctionContext(site.context.module, definition)
    names = _both(parameters(definition), takes)
    returned = as_pair(returned, takes)
    return Body(code, names, returned, definition, gone, context, takes=takes)


def _both(names: list[str], takes: Takes) -> tuple[str, str]:
    first, second = names if takes is Takes.BOTH else (NO_PARAMETER, *names)
    return first, second


def _of_lambda(
    site: Site, function: ast.Lambda, definition: ast.stmt | None, takes: Takes
) -> Body | None:
    a = function.args
    names = parameters(function)
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
        return None
    if len(names) != (2 if takes is Takes.BOTH else 1):
        return None
    if any(isinstance(n, ast.NamedExpr) for n in walk(function)):
        return None
    returned = one_line(site.context.source, function.body)
    if "#" in returned:
        return None
    both = _both(names, takes)
    returned = as_pair(returned, takes)
    return Body(Code(""), both, returned, function, definition, site.context, takes=takes)


def own_definition(site: Site, function: ast.Name) -> ast.FunctionDef | ast.Assign | None:
    """The local definition of the body, if this call is its only use."""
    context = site.context
    if isinstance(context.node, ast.Module):
        return None
    inside = set(context.nodes)
    uses = [
        n
        for n in inside
        if isinstance(n, ast.Name) and n.id == function.id and isinstance(n.ctx, ast.Load)
    ]
    found = context.module.traced.only(function) if uses == [function] else None
    statement = context.parent(found) if isinstance(found, ast.Lambda) else found
    block = block_of(site.statement, context)
    if statement not in block[: block.index(site.statement)]:
        return None
    match statement:
        case ast.FunctionDef() | ast.Assign(targets=[ast.Name()]):
            return statement
    return None


def _module_function(site: Site, function: ast.Name) -> ast.FunctionDef | None:
    """A function at the top of the module whose names mean the same at the call."""
    module = site.context.module
    found = module.traced.only(function)
    if not isinstance(found, ast.FunctionDef) or found not in module.tree.body:
        return None
    return None if set(free_names(found)) & site.context.locals else found


def _is_plain(node: ast.FunctionDef, takes: Takes) -> bool:
    a = node.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or node.decorator_list:
        return False
    count = 2 if takes is Takes.BOTH else 1
    if len(a.args) + len(a.posonlyargs) != count or ast.get_docstring(node) is not None:
        return False
    returns = [n for n in walk_scope(node.body) if isinstance(n, ast.Return)]
    if returns != node.body[-1:] or returns[0].value is None:
        return False
    return not any(
        isinstance(n, ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal)
        for n in walk_scope(node.body)
    )


def _end_before(code: Code, last: ast.stmt) -> int:
    """Where what stands before the last statement ends, on the same line perhaps."""
    start = code.line_start(code.start(last))
    same_line = code.text[start : code.start(last)].strip()
    return code.end(code.statements[-2]) if same_line else start


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
