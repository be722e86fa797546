"""Slices of constant width at the index: `x[i : i + k]`.

Python cuts a window short at the end of an array, `lax.dynamic_slice` moves it: they are
the same only where every window fits. Windows side by side are rows of a reshaped array,
and reshaping raises where the last one would be short.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

from forscan.analyse.arrays import is_array
from forscan.analyse.linear import difference, linear
from forscan.analyse.trip_count import leading, stable
from forscan.analyse.use import Kind
from forscan.model import Element, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.passes.mirror import mirror
from forscan.syntax.code import expression
from forscan.syntax.names import reads


@dataclass(frozen=True)
class _Window:
    """One slice `base[lower : lower + width]` along the leading axis."""

    node: ast.Subscript
    base: str
    lower: str
    width: str


def windows(draft: Draft) -> Draft:
    """Replaces windows by rows of xs or by dynamic slices.

    Raises:
      Refused: a window may be cut short, or is none.
    """
    found: dict[ast.AST, _Window] = {}
    for use in draft.index_uses:
        if use.kind is Kind.WINDOW and use.read is not None and use.read not in found:
            window = _window(draft, use.read)
            if window is None:
                raise Refused(_refusal(use.node))
            found[use.read] = window
    nodes = mirror(draft) if found else {}
    body = draft.loop.body
    edits = []
    rows: dict[tuple[str, str], str] = {}
    for node, window in found.items():
        now = nodes.get(node)
        assert isinstance(now, ast.Subscript)
        key = (window.base, window.width)
        if _side_by_side(draft, window):
            if key not in rows:
                rows[key] = draft.fresh.name(f"{window.base}_window", "window")
            edits.append(body.replace(now, rows[key]))
        elif _fits(draft, window):
            call = f"dynamic_slice_in_dim({window.base}, {window.lower}, {window.width})"
            edits.append(body.replace(now, f"{draft.spelling.lax}.{call}"))
        else:
            raise Refused(_refusal(node))
    elements = tuple(_element(draft, *key, name) for key, name in rows.items())
    return draft.with_loop(body=body.edited(edits), elements=(*draft.loop.elements, *elements))


def _refusal(node: ast.AST) -> Refusal:
    assert isinstance(node, ast.expr)
    return Refusal(
        "FSC401",
        f"{ast.unparse(node)} is a bound of a slice, which is static: it needs a Python value, and "
        "nothing shows that it is a window of constant width that always fits",
        "Use lax.dynamic_slice_in_dim, which moves a window that would be cut short.",
        node.lineno,
        node.col_offset + 1,
    )


def _window(draft: Draft, node: ast.Subscript) -> _Window | None:
    part = node.slice
    counter = draft.loop.counter
    if not isinstance(part, ast.Slice) or part.step or counter is None:
        return None
    if part.lower is None or part.upper is None or not isinstance(node.value, ast.Name):
        return None
    changed = {*draft.state.carried, *draft.state.local, *draft.state.last, *draft.state.targets}
    lower, upper = (linear(e, draft.context) for e in (part.lower, part.upper))
    width = Counter(upper)
    width.subtract(lower)
    if width[counter.name] or lower[counter.name] != 1 or node.value.id in changed:
        return None
    if not is_array(node.value, draft.context) or not stable(node.value, draft.context):
        return None
    text = _width_text(part.lower, part.upper, width)
    if text is None or set(reads(expression(text))) & changed:
        return None
    return _Window(node, node.value.id, ast.unparse(part.lower), text)


def _width_text(lower: ast.expr, upper: ast.expr, width: Counter[str]) -> str | None:
    """Python for the width, as it is written where it is written."""
    if isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add):
        for one, other in ((upper.left, upper.right), (upper.right, upper.left)):
            if ast.dump(one) == ast.dump(lower):
                return ast.unparse(other)
    return str(width[""]) if not any(c for t, c in width.items() if t) else None


def _side_by_side(draft: Draft, window: _Window) -> bool:
    counter = draft.loop.counter
    assert counter is not None
    if draft.target != "scan" or counter.start != "0" or window.lower != counter.name:
        return False
    rows = leading(expression(window.base), draft.context)
    stop = linear(expression(counter.stop), draft.context)
    whole = difference(stop, Counter({rows.base: 1, "": rows.constant})) == 0
    return whole and counter.step == window.width != "1"


def _fits(draft: Draft, window: _Window) -> bool:
    """Whether the window of the last index ends within the array."""
    counter = draft.loop.counter
    assert counter is not None
    first = linear(expression(counter.start), draft.context)
    if counter.step != "1" or difference(first, Counter()) is None or first[""] < 0:
        return False
    end = linear(expression(f"({counter.stop}) - 1 + ({window.width})"), draft.context)
    end.update(linear(expression(window.lower), draft.context))
    end[counter.name] -= 1
    offset = linear(expression(window.lower), draft.context)[""]
    rows = leading(expression(window.base), draft.context)
    room = difference(Counter({rows.base: 1, "": rows.constant}), end)
    return room is not None and room >= 0 and first[""] + offset >= 0


def _element(draft: Draft, base: str, width: str, name: str) -> Element:
    counter = draft.loop.counter
    assert counter is not None
    wide = width if width.isidentifier() or width.isdigit() else f"({width})"
    shape = f"{counter.stop} // {wide}, {width}, *{base}.shape[1:]"
    return Element(name, f"{base}.reshape({shape})")
