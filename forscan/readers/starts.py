"""Start values of a carry: what a `for` may begin with so that it computes the same.

A scan makes arrays of its start. In a `for` a Python number would stay one until it
meets an array, which is the same only under a trace and for plain arithmetic.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.containers import made_before
from forscan.analyse.kinds import kind_of
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.readers.body import Body
from forscan.readers.calls import is_number
from forscan.syntax.code import one_line
from forscan.syntax.names import binds
from forscan.syntax.source import Edit, apply_edits
from forscan.syntax.walk import walk, walk_all

_RISKY_OPERATORS = (ast.Pow, ast.LShift, ast.RShift, ast.FloorDiv, ast.Div, ast.Mod)
_ARRAY_ONLY = {"shape", "dtype", "astype", "at", "ndim", "size", "reshape", "T", "sum"}


class Starts:
    """Start values for one call.

    Args:
      site: the call.
      body: its body.
      items: what the body calls the items of its state.
    """

    def __init__(self, site: Site, body: Body, items: Iterable[str] = ()) -> None:
        self.site = site
        self.body = body
        self.items = set(items)
        self.source = site.context.source
        self.spelling = site.context.module.spelling(site.node)
        self.jnp, self.jax = self.spelling.jnp, self.spelling.jax
        self.traced = site.context.module.traced.reason(site.node) is not None

    def text(self, node: ast.expr, name: str | None = None) -> str:
        """Python for a start value.

        Args:
          node: the value.
          name: what the body calls it in the file, where it is an item of the state.
        """
        numbers = [n for n in _leaves(node) if self.is_array_later(n)]
        if numbers:
            start = self.source.start(node)
            edits = [
                Edit(
                    self.source.start(n) - start,
                    self.source.end(n) - start,
                    f"{self.jnp}.asarray({self.source.segment(n)})",
                )
                for n in numbers
            ]
            return apply_edits(self.source.segment(node), edits)
        text = one_line(self.source, node)
        if not _is_new(node) and self.is_changed(name) and not self.is_own(node):
            # The body changes what it is given; the caller's containers stay as they are.
            return self.spelling.copied(text)
        if not self.traced and isinstance(node, ast.Name):
            kind = kind_of(node, self.site.context)
            if not kind.is_array and not self.makes_arrays(node.id):
                return f"{self.jax}.tree.map({self.jnp}.asarray, {text})"
        return text

    def is_changed(self, name: str | None) -> bool:
        """Whether the body may change in place what it calls by a name."""
        changed = {c.id if isinstance(c, ast.Name) else "" for c in self.body.mutations}
        return name in changed if name and changed <= self.items else bool(changed)

    def is_own(self, node: ast.expr) -> bool:
        """Whether a name stands for a container that was made for this loop."""
        context, statement = self.site.context, self.site.statement
        flat = all(isinstance(c, ast.Name) for c in self.body.mutations)
        if not flat or not isinstance(node, ast.Name):
            return False
        reads = [n for n in walk(statement) if isinstance(n, ast.Name) and n.id == node.id]
        if sum(isinstance(n.ctx, ast.Load) for n in reads) != 1:
            return False
        graph = context.graph
        behind = graph.nodes[graph.statements[statement]].successors
        seen = any(node.id in context.live[s] for s in behind)
        if seen and node.id not in binds(statement):
            return False
        return made_before(node.id, statement, context) is not None

    def makes_arrays(self, name: str) -> bool:
        """Whether a parameter is annotated or used as an array in the body as well."""
        return kind_of(ast.Name(name, ast.Load()), self.body.context).is_array

    def is_array_later(self, leaf: ast.expr) -> bool:
        """Whether a leaf has to become an array first, as a scan makes one of it.

        NumPy computes in double precision, and its arrays have no `at`.
        """
        if is_number(leaf):
            return not self.may_stay(leaf)
        return evidence(leaf, self.site.context) is Evidence.NUMPY

    def may_stay(self, number: ast.expr) -> bool:
        """Under a trace a Python number is a weakly typed constant, which is the same.

        Powers and divisions of Python integers are not those of int32, and only arrays
        have attributes.
        """
        value = ast.literal_eval(number)
        if not self.traced or isinstance(value, bool):
            return False
        return _plain(self.body.nodes, self.body.context, depth=3)


def _plain(nodes: list[ast.AST], context: FunctionContext, depth: int) -> bool:
    """Whether code treats numbers and arrays alike, with all that it calls."""
    for node in walk_all(nodes):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, _RISKY_OPERATORS):
            if not _is_float(node):
                return False
        if isinstance(node, ast.Attribute) and node.attr in _ARRAY_ONLY:
            if context.resolve(node) is None:  # not `jnp.sum`
                return False
        if isinstance(node, ast.Call) and not _plain_call(node, context, depth):
            return False
    return True


def _is_float(node: ast.BinOp | ast.AugAssign) -> bool:
    """A division by a float literal is a float division for integers too."""
    right = node.right if isinstance(node, ast.BinOp) else node.value
    return (
        isinstance(node.op, ast.Div)
        and isinstance(right, ast.Constant)
        and isinstance(right.value, float)
    )


def _plain_call(node: ast.Call, context: FunctionContext, depth: int) -> bool:
    path = context.resolve(node.func) or ""
    if path.startswith("jax.") or path in ("len", "range", "zip", "enumerate", "dict", "tuple"):
        return True
    callee = context.module.traced.only(node.func)
    if callee is None or depth == 0:
        return False
    if isinstance(callee, ast.Lambda):
        return _plain([callee.body], context, depth - 1)
    return _plain(list(callee.body), FunctionContext(context.module, callee), depth - 1)


def _is_new(node: ast.expr) -> bool:
    """Whether an expression makes all the containers in its value."""
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(_is_new(i) for i in items)
        case ast.Dict(values=values):
            return all(_is_new(v) for v in values)
    return isinstance(node, ast.Constant | ast.Call | ast.BinOp | ast.UnaryOp)


def _leaves(node: ast.expr) -> list[ast.expr]:
    """The leaves of a start value, as far as it is written out."""
    if isinstance(node, ast.Tuple | ast.List):
        return [n for e in node.elts for n in _leaves(e)]
    if isinstance(node, ast.Dict):
        return [n for v in node.values for n in _leaves(v)]
    return [node]
