"""How the body of a scan gets what does not change: by closure or through the carry.

Both are one program to JAX; which one reads better is the author's choice.
"""

from __future__ import annotations

from dataclasses import replace

from forscan.find.sites import Site
from forscan.model import Carry, Loop
from forscan.syntax.code import expression
from forscan.syntax.names import binds, reads, target_names


def to_closure(loop: Loop) -> Loop:
    """Carries that an iteration gives back as they are become names that it reads.

    Under the name of their start nothing else is needed; under another name they get it
    in front of the loop.
    """
    written = set(binds(loop.body.statements))
    kept, before, after = [], list(loop.before), []
    for carry in loop.carries:
        unchanged = carry.target == carry.update and carry.target not in written
        if not unchanged or not carry.target.isidentifier():
            kept.append(carry)
            continue
        if carry.target != carry.init:
            before.append(f"{carry.target} = {carry.init}")
        if carry.result not in (None, carry.target):
            after.append(f"{carry.result} = {carry.target}")
    return replace(loop, carries=tuple(kept), before=tuple(before), after=(*after, *loop.after))


def to_carry(loop: Loop, site: Site) -> Loop:
    """Arrays of the functions around that the body reads are handed through the carry."""
    context = site.context
    texts = [c.update for c in loop.carries] + [o.value for o in loop.outputs]
    names = dict(reads(loop.body.statements))
    for text in texts:
        names.update(reads(expression(text)))
    bound = {*binds(loop.body.statements)}
    for pattern in [c.target for c in loop.carries] + [e.target for e in loop.elements]:
        bound |= set(_pattern_names(pattern))
    functions = {f.name for f in context.module.functions.all}
    own = context.locals | context.assigned
    added = [n for n in names if n in own and n not in bound | functions]
    carries = tuple(Carry(n, n, n, None) for n in added)
    return replace(loop, carries=(*loop.carries, *carries))


def _pattern_names(pattern: str) -> list[str]:
    if pattern.isidentifier():
        return [pattern]
    return list(reads(expression(pattern))) + target_names(expression(pattern))
