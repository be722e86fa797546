"""Which loops of a module are meant, and what was asked for and is not there."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from forscan.config import Config
from forscan.find.indirect import IndirectUse, indirect_uses
from forscan.find.module import ModuleContext
from forscan.find.sites import LAX_LOOPS, Site, find_sites
from forscan.plan import FORMS
from forscan.syntax.walk import walk
from forscan.types import Selection

LOOPS = ("for", *LAX_LOOPS.values())
Place = Site | IndirectUse


@dataclass
class Chosen:
    """The places in a module that some selections mean, each once.

    Attributes:
      sites: loops, in the order of the file.
      left: the other loops.
      indirect: names that only look like calls of loops.
      named: those of both that were asked for by their line.
      missing: the functions and lines without a loop to find, in words.
    """

    sites: list[Site] = field(default_factory=list)
    left: list[Site] = field(default_factory=list)
    indirect: list[IndirectUse] = field(default_factory=list)
    named: set[ast.AST] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)


def choose(
    module: ModuleContext, config: Config, selections: Iterable[Selection], file: str
) -> Chosen:
    """The places that any of the selections means in a file of that name."""
    chosen = Chosen()
    sites = list(find_sites(module, LOOPS))
    indirect = list(indirect_uses(module)) if config.to == "for" else []
    places: list[Place] = [*sites, *indirect]
    unasked, asked = _forms(config)
    wanted: set[ast.AST] = set()
    for selection in selections:
        if selection.line is None:
            inside = [p for p in places if _is_in(p.context.name, selection.function)]
            inside = [p for p in inside if _is_touched(p.node, selection.touched)]
            wanted |= {p.node for p in inside if p.form in unasked}
            chosen.missing += _missing_function(module, selection.function, file)
        else:
            around = [p for p in places if _is_at(p.node, selection.line + selection.above)]
            chosen.named |= _innermost([p for p in around if p.form in asked])
            if not around:
                chosen.missing.append(selection.no_loop(file))
    wanted |= chosen.named
    chosen.sites = [s for s in sites if s.node in wanted]
    chosen.left = [s for s in sites if s.node not in wanted]
    chosen.indirect = [u for u in indirect if u.node in wanted]
    return chosen


def _forms(config: Config) -> tuple[set[str], set[str]]:
    """The forms that are converted unasked, and those of a loop named by its line."""
    if config.to == "for":
        return {*LAX_LOOPS.values()}, {*LAX_LOOPS.values()}
    target = FORMS[config.to]
    same = {target} if config.restyles else set()
    return {"for"} | same, (set(LOOPS) - {target}) | same


def _is_in(name: str, function: str | None) -> bool:
    """Whether a dotted name is the function, or stands in it."""
    return function is None or name == function or name.startswith(f"{function}.")


def _is_at(node: ast.stmt | ast.expr, line: int) -> bool:
    assert node.end_lineno is not None
    return node.lineno <= line <= node.end_lineno


def _is_touched(node: ast.stmt | ast.expr, lines: frozenset[int] | None) -> bool:
    assert node.end_lineno is not None
    return lines is None or not lines.isdisjoint(range(node.lineno, node.end_lineno + 1))


def _innermost(around: list[Place]) -> set[ast.AST]:
    """Of places around one line the one that starts last, which the others hold."""
    ordered = sorted(around, key=lambda p: (p.node.lineno, p.node.col_offset))
    return {p.node for p in ordered[-1:]}


def _missing_function(module: ModuleContext, function: str | None, file: str) -> list[str]:
    if function is None:
        return []
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = {
        module.functions.qualified(node)
        for node in walk(module.tree)
        if isinstance(node, definitions)
    }
    if function in names:
        return []
    near = sorted(n for n in names if n.endswith(f".{function}"))
    return [f"no function {function} in {file}" + (f", only {', '.join(near)}" if near else "")]
