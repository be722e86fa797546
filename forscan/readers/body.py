"""The body function of a `lax` loop: inlined where a person would, else called.

Both are statements and an expression that is returned; a called body has no statements
and returns the call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from forscan.analyse.kinds import ARRAY, NOTHING, UNKNOWN, Kind, kind_of, of_items, returned_kind
from forscan.analyse.lists import block_of
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.find.traced import Function
from forscan.readers.patterns import unpacked_at_the_end
from forscan.syntax.code import Code, expression, one_line, suite
from forscan.syntax.names import binds, free_names, parameters, walk_all, walk_scope
from forscan.syntax.rename import renamed
from forscan.syntax.source import Text


class Takes(Enum):
    """What a body function is given in each iteration."""

    BOTH = "a carry and a slice or an index"
    CARRY = "the carry"
    SLICE = "a slice"


NO_PARAMETER = "_none"
"""Stands for the parameter that a body with one parameter does not have; it comes first."""

_WRAPPERS = {"jax.checkpoint", "jax.remat", "jax.jit", "jax.named_call", "jax.vmap"}
_MUTATING = {"append", "extend", "pop", "update", "insert", "clear", "remove", "setdefault"}


@dataclass(frozen=True)
class Body:
    """A body as statements of a loop.

    Attributes:
      code: its statements, without the return.
      parameters: the names of its two parameters.
      returned: the expression that it returns.
      function: its source, if it is in this module.
      definition: the statement that defines it and goes when it is inlined.
      context: the function that its statements belong to.
      before: a statement that the loop needs in front of it.
      given: the kinds of the arguments that a partial gives by position.
      named: the names of those that it gives by keyword.
      called: whether it stays a function.
      takes: what it is given; a body that takes a slice returns None as its carry here.
    """

    code: Code
    parameters: tuple[str, str]
    returned: str
    function: Function | ast.Lambda | None
    definition: ast.stmt | None
    context: FunctionContext
    before: str | None = None
    given: tuple[Kind, ...] = ()
    named: tuple[str, ...] = ()
    called: bool = False
    takes: Takes = Takes.BOTH

    @property
    def own_parameters(self) -> list[str]:
        """What the two parameters are called in the source of the body."""
        if self.function is None:
            return []
        return _positional(self.function, len(self.given), self.named, self.takes)

    @property
    def nodes(self) -> list[ast.AST]:
        """What an iteration runs, as it is in the file."""
        if self.function is None:
            return [expression(self.returned)]
        if isinstance(self.function, ast.Lambda):
            return [self.function.body]
        return list(self.function.body)

    @property
    def place(self) -> FunctionContext:
        """The function that its statements are in, in the file."""
        if isinstance(self.function, ast.FunctionDef):
            return FunctionContext(self.context.module, self.function)
        return self.context

    @property
    def mutates(self) -> bool:
        """Whether it changes in place a container that it may have been given."""
        own = _own_lists(self.nodes)
        return any(_is_mutation(n, own) for n in walk_all(self.nodes))

    @property
    def names(self) -> set[str]:
        """All names that occur in it."""
        trees = [self.code.tree, expression(self.returned)]
        return {n.id for t in trees for n in ast.walk(t) if isinstance(n, ast.Name)}

    @property
    def locals(self) -> list[str]:
        """The names that it binds, parameters first."""
        return list(dict.fromkeys([*self.parameters, *binds(self.code.statements)]))

    def renamed(self, names: dict[str, str]) -> Body:
        """With other names for its own variables."""
        first, second = (names.get(p, p) for p in self.parameters)
        return replace(
            self,
            code=Code(renamed(self.code.text, names)),
            returned=renamed(self.returned, names),
            parameters=(first, second),
        )

    def kind(self, arguments: tuple[Kind, Kind]) -> Kind:
        """The kind of what it returns."""
        if self.function is None:
            return UNKNOWN
        if self.takes is Takes.BOTH:
            return returned_kind(self.function, (*self.given, *arguments), self.context)
        kind = returned_kind(self.function, (*self.given, arguments[1]), self.context)
        return kind if self.takes is Takes.CARRY else of_items([NOTHING, kind])

    def settled(self, start: Kind, in_pair: bool) -> Kind:
        """The kind of the carry, given that the body has to keep its structure.

        What is added or multiplied and stays what it is, is no tuple.

        Args:
          start: the kind of the start value.
          in_pair: whether the body returns the carry in a pair.
        """
        returned = expression(self.returned)
        if in_pair:
            if not isinstance(returned, ast.Tuple) or len(returned.elts) != 2:
                return start
            returned = returned.elts[0]
        if start == UNKNOWN and isinstance(returned, ast.Tuple):
            start = of_items([UNKNOWN] * len(returned.elts))
        if isinstance(returned, ast.Tuple) and len(start.items) == len(returned.elts):
            pairs = zip(start.items, returned.elts, strict=True)
            return of_items([self._settled_item(k, e) for k, e in pairs])
        return self._settled_item(start, returned)

    def _settled_item(self, start: Kind, new: ast.expr) -> Kind:
        if start == UNKNOWN and isinstance(new, ast.Name):
            new = next((v for v in map(_value(new.id), self.code.statements[::-1]) if v), new)
        return ARRAY if start == UNKNOWN and isinstance(new, ast.BinOp) else start


def _value(name: str) -> Callable[[ast.stmt], ast.expr | None]:
    """Gives the value that a statement assigns to a name."""

    def value(statement: ast.stmt) -> ast.expr | None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=found) if target == name:
                return found
        return None

    return value


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
    if whole.text[whole.end(last) :].strip() or ("\n" in returned and "#" in returned):
        return None
    code = Code(whole.text[: whole.line_start(whole.start(last))].rstrip("\n"))
    code, returned = unpacked_at_the_end(code, returned)
    context = FunctionContext(site.context.module, definition)
    names = _both(parameters(definition), takes)
    returned = _as_pair(returned, takes)
    return Body(code, names, returned, definition, gone, context, takes=takes)


def _both(names: list[str], takes: Takes) -> tuple[str, str]:
    first, second = names if takes is Takes.BOTH else (NO_PARAMETER, *names)
    return first, second


def _as_pair(returned: str, takes: Takes) -> str:
    return f"(None, ({returned}))" if takes is Takes.SLICE else returned


def _of_lambda(
    site: Site, function: ast.Lambda, definition: ast.stmt | None, takes: Takes
) -> Body | None:
    a = function.args
    names = parameters(function)
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
        return None
    if len(names) != (2 if takes is Takes.BOTH else 1):
        return None
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(function)):
        return None
    returned = one_line(site.context.source, function.body)
    if "#" in returned:
        return None
    both = _both(names, takes)
    returned = _as_pair(returned, takes)
    return Body(Code(""), both, returned, function, definition, site.context, takes=takes)


def own_definition(site: Site, function: ast.Name) -> ast.FunctionDef | ast.Assign | None:
    """The local definition of the body, if this call is its only use."""
    context = site.context
    if isinstance(context.node, ast.Module):
        return None
    inside = set(walk_all(context.node.body))
    uses = [
        n
        for n in inside
        if isinstance(n, ast.Name) and n.id == function.id and isinstance(n.ctx, ast.Load)
    ]
    if uses != [function]:
        return None
    block = block_of(site.statement, context)
    for statement in block[: block.index(site.statement)]:
        match statement:
            case ast.FunctionDef(name=name) if name == function.id:
                return statement
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()) if name == function.id:
                return statement
    return None


def _module_function(site: Site, function: ast.Name) -> ast.FunctionDef | None:
    """A function at the top of the module whose names mean the same at the call."""
    found = next(
        (
            s
            for s in site.context.module.tree.body
            if isinstance(s, ast.FunctionDef) and s.name == function.id
        ),
        None,
    )
    if found is None or set(free_names(found)) & site.context.locals:
        return None
    return found


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
    returned = _as_pair(f"{text}({', '.join(_given(names, takes))})", takes)
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
    text = _as_pair(f"{one_line(source, function)}({inside})", takes)
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
    candidates = context.module.traced.candidates
    if not isinstance(function, ast.Call):
        found = next(iter(candidates(function)), None)
        return found if isinstance(found, ast.FunctionDef | ast.Lambda) else None
    maker = next(iter(candidates(function.func)), None)
    if not isinstance(maker, ast.FunctionDef):
        return None
    returns = [n.value for n in walk_scope(maker.body) if isinstance(n, ast.Return)]
    if len(returns) != 1 or not isinstance(returns[0], ast.Name | ast.Lambda):
        return None
    return _source(context, returns[0])


def _positional(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    count: int,
    keywords: tuple[str, ...],
    takes: Takes,
) -> list[str]:
    """The parameters that a loop gives values to: two of them, others have a default."""
    a = function.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    required = names[: len(names) - len(a.defaults)]
    own = [n for n in names if n not in ("self", "cls")][count:]
    own = [n for n in own if n not in keywords]
    if takes is not Takes.BOTH:
        own = [NO_PARAMETER, *own]
    return own if len(own) <= 2 or own[2] in required else own[:2]


def _wished(
    function: ast.FunctionDef | ast.Lambda | None,
    count: int,
    keywords: tuple[str, ...],
    wishes: tuple[str, str],
    takes: Takes,
) -> tuple[str, str]:
    """Names for the two parameters: those of the source, where it gives them."""
    own = _positional(function, count, keywords, takes) if function is not None else []
    if len(own) != 2:
        return wishes
    first, second = (n if n.strip("_") else w for n, w in zip(own, wishes, strict=True))
    return first, second


def _own_lists(nodes: list[ast.AST]) -> set[str]:
    """Names that the code gives to new lists."""
    return {
        n.targets[0].id
        for n in nodes
        if isinstance(n, ast.Assign)
        and isinstance(n.targets[0], ast.Name)
        and isinstance(n.value, ast.List)
    }


def _is_mutation(node: ast.AST, own: set[str]) -> bool:
    if isinstance(node, ast.Subscript | ast.Attribute):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        value = node.func.value
        if isinstance(value, ast.Name) and value.id in own:
            return False
        return node.func.attr in _MUTATING and not isinstance(value, ast.Subscript)
    return False
