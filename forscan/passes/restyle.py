"""How a scan is written: its unroll hint, and how its body gets parameters.

A body that closes over a value and one that is handed the same value through the
carry are one program to JAX.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.config import Config
from forscan.find.sites import Site
from forscan.model import Carry, Loop
from forscan.syntax.code import expression
from forscan.syntax.names import reads


def restyle(loop: Loop, site: Site, config: Config) -> Loop:
    """The loop in the style that was asked for."""
    if config.unroll is not None and config.to != "for":
        loop = replace(loop, unroll=config.unroll)
    if config.params == "closure":
        loop = _to_closure(loop)
    elif config.params == "carry":
        loop = _to_carry(loop, site)
    return loop


def _to_closure(loop: Loop) -> Loop:
    """Carries that never change, under the name they come from, need no carrying."""
    kept = tuple(
        c
        for c in loop.carries
        if not (c.target == c.update == c.init and c.init.isidentifier() and not c.result)
    )
    return replace(loop, carries=kept)


def _to_carry(loop: Loop, site: Site) -> Loop:
    """Arrays of the function that the body reads are handed through the carry."""
    context = site.context
    texts = [c.update for c in loop.carries] + [o.value for o in loop.outputs]
    names = dict(reads(loop.body.statements))
    for text in texts:
        names.update(reads(expression(text)))
    inside = {n for c in loop.carries for n in reads_of_pattern(c.target)}
    inside |= {n for e in loop.elements for n in reads_of_pattern(e.target)}
    bound = _bound(loop)
    own = set(context.parameters) | set(context.assigned)
    functions = {f.name for f in context.module.functions.all}
    added = [n for n in names if n in own and n not in inside | bound and n not in functions]
    carries = tuple(Carry(n, n, n, None) for n in added)
    return replace(loop, carries=(*loop.carries, *carries))


def reads_of_pattern(pattern: str) -> set[str]:
    return {n.id for n in ast.walk(expression(pattern)) if isinstance(n, ast.Name)}


def _bound(loop: Loop) -> set[str]:
    from forscan.syntax.names import binds

    return set(binds(loop.body.statements))
