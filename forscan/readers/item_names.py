"""Names for the items of a state that a body only indexes: `carry[0]`, `carry[1]`."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.find.sites import Site
from forscan.readers.body import Body, Takes
from forscan.readers.own_values import own_tuple
from forscan.readers.parts import Call, bare_name
from forscan.readers.patterns import by_index, leaves
from forscan.syntax.code import expression


def with_named_items(site: Site, call: Call, body: Body) -> Body:
    """The body taking its state apart under the names that the result, or the start, has."""
    name = body.parameters[call.carry_at]
    init, _ = own_tuple(site, call.init)
    pattern = expression(call.results.carry) if call.results.carry else init
    items = leaves(pattern) if isinstance(pattern, ast.Tuple) else None
    if items is None and call.takes is Takes.CARRY:
        items = _invented(site, init, name)
    if items is None or len(set(items)) < len(items) or "_" in items:
        return body
    flat = not isinstance(pattern, ast.Tuple) or len(items) == len(pattern.elts)
    if not flat or set(items) & set(body.locals):
        return body
    named = by_index(body.code, body.returned, name, items)
    return replace(body, code=named[0], returned=named[1]) if named is not None else body


def _invented(site: Site, init: ast.expr, state: str) -> list[str] | None:
    """Names for the items of a state with a counter, from what they begin with."""
    if not isinstance(init, ast.Tuple):
        return None
    names: list[str] = []
    for item in init.elts:
        known = bare_name(item) if bare_name(item) not in names else None
        number = isinstance(item, ast.Constant) and isinstance(item.value, int)
        names.append(known or site.context.fresh.name(*("ikn" if number else "xyz"), state))
    return names
