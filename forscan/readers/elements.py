"""What the iterations of a scan take as slices: its xs, as elements of the neutral loop."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.array_words import TREE_MAPS
from forscan.analyse.items import used_as_an_array
from forscan.analyse.kinds import ARRAY, UNKNOWN, kind_of, of_items
from forscan.analyse.kinds import Kind as ValueKind
from forscan.analyse.use import Kind, Use
from forscan.analyse.uses import Uses
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Counter, Element
from forscan.readers.body import Body
from forscan.readers.lax_loop import LaxLoop
from forscan.readers.own_values import own_tuple
from forscan.readers.patterns import aligned, head_unpacking, leaves, reads_in
from forscan.syntax.code import Code, expression, one_line, removal
from forscan.syntax.names import binds, defaults, reads
from forscan.syntax.walk import walk_all


class Elements:
    """The xs of one scan.

    Args:
      site: the call.
      xs: its xs.
      length: its trip count, where that is given.
      reverse: whether the last slice comes first.
    """

    def __init__(
        self, site: Site, xs: ast.expr, length: ast.expr | None = None, reverse: bool = False
    ) -> None:
        self.site, self.length, self.reverse = site, length, reverse
        self.context = site.context
        self.given = xs
        self.display, self.statement = own_tuple(site, xs)

    def text(self, node: ast.expr) -> str:
        return one_line(self.context.source, node)

    def kind(self, body: Body) -> ValueKind:
        """The kind of one slice, from where it comes and from what the body does with it."""
        kind = kind_of(self.display, self.context)
        names = body.own_parameters
        if len(names) != 2:
            return kind
        if kind == UNKNOWN and _uses_as_array(body, names[1]):
            return ARRAY
        pattern = _unpacked(body, names[1])
        if pattern is None or not isinstance(self.display, ast.Tuple):
            items = enumerate(kind.items)
            return replace(
                kind,
                items=tuple(self.item_kind(k, _uses_as_array(body, names[1], i)) for i, k in items),
            )
        parts = aligned(pattern, self.display)
        if isinstance(pattern, ast.Tuple) and parts and len(parts) == len(kind.items):
            pairs = zip(leaves(pattern) or (), kind.items, strict=True)
            return of_items([self.item_kind(k, _uses_as_array(body, n)) for n, k in pairs])
        return kind

    @staticmethod
    def item_kind(kind: ValueKind, used: bool) -> ValueKind:
        return ARRAY if kind == UNKNOWN and used else kind

    def read(self, lax: LaxLoop) -> tuple[Counter | None, list[Element]]:
        """The elements, and the index where one of them is no more than that.

        One element, or one for each item of `xs = (a, b)` that the body takes apart.
        """
        name = lax.other
        found = head_unpacking(lax.code, name)
        texts = [o.value for o in lax.outputs] + [c.update for c in lax.carries]
        if found is not None and reads_in(lax.code, name) == [found[0]]:
            parts = aligned(found[1], self.display)
            if parts is not None and not any(name in reads(expression(t)) for t in texts):
                lax.code = Code(lax.code.edited([removal(lax.code, found[0])]).text.strip("\n"))
                lax.gone += [self.statement] if self.statement is not None else []
                return self.items(lax, leaves(found[1]) or [], parts)
        whole = self.zipped(lax, name)
        return None, [whole or self.element(lax, name, self.given)]

    def items(
        self, lax: LaxLoop, names: list[str], parts: list[ast.expr]
    ) -> tuple[Counter | None, list[Element]]:
        counter: Counter | None = None
        elements: list[Element] = []
        for name, part in zip(names, parts, strict=True):
            if isinstance(part, ast.Constant) and part.value is None:
                line = f"{name} = None"
                if name in binds(lax.code.statements):
                    lax.put_first(line)
                else:
                    lax.before.append(line)
                continue
            index = arange(part, self.context)
            plain = len(parts) > 1 and not self.reverse and counter is None
            if plain and index is not None and (index.start, index.step) == ("0", "1"):
                if not index_is_a_number(lax, name):
                    counter = replace(index, name=name)
                    continue
            elements.append(self.element(lax, name, part))
        return (counter, elements) if elements else (None, [self.element(lax, names[0], parts[0])])

    def zipped(self, lax: LaxLoop, name: str) -> Element | None:
        """A tuple of arrays that the body takes as a whole: what `zip` gives."""
        if not isinstance(self.display, ast.Tuple) or len(self.display.elts) < 2:
            return None
        kinds = self.kind(lax.body).items
        if len(kinds) != len(self.display.elts) or not all(k.is_array for k in kinds):
            return None
        if self.statement is not None:
            lax.gone.append(self.statement)
        texts = tuple(self.text(e) for e in self.display.elts)
        return Element(name, self.text(self.display), is_array=False, parts=texts)

    def element(self, lax: LaxLoop, name: str, source: ast.expr) -> Element:
        source = self.whole_tree(source)
        kind = kind_of(source, self.context)
        used = _uses_as_array(lax.body, lax.own(name)) and not self.may_be_none(source)
        is_array = kind.is_array or (kind == UNKNOWN and used)
        text = self.text(source)
        if not is_array and not isinstance(source, ast.Name | ast.Attribute | ast.Subscript):
            # It is read in each iteration, so it is made once.
            bound = self.context.fresh.name("xs", "items")
            lax.before.append(f"{bound} = {text}")
            text = bound
        return Element(name, text, is_array)

    def may_be_none(self, source: ast.expr) -> bool:
        """Whether xs are a parameter that is None where nobody gives it."""
        if self.length is None or isinstance(self.context.node, ast.Module):
            return False
        default = defaults(self.context.node.args).get(getattr(source, "id", ""))
        return isinstance(default, ast.Constant) and default.value is None

    def whole_tree(self, source: ast.expr) -> ast.expr:
        """The tree whose leaves are cut to the trip count, as only so many slices are taken."""
        match source:
            case ast.Call(
                func=function,
                args=[
                    ast.Lambda(
                        args=ast.arguments(args=[ast.arg(arg=leaf)]),
                        body=ast.Subscript(
                            value=ast.Name(id=cut),
                            slice=ast.Slice(lower=None, upper=end, step=None),
                        ),
                    ),
                    tree,
                ],
                keywords=[],
            ) if (
                leaf == cut and self.context.resolve(function) in TREE_MAPS
            ):
                if end is not None and self.length is not None:
                    return tree if self.text(end) == self.text(self.length) else source
        return source

    def trip_count(self, elements: list[Element]) -> str:
        """The length of an array among the xs, else of the first leaf."""
        for element in elements:
            if element.is_array and element.source.isidentifier():
                return f"len({element.source})"
        for node in walk_all([self.display]):
            if isinstance(node, ast.Name) and self.is_leaf(node):
                if kind_of(node, self.context).is_array:
                    return f"len({node.id})"
        jax = self.context.module.spelling(self.site.node).jax
        source = elements[0].source if elements else self.text(self.given)
        return f"{jax}.tree.leaves({source})[0].shape[0]"

    def is_leaf(self, node: ast.expr) -> bool:
        """Whether a part of the xs is only packed into tuples, lists and dicts."""
        parent: ast.AST = node
        while parent is not self.display:
            child, parent = parent, self.context.parent(parent)
            if isinstance(parent, ast.Dict):
                if child in parent.keys:
                    return False
            elif not isinstance(parent, ast.Tuple | ast.List):
                return False
        return True


def arange(node: ast.expr, context: FunctionContext) -> Counter | None:
    """`jnp.arange(…)` over integers, as an index without a name."""
    if not isinstance(node, ast.Call) or node.keywords or not 1 <= len(node.args) <= 3:
        return None
    if context.resolve(node.func) != "jax.numpy.arange":
        return None
    if any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in walk_all(node.args)):
        return None
    texts = [one_line(context.source, a) for a in node.args]
    start = texts[0] if len(texts) > 1 else "0"
    stop = texts[1] if len(texts) > 1 else texts[0]
    step = texts[2] if len(texts) > 2 else "1"
    return Counter("", stop, start, step, strong=True)


def index_is_a_number(lax: LaxLoop, name: str) -> bool:
    """Whether the body uses a strongly typed index for more than indexing."""
    function = lax.body.function
    if function is None:
        return True
    own = lax.own(name)
    place = lax.body.place
    uses = Uses(place, lax.body.nodes).of(own, integer=True)
    deleted = any(
        isinstance(n, ast.Name) and n.id == own and isinstance(n.ctx, ast.Del)
        for n in walk_all(lax.body.nodes)
    )
    return deleted or any(u.kind > Kind.PURE and not _is_bound(u, place) for u in uses)


def _is_bound(use: Use, context: FunctionContext) -> bool:
    """Whether an index bounds a loop inside, whose own index is as strongly typed."""
    call = context.parent(use.node)
    if not isinstance(call, ast.Call) or use.node not in call.args[:2]:
        return False
    return context.resolve(call.func) == "jax.lax.fori_loop"


def _uses_as_array(body: Body, name: str, item: int | None = None) -> bool:
    """Whether the body uses a variable, under its own name, as only arrays can be used."""
    if body.function is None:
        return False
    place = body.place
    if isinstance(body.function, ast.FunctionDef) and item is None:
        if kind_of(ast.Name(name, ast.Load()), place) == ARRAY:
            return True
    return used_as_an_array(name, body.nodes, place, item=item)


def _unpacked(body: Body, name: str) -> ast.expr | None:
    """The pattern that takes a parameter apart, under its own names."""
    for statement in body.nodes:
        match statement:
            case ast.Assign(targets=[ast.Tuple() as pattern], value=ast.Name(id=value)) if (
                value == name
            ):
                return pattern if leaves(pattern) is not None else None
    return None
