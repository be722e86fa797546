"""A body that stays a function and is called in each iteration: any kind of body can be."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.kinds import kind_of
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.readers.body import Body, Takes, as_pair, positional
from forscan.syntax.code import Code, one_line
from forscan.syntax.names import walk_scope

_WRAPPERS = {"jax.checkpoint", "jax.remat", "jax.jit", "jax.named_call", "jax.vmap"}


def called_body(
    site: Site, function: ast.expr, wishes: tuple[str, str], takes: Takes = Takes.BOTH
) -> Body:
    """A body that stays a function and is called in each iteration."""
    context = site.context
    plain = _plain_partial(function, context)
    if plain is not None:
        return _called_partial(site, plain, wishes, takes)
    text = one_line(context.source, function)
    before = None
    if not isinstance(function, ast.Name | ast.Attribute):
        name = context.fresh.name("step", "body")
        before, text = f"{name} = {text}", name
    found = _source(context, _unwrapped(function, context))
    names = _wished(found, 0, (), wishes, takes)
    returned = as_pair(f"{text}({', '.join(_given(names, takes))})", takes)
    body = Body(Code(""), names, returned, found, None, context, before, called=True)
    return replace(body, takes=takes)


def _given(names: tuple[str, str], takes: Takes) -> tuple[str, ...]:
    return names if takes is Takes.BOTH else names[1:]


def _called_partial(site: Site, call: ast.Call, wishes: tuple[str, str], takes: Takes) -> Body:
    """`partial(f, a, k=b)` is the call `f(a, …, k=b)`."""
    context = site.context
    source = context.source
    function, *arguments = call.args
    found = _source(context, function)
    keywords = tuple(k.arg or "" for k in call.keywords)
    names = _wished(found, len(arguments), keywords, wishes, takes)
    given = [one_line(source, a) for a in arguments]
    named = [f"{k.arg}={one_line(source, k.value)}" for k in call.keywords]
    inside = ", ".join([*given, *_given(names, takes), *named])
    text = as_pair(f"{one_line(source, function)}({inside})", takes)
    kinds = tuple(kind_of(a, context) for a in arguments)
    body = Body(Code(""), names, text, found, None, context, called=True, takes=takes)
    return replace(body, given=kinds, named=keywords)


def _plain_partial(function: ast.expr, context: FunctionContext) -> ast.Call | None:
    """A partial whose arguments may be read in each iteration."""
    if not isinstance(function, ast.Call) or not function.args:
        return None
    if context.resolve(function.func) != "functools.partial":
        return None
    values = [*function.args, *(k.value for k in function.keywords)]
    simple = all(isinstance(v, ast.Name | ast.Attribute | ast.Constant) for v in values)
    return function if simple and all(k.arg for k in function.keywords) else None


def _unwrapped(function: ast.expr, context: FunctionContext) -> ast.expr:
    """What a wrapper that keeps the parameters is called with: `jax.checkpoint(step)`."""
    while isinstance(function, ast.Call) and len(function.args) == 1:
        if context.resolve(function.func) not in _WRAPPERS:
            break
        function = function.args[0]
    return function


def _source(context: FunctionContext, function: ast.expr) -> ast.FunctionDef | ast.Lambda | None:
    """The definition of a body, or of what a function of the module makes as one."""
    only = context.module.traced.only
    if not isinstance(function, ast.Call):
        found = only(function)
        return found if isinstance(found, ast.FunctionDef | ast.Lambda) else None
    maker = only(function.func)
    if not isinstance(maker, ast.FunctionDef):
        return None
    returns = [n.value for n in walk_scope(maker.body) if isinstance(n, ast.Return)]
    if len(returns) != 1 or not isinstance(returns[0], ast.Name | ast.Lambda):
        return None
    return _source(context, returns[0])


def _wished(
    function: ast.FunctionDef | ast.Lambda | None,
    count: int,
    keywords: tuple[str, ...],
    wishes: tuple[str, str],
    takes: Takes,
) -> tuple[str, str]:
    """Names for the two parameters: those of the source, where it gives them."""
    own = positional(function, count, keywords, takes) if function is not None else []
    if len(own) != 2:
        return wishes
    first, second = (n if n.strip("_") else w for n, w in zip(own, wishes, strict=True))
    return (first, second) if first != second else (own[0], own[1])
