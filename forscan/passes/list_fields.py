"""Lists of tuples, dicts or records of which only parts are read behind: `[o["x"] for o in out]`.

The outputs of a scan are one tuple, dict or record of stacks, so such a part of all items is one
stack. The fields of a record are arrays where its class says so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forscan.analyse.array_words import STACKS
from forscan.analyse.arrays import assigned_values
from forscan.analyse.items import is_array_expression
from forscan.analyse.trip_count import literal_int
from forscan.find.context import FunctionContext
from forscan.syntax.source import Edit

_ARRAYS = {"jax.Array", "jax.numpy.ndarray"}


@dataclass(frozen=True)
class Fields:
    """The parts of what one list is filled with.

    Attributes:
      items: the tuples, dicts or records that are appended.
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
        if not isinstance(part, ast.Subscript | ast.Attribute) or part.value is not item:
            return None
        reads = isinstance(part.ctx, ast.Load) and isinstance(item.ctx, ast.Load)
        key = part.slice if isinstance(part, ast.Subscript) else part
        if not reads or literal_int(item.slice) is None or self._arrays(key) is None:
            return None
        source = self.context.source
        text = f"{name}{self._text(key)}[{source.segment(item.slice)}]"
        return Edit(source.start(part), source.end(part), text)

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
        if path not in STACKS or parts is None:
            return False
        if isinstance(key, ast.Attribute) and path != "jax.numpy.stack":
            return False  # of numbers, whatever the class says, an array has another type
        return self.stacked(call, path, f"{name}{self._text(key)}{order}", parts)

    def _text(self, key: ast.expr) -> str:
        if isinstance(key, ast.Attribute):
            return f".{key.attr}"
        known = hasattr(key, "lineno")
        return f"[{self.context.source.segment(key) if known else ast.unparse(key)}]"

    def _key(self, part: ast.expr, target: ast.expr) -> ast.expr | None:
        """What `o[key]` or `o.key` takes of the target `o`; the place of `a` in `a, b`."""
        match part, target:
            case ast.Attribute(value=ast.Name(id=read)), ast.Name(id=name):
                return part if read == name else None
            case ast.Subscript(value=ast.Name(id=read), slice=key), ast.Name(id=name):
                return key if read == name else None
            case ast.Name(id=read), ast.Tuple(elts=parts):
                names = [p.id if isinstance(p, ast.Name) else "" for p in parts]
                sizes = {len(i.elts) if isinstance(i, ast.Tuple) else -1 for i in self.items}
                if names.count(read) == 1 and sizes == {len(names)}:
                    return ast.Constant(names.index(read))
        return None

    def _arrays(self, key: ast.expr) -> list[ast.expr] | None:
        """What all items have at that place, None where not all of it are arrays.

        Of a record it is in the hands of its class, and not in the source.
        """
        if isinstance(key, ast.Attribute):
            fine = all(self._has_array(item, key.attr) for item in self.items)
            return [] if fine else None
        parts = [p for item in self.items if (p := _part(item, key)) is not None]
        fine = all(is_array_expression(p, self.body, self.context) for p in parts)
        return parts if fine and len(parts) == len(self.items) else None

    def _has_array(self, item: ast.expr, field: str) -> bool:
        """Whether a record is made by classes of the module that have an array of that name."""
        made = assigned_values(item.id, self.context) if isinstance(item, ast.Name) else [item]
        return bool(made) and all(
            isinstance(m, ast.Call)
            and isinstance(m.func, ast.Name)
            and self._declares_array(m.func.id, field)
            for m in made
        )

    def _declares_array(self, name: str, field: str) -> bool:
        classes = [
            c
            for c in self.context.module.tree.body
            if isinstance(c, ast.ClassDef) and c.name == name
        ]
        return len(classes) == 1 and any(
            isinstance(s, ast.AnnAssign)
            and isinstance(s.target, ast.Name)
            and s.target.id == field
            and self.context.resolve(s.annotation) in _ARRAYS
            for s in classes[0].body
        )


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
