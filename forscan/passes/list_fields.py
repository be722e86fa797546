"""Lists of tuples or dicts of which only parts are read behind the loop: `[o["x"] for o in out]`.

The outputs of a scan are one tuple or dict of stacks, so such a part of all items is one stack.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forscan.analyse.items import is_array_expression
from forscan.analyse.trip_count import literal_int
from forscan.find.context import FunctionContext
from forscan.syntax.source import Edit

_STACKS = {"jax.numpy.stack", "jax.numpy.array", "jax.numpy.asarray"}


@dataclass(frozen=True)
class Fields:
    """The parts of what one list is filled with.

    Attributes:
      items: the tuples or dicts that are appended.
      body: the statements of the loop.
      stacked: takes a call of `jnp.stack` to be a text that is made of items, and notes the edit.
    """

    items: tuple[ast.expr, ...]
    body: list[ast.stmt]
    context: FunctionContext
    stacked: Callable[[ast.Call, str, str, Sequence[ast.expr]], bool]

    def of_one(self, item: ast.Subscript, name: str) -> Edit | None:
        """`out[k]["x"]` as `out["x"][k]`, None where it is something else.

        Args:
          item: `out[k]`.
          name: of the list.
        """
        part = self.context.parent(item)
        if not isinstance(part, ast.Subscript) or part.value is not item:
            return None
        reads = isinstance(part.ctx, ast.Load) and isinstance(item.ctx, ast.Load)
        if not reads or literal_int(item.slice) is None or not self._arrays(part.slice):
            return None
        source = self.context.source
        key, index = source.segment(part.slice), source.segment(item.slice)
        return Edit(source.start(part), source.end(part), f"{name}[{key}][{index}]")

    def of_all(self, clause: ast.comprehension, name: str, order: str) -> bool:
        """Whether `jnp.stack([o["x"] for o in out])` is one of the stacks; notes the edit.

        Args:
          clause: `for o in out`.
          name: of the list.
          order: `[::-1]` where the items come in the other order than the outputs.
        """
        whole = self.context.parent(clause)
        if not isinstance(whole, ast.ListComp) or len(whole.generators) != 1 or clause.ifs:
            return False
        call, key = self.context.parent(whole), self._key(whole.elt, clause.target)
        if not isinstance(call, ast.Call) or call.args[:1] != [whole] or key is None:
            return False
        path, parts = self.context.resolve(call.func), self._arrays(key)
        if path not in _STACKS or parts is None:
            return False
        return self.stacked(call, path, f"{name}[{self._text(key)}]{order}", parts)

    def _text(self, key: ast.expr) -> str:
        return self.context.source.segment(key) if hasattr(key, "lineno") else ast.unparse(key)

    def _key(self, part: ast.expr, target: ast.expr) -> ast.expr | None:
        """What `o[key]` takes of the target `o`, or the place of `a` in the target `a, b`."""
        match part, target:
            case ast.Subscript(value=ast.Name(id=read), slice=key), ast.Name(id=name):
                return key if read == name else None
            case ast.Name(id=read), ast.Tuple(elts=parts):
                names = [p.id if isinstance(p, ast.Name) else "" for p in parts]
                sizes = {len(i.elts) if isinstance(i, ast.Tuple) else -1 for i in self.items}
                if names.count(read) == 1 and sizes == {len(names)}:
                    return ast.Constant(names.index(read))
        return None

    def _arrays(self, key: ast.expr) -> list[ast.expr] | None:
        """What all items have at that place, None where not all of it are arrays."""
        parts = [p for item in self.items if (p := _part(item, key)) is not None]
        fine = all(is_array_expression(p, self.body, self.context) for p in parts)
        return parts if fine and len(parts) == len(self.items) else None


def _part(item: ast.expr, key: ast.expr) -> ast.expr | None:
    """What a tuple or a dict display holds at a literal key."""
    index = literal_int(key)
    match item, key:
        case ast.Tuple(elts=elements), _ if index is not None and -1 <= index < len(elements):
            return None if any(isinstance(e, ast.Starred) for e in elements) else elements[index]
        case ast.Dict(keys=keys, values=values), ast.Constant(value=str(wanted)):
            known = [k.value if isinstance(k, ast.Constant) else None for k in keys]
            return values[known.index(wanted)] if known.count(wanted) == 1 else None
    return None
