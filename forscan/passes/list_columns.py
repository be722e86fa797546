"""Lists of tuples that are taken apart behind the loop: `states, rewards = zip(*steps)`.

The outputs of a scan are such columns already, one stack for each place of the tuple.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forscan.analyse.array_words import STACKS
from forscan.analyse.items import is_array_expression
from forscan.analyse.trip_count import binding_counts
from forscan.find.context import FunctionContext
from forscan.syntax.source import Edit


@dataclass(frozen=True)
class Columns:
    """The tuples of one list.

    Attributes:
      items: the tuple that each iteration appends.
      body: the statements of the loop.
      stacked: takes a call of `jnp.stack` to be a text that is made of items, and notes the edit.
      numbers: whether some items are Python numbers.
    """

    items: ast.Tuple
    body: list[ast.stmt]
    context: FunctionContext
    stacked: Callable[[ast.Call, str, str, Sequence[ast.expr]], bool]
    numbers: Callable[[Sequence[ast.expr]], bool]

    def taken(self, zipped: ast.Call, stacks: str) -> Edit | None:
        """The edit that puts the stacks in place of what a zip is for, None where it cannot be.

        Args:
          zipped: `zip(*steps)`.
          stacks: Python for the outputs of the scan.
        """
        whole = self._each_stacked(zipped)
        if whole is None:
            return self._edit(zipped, stacks) if self._unpacked(zipped) else None
        around = self._parent(whole)
        if isinstance(around, ast.Call) and self._is(around, "tuple"):
            return self._edit(around, stacks)
        if isinstance(around, ast.Call) and self._is(around, "list"):
            return self._edit(around, f"list({stacks})")
        unpacked = isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Tuple)
        if unpacked or isinstance(around, ast.Starred):
            return self._edit(whole, stacks)
        return self._edit(whole, f"list({stacks})") if isinstance(whole, ast.ListComp) else None

    def _each_stacked(self, zipped: ast.Call) -> ast.expr | None:
        """`jnp.stack(c) for c in zip(*steps)` or `map(jnp.stack, zip(*steps))`."""
        match self._parent(zipped):
            case ast.comprehension(target=ast.Name(id=name), ifs=[]) as clause:
                whole = self._parent(clause)
                if not isinstance(whole, ast.ListComp | ast.GeneratorExp):
                    return None
                match whole.elt, whole.generators:
                    case ast.Call(func=made, args=[ast.Name(id=column)], keywords=[]), [_]:
                        return whole if column == name and self._stack(made, None) else None
            case ast.Call(args=[made, columns]) as call if columns is zipped:
                return call if self._is(call, "map") and self._stack(made, None) else None
        return None

    def _unpacked(self, zipped: ast.Call) -> bool:
        """Whether `a, b = zip(*steps)` gives names that are nothing but stacked."""
        statement = self._parent(zipped)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(self.items.elts):
            return False
        return all(
            isinstance(name, ast.Name) and self._only_stacked(name.id, item, statement)
            for name, item in zip(target.elts, self.items.elts, strict=True)
        )

    def _only_stacked(self, name: str, item: ast.expr, unpacked: ast.Assign) -> bool:
        """Whether a column is read in calls of `jnp.stack` only, until it is one itself."""
        again = self._rebound(name, unpacked)
        if binding_counts(self.context)[name] != 1 + (again is not None):
            return False
        until = again.lineno if again is not None else math.inf
        for read in self.context.alike(ast.Name(name, ast.Load())):
            call = self._parent(read)
            if getattr(read, "lineno", 0) > until:
                continue
            if not isinstance(call, ast.Call) or call.args[:1] != [read]:
                return False
            path = self.context.resolve(call.func) or ""
            if not self._stack(call.func, item) or not self.stacked(call, path, name, [item]):
                return False
        return True

    def _rebound(self, name: str, unpacked: ast.Assign) -> ast.Assign | None:
        """`states = jnp.stack(states)` in the same block."""
        for statement in self.context.nodes:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=target)], value=ast.Call(args=[ast.Name(id=read), *_])
                ) if (target == read == name):
                    if self._parent(statement) is self._parent(unpacked):
                        return statement
        return None

    def _stack(self, function: ast.expr, item: ast.expr | None) -> bool:
        """Whether a function stacks a column; `jnp.array` takes tuples apart as well."""
        path = self.context.resolve(function)
        if path == "jax.numpy.stack":
            return True
        if item is None and self.numbers(self.items.elts):
            return False  # an array of them is strongly typed, as no output of a scan
        items = self.items.elts if item is None else [item]
        return path in STACKS and all(
            is_array_expression(i, self.body, self.context) for i in items
        )

    def _is(self, call: ast.Call, builtin: str) -> bool:
        return self.context.resolve(call.func) == builtin and not call.keywords

    def _parent(self, node: ast.AST) -> ast.AST | None:
        return self.context.parent(node)

    def _edit(self, node: ast.expr, text: str) -> Edit:
        source = self.context.source
        return Edit(source.start(node), source.end(node), text)
