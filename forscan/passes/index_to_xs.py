"""Reads `a[i]` of a proven array become xs, where the slices are known to be there."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from forscan.analyse.arrays import Evidence, evidence, stacked
from forscan.analyse.items import reads_as_arrays
from forscan.analyse.linear import difference, linear
from forscan.analyse.trip_count import add, extent, leading, literal_int
from forscan.analyse.use import Kind, Use
from forscan.model import Element
from forscan.passes.draft import Draft
from forscan.syntax.code import expression
from forscan.syntax.names import reads
from forscan.syntax.walk import walk, walk_all


@dataclass(frozen=True)
class Read:
    """One read `base[…, i + offset, …]`.

    Attributes:
      base: the array.
      axis: the axis that the index picks from.
      offset: what is added to the index.
      mirrored: whether the last item comes first, `a[n - 1 - i]`.
    """

    node: ast.Subscript
    base: ast.expr
    axis: int
    offset: int
    mirrored: bool = False

    @property
    def key(self) -> tuple[str, int, int, bool]:
        return ast.unparse(self.base), self.axis, self.offset, self.mirrored


def index_to_xs(draft: Draft) -> Draft:
    """Scans take slices of arrays; only a scan has xs."""
    counter = draft.loop.counter
    if draft.target != "scan" or counter is None or not draft.index_uses:
        return draft
    reads_now = _reads(draft)
    groups: dict[tuple[str, int, int, bool], list[Read]] = {}
    for read in reads_now:
        groups.setdefault(read.key, []).append(read)
    for group in groups.values():
        element = _element(draft, group[0])
        if element is not None:
            draft = _replace(draft, group[0].key, element)
    return draft


def _reads(draft: Draft) -> list[Read]:
    """The plain reads of loop-invariant arrays at the index."""
    found = []
    changed = {
        *draft.state.carried,
        *draft.state.last,
        *draft.state.local,
        *draft.state.targets,
    }
    for use in draft.index_uses:
        if use.read is None:
            continue
        read = parse_read(draft, use.read, use)
        if read is None or set(reads(read.base)) & changed:
            continue
        if evidence(read.base, draft.context) is not Evidence.OTHER:
            found.append(read)
    # Of a list, a read as an array raises inside a scan too: loud.
    unproven = {
        ast.unparse(r.base)
        for r in found
        if evidence(r.base, draft.context) is Evidence.UNKNOWN
        and not reads_as_arrays(r.node, draft.context)
    }
    # What a function or a branch reads may be guarded: it must not be read in advance.
    inside = _guarded(draft)
    found = [r for r in found if r.node not in inside or _always_fits(draft, r)]
    return [r for r in found if ast.unparse(r.base) not in unproven]


def _guarded(draft: Draft) -> set[ast.AST]:
    """What an iteration may pass over."""
    return {
        part
        for node in walk_all(draft.statement.body)
        if isinstance(node, ast.Lambda | ast.FunctionDef | ast.If | ast.IfExp)
        for part in walk(node)
    }


def _always_fits(draft: Draft, read: Read) -> bool:
    """Whether the array surely has the item for every index."""
    element = _element(draft, read)
    return element is not None and element.gives_length


def parse_read(draft: Draft, node: ast.Subscript, use: Use) -> Read | None:
    """`a[i + c]`, `a[:, i]`, `a[:, i, :]`: all other axes taken whole."""
    index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    axis = None
    for position, item in enumerate(index):
        if isinstance(item, ast.Slice):
            if item.lower or item.upper or item.step:
                return None
        elif use.node in walk(item):
            axis = position
        else:
            return None
    if axis is None:
        return None
    offset = _offset(index[axis], use.node.id)
    if offset is None and _is_mirrored(draft, index[axis]):
        return Read(node, node.value, axis, 0, mirrored=True)
    return None if offset is None else Read(node, node.value, axis, offset)


def _is_mirrored(draft: Draft, item: ast.expr) -> bool:
    """`stop - 1 - i` for an index that counts from 0 to the stop."""
    counter = draft.loop.counter
    if counter is None or (counter.start, counter.step) != ("0", "1"):
        return False
    place = linear(item, draft.context)
    if place[counter.name] != -1:
        return False
    place[counter.name] = 0
    return difference(place, linear(expression(counter.stop), draft.context)) == -1


def _offset(node: ast.expr, name: str) -> int | None:
    if isinstance(node, ast.Name) and node.id == name:
        return 0
    found = extent(node, None)
    return found.constant if found.base == name else None


def _element(draft: Draft, read: Read) -> Element | None:
    """The xs for a read, None where an index is clamped or wraps around."""
    counter = draft.loop.counter
    assert counter is not None
    start = literal_int(expression(counter.start))
    if start is None or start + read.offset < 0:
        return None
    found = evidence(read.base, draft.context)
    size = leading(read.base, draft.context, axis=read.axis)
    if found in (Evidence.TABLE, Evidence.ITEMS) and read.axis == 0:
        size = extent(expression(f"len({ast.unparse(read.base)})"), draft.context)
    stop = extent(expression(counter.stop), draft.context)
    room = size.constant - (stop.constant + read.offset)
    tied = stop.base == size.base
    if tied and room < 0:
        return None  # the last reads are clamped
    # An array of another length is cut to the trip count. If it is shorter, the scan
    # raises on the lengths, where Python would have clamped the index.
    base = ast.unparse(read.base)
    if not base.isidentifier() and "." not in base:
        base = f"({base})"
    source = _sliced(draft, read, base, start, room if tied else None, found)
    if found is Evidence.ITEMS:
        item = draft.context.seen_item(read.base)
        is_array = item is not None and item.is_leaf
        source = stacked(source, item, draft.spelling)
        return Element("", source, is_array, gives_length=tied, length=f"len({base})")
    return Element("", source, gives_length=tied)


def _sliced(
    draft: Draft, read: Read, base: str, start: int, room: int | None, found: Evidence
) -> str:
    """The part of an array that the loop reads.

    Args:
      room: how many items behind the last one are not read, where that is known.
    """
    counter = draft.loop.counter
    assert counter is not None
    jnp = draft.spelling.jnp
    if found is Evidence.TABLE:
        base = f"{jnp}.stack({base})"  # numbers stay weakly typed, as in Python
    lower = "" if start + read.offset == 0 else str(start + read.offset)
    upper = add(counter.stop, read.offset) if room is None else f"-{room}" if room else ""
    plain = upper.lstrip("-").isdigit() or upper.isidentifier() or not upper
    part = f"{lower}:{upper}" if plain else f"{lower}: {upper}".lstrip() if lower else f": {upper}"
    if counter.step != "1":
        part += f":{counter.step}"
    if read.mirrored:
        base = _mirrored(base, read.axis, part)
    elif part != ":":
        base += f"[{', '.join([':'] * read.axis + [part])}]"
    return base if read.axis == 0 else f"{jnp}.moveaxis({base}, {read.axis}, 0)"


def _mirrored(base: str, axis: int, part: str) -> str:
    """The part of an array with its last item first."""
    whole = [":"] * axis
    cut = base if part == ":" else f"{base}[{', '.join([*whole, part])}]"
    return f"{cut}[{', '.join([*whole, '::-1'])}]"


def _replace(draft: Draft, key: tuple[str, int, int, bool], element: Element) -> Draft:
    """Puts a name in place of all equal reads in the body."""
    counter = draft.loop.counter
    assert counter is not None
    body = draft.loop.body
    name = draft.fresh.name(*_wishes(key, counter.name))
    edits = []
    for node in walk_all(body.statements):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            for part in walk(node.slice):
                if isinstance(part, ast.Name) and part.id == counter.name:
                    use = Use(part, Kind.PURE, "")
                    read = parse_read(draft, node, use)
                    if read is not None and read.key == key:
                        edits.append(body.replace(node, name))
                    break
    if not edits:
        return draft
    element = replace(element, target=name)
    return draft.with_loop(body=body.edited(edits), elements=(*draft.loop.elements, element))


def _wishes(key: tuple[str, int, int, bool], index: str) -> list[str]:
    """`x_i`, `x_next`, `x_prev` for reads of x at i, i + 1, i - 1."""
    base = key[0].split(".")[-1]
    base = base if base.isidentifier() else "item"
    base = base if base.islower() else base.lower()
    if key[3]:
        return [f"{base}_back", f"{base}_{index}_back"]
    if key[2] == 1:
        return [f"{base}_next", f"{base}_{index}_next"]
    if key[2] == -1:
        return [f"{base}_prev", f"{base}_{index}_prev"]
    single = f"{base}_{index}" if index.isidentifier() and index != "_" else base
    return [single, f"{single}_item"]
