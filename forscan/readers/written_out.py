"""Numbers that are written out in the source: a stack of them stays weakly typed, as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from forscan.analyse.trip_count import Extent, definition
from forscan.find.context import FunctionContext
from forscan.model import Element
from forscan.readers.space import Space, single, unlike


def written_out(target: ast.expr, node: ast.Tuple | ast.List, shown: str, jnp: str) -> Space:
    """The space of a display of numbers, or of rows of them for a pattern.

    Args:
      shown: the text of the display.

    Raises:
      Refused: its items are something else.
    """
    try:
        rows = ast.literal_eval(node)
    except (ValueError, TypeError):
        raise unlike(
            "FSC205",
            node,
            f"the items of {shown} are not all numbers",
            "Keep the Python loop, or stack equal arrays before it.",
        ) from None
    trips = (Extent("", len(rows)),)
    if isinstance(target, ast.Tuple | ast.List):
        width = len(target.elts)
        if not all(isinstance(r, tuple | list) and len(r) == width for r in rows):
            raise unlike(
                "FSC205",
                node,
                "the items are not rows of one length",
                "Keep the Python loop.",
            )
        columns = [_column(jnp, node, [r[k] for r in rows]) for k in range(width)]
        targets = [single(t) for t in target.elts]
        kinds = [type(values[0]) for values in zip(*rows, strict=True)]
        elements = [
            Element(t, c, number=k) for t, c, k in zip(targets, columns, kinds, strict=True)
        ]
        return Space(elements=tuple(elements), trips=trips)
    name = single(target)
    element = Element(name, _column(jnp, node, list(rows)), number=type(rows[0]))
    return Space(elements=(element,), trips=trips)


def constant(target: ast.expr, node: ast.expr, context: FunctionContext, jnp: str) -> Space | None:
    """Numbers of one kind that are written out elsewhere; None where they are not."""
    if not isinstance(node, ast.Name):
        return None
    value = definition(node.id, context)
    try:
        rows = ast.literal_eval(value) if value is not None else None
    except (ValueError, TypeError):
        return None
    if not isinstance(rows, tuple | list) or not isinstance(target, ast.Name) or not rows:
        return None
    if not _are_alike(rows):
        return None
    source = f"{jnp}.stack({node.id})"
    element = Element(target.id, source, number=type(rows[0]))
    return Space(elements=(element,), trips=(Extent("", len(rows)),))


def _are_alike(values: Iterable[object]) -> bool:
    """Whether they are numbers of one kind."""
    kinds = {type(v) for v in values}
    return len(kinds) == 1 and kinds <= {int, float, complex}


def _column(jnp: str, node: ast.expr, values: list[object]) -> str:
    """Python for the stack of numbers.

    Raises:
      Refused: they are of several kinds.
    """
    if not _are_alike(values):
        raise unlike(
            "FSC205",
            node,
            "the items are not numbers of one kind",
            "Write them as numbers of one kind, or keep the Python loop.",
        )
    return f"{jnp}.stack([{', '.join(map(repr, values))}])"
