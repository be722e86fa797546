"""Slices of constant width at the index: `x[i : i + k]`, `x[i * k : (i + 1) * k]`.

Python cuts a window short at the end of an array, `lax.dynamic_slice` moves it: they are
the same only where every window fits. Windows side by side are rows of a reshaped array,
and reshaping raises where the last one would be short.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.linear import difference, linear
from forscan.analyse.polynomial import plus, polynomial, times
from forscan.analyse.trip_count import leading, literal_int, stable
from forscan.analyse.use import Kind
from forscan.model import Element, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.passes.mirror import mirror
from forscan.syntax.code import expression
from forscan.syntax.names import reads


@dataclass(frozen=True)
class _Window:
    """One slice `base[lower : lower + width]` along an axis, all other axes taken whole."""

    node: ast.Subscript
    base: str
    axis: int
    lower: ast.expr
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
    rows: dict[tuple[str, str, int], str] = {}
    elements = []
    for node, window in found.items():
        now = nodes.get(node)
        assert isinstance(now, ast.Subscript)
        key = (window.base, window.width, window.axis)
        source = _rows(draft, window)
        if source is not None:
            if key not in rows:
                rows[key] = draft.fresh.name(f"{window.base}_window", "window")
                elements.append(Element(rows[key], source, gives_length=_is_whole(draft, window)))
            edits.append(body.replace(now, rows[key]))
        elif _fits(draft, window):
            edits.append(body.replace(now, _dynamic(draft, window)))
        else:
            raise Refused(_refusal(node))
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
    counter = draft.loop.counter
    place = _place(node)
    if place is None or counter is None or not isinstance(node.value, ast.Name):
        return None
    axis, part = place
    if part.lower is None or part.upper is None:
        return None
    changed = {*draft.state.carried, *draft.state.local, *draft.state.last, *draft.state.targets}
    # What turns out to be a list has no shape, which is loud.
    known = evidence(node.value, draft.context)
    if node.value.id in changed or known not in (Evidence.ARRAY, Evidence.UNKNOWN):
        return None
    width = _width(draft, part.lower, part.upper)
    if not stable(node.value, draft.context) or width is None:
        return None
    if set(reads(expression(width))) & changed or counter.name in reads(expression(width)):
        return None
    return _Window(node, node.value.id, axis, part.lower, width)


def _place(node: ast.Subscript) -> tuple[int, ast.Slice] | None:
    """The axis that is cut, and how, where all others are taken whole."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    cut = []
    for axis, part in enumerate(parts):
        if not isinstance(part, ast.Slice) or part.step is not None:
            return None
        if part.lower is not None or part.upper is not None:
            cut.append((axis, part))
    return cut[0] if len(cut) == 1 else None


def _width(draft: Draft, lower: ast.expr, upper: ast.expr) -> str | None:
    """Python for the width, as it is written where it is written."""
    if isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add):
        for one, other in ((upper.left, upper.right), (upper.right, upper.left)):
            if ast.dump(one) == ast.dump(lower):
                return ast.unparse(other)
    match list(plus(polynomial(upper), polynomial(lower), -1).items()):
        case [((), number)]:
            return str(number)
        case [((factor,), 1)]:
            return factor
    rest = linear(upper, draft.context)
    rest.subtract(linear(lower, draft.context))
    return str(rest[""]) if not any(c for t, c in rest.items() if t) else None


def _rows(draft: Draft, window: _Window) -> str | None:
    """The windows as rows of one array, where they stand side by side from the beginning on."""
    counter = draft.loop.counter
    assert counter is not None
    if counter.start != "0":
        return None
    index, width = expression(counter.name), expression(window.width)
    base, wide, stop = window.base, _factor(width), _factor(expression(counter.stop))
    if counter.step == window.width != "1" and ast.unparse(window.lower) == counter.name:
        if draft.target != "scan":
            return None
        count, end = f"{stop} // {wide}", "" if _is_whole(draft, window) else counter.stop
    elif counter.step == "1" and _is_multiple(window.lower, index, width):
        count, end = counter.stop, _product(stop, wide)
    else:
        return None
    whole = [":"] * window.axis
    if end:
        part = f":{end}" if end.isidentifier() or end.isdigit() else f": {end}"
        base = f"{base}[{', '.join([*whole, part])}]"
    before = [f"{window.base}.shape[{axis}]" for axis in range(window.axis)]
    behind = f"*{window.base}.shape[{window.axis + 1}:]"
    rows = f"{base}.reshape({', '.join([*before, count, window.width, behind])})"
    if not window.axis:
        return rows
    return f"{draft.spelling.jnp}.moveaxis({rows}, {window.axis}, 0)"


def _is_multiple(lower: ast.expr, index: ast.expr, width: ast.expr) -> bool:
    """Whether a window begins where the one before it ends."""
    number = literal_int(width)
    wide = number is None or number > 0
    return wide and polynomial(lower) == times(polynomial(index), polynomial(width))


def _factor(node: ast.expr) -> str:
    """An expression as a factor of a product."""
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp) else text


def _product(one: str, other: str) -> str:
    if one.isdigit() and other.isdigit():
        return str(int(one) * int(other))
    return one if other == "1" else f"{one} * {other}"


def _is_whole(draft: Draft, window: _Window) -> bool:
    """Whether an index that counts in steps goes through the whole axis."""
    counter = draft.loop.counter
    assert counter is not None
    rows = leading(expression(window.base), draft.context, axis=window.axis)
    stop = linear(expression(counter.stop), draft.context)
    same = difference(stop, Counter({rows.base: 1, "": rows.constant})) == 0
    return counter.step != "1" and same


def _fits(draft: Draft, window: _Window) -> bool:
    """Whether the window of the last index ends within the array."""
    counter = draft.loop.counter
    assert counter is not None
    first = linear(expression(counter.start), draft.context)
    lower = linear(window.lower, draft.context)
    if lower[counter.name] != 1 or counter.step != "1":
        return False
    if difference(first, Counter()) is None or first[""] < 0:
        return False
    end = linear(expression(f"({counter.stop}) - 1 + ({window.width})"), draft.context)
    end.update(lower)
    end[counter.name] -= 1
    rows = leading(expression(window.base), draft.context, axis=window.axis)
    room = difference(Counter({rows.base: 1, "": rows.constant}), end)
    return room is not None and room >= 0 and first[""] + lower[""] >= 0


def _dynamic(draft: Draft, window: _Window) -> str:
    axis = f", axis={window.axis}" if window.axis else ""
    lower = ast.unparse(window.lower)
    call = f"dynamic_slice_in_dim({window.base}, {lower}, {window.width}{axis})"
    return f"{draft.spelling.lax}.{call}"
