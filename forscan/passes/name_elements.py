"""A slice that the body only gives a name is bound by that name: `w = ws[i]` makes it `w`."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.passes.draft import Draft
from forscan.syntax.code import Code
from forscan.syntax.names import names_in
from forscan.syntax.walk import walk_all


def name_elements(draft: Draft) -> Draft:
    """Removes assignments of slices to names, for slices that forscan has named."""
    elements, body = list(draft.loop.elements), draft.loop.body
    for place, element in enumerate(elements):
        if element.target in draft.state.targets:
            continue
        statement = _only_use(body, element.target)
        if statement is None:
            continue
        name = ast.unparse(statement.targets[0])
        if name in draft.state.local and _times_bound(body, name) == 1:
            elements[place] = replace(element, target=name)
            body = body.edited([body.remove(statement)])
    return draft.with_loop(elements=tuple(elements), body=body)


def _only_use(body: Code, slice_: str) -> ast.Assign | None:
    """The statement `name = <slice>` of the body, where nothing else of it reads the slice."""
    uses = [s for s in body.statements if slice_ in names_in(s)]
    match uses:
        case [ast.Assign(targets=[ast.Name()], value=ast.Name(id=value)) as only]:
            return only if value == slice_ and len(body.statements) > 1 else None
    return None


def _times_bound(body: Code, name: str) -> int:
    """How often a name is bound, in functions and comprehensions inside as well."""
    stores = (n for n in walk_all(body.statements) if isinstance(n, ast.Name) and n.id == name)
    return sum(not isinstance(n.ctx, ast.Load) for n in stores)
