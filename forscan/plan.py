"""One loop, one decision: a plan of edits, or the reasons against it.

reader -> Loop -> passes -> writer -> plan
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from forscan.config import Config
from forscan.find.sites import Site
from forscan.format import fit
from forscan.model import Loop, Reading, Spelling
from forscan.passes.draft import Draft
from forscan.passes.parameters import to_carry, to_closure
from forscan.passes.table import run_passes
from forscan.readers import for_stmt, fori_loop, scan
from forscan.restyle import restyle
from forscan.syntax.code import indent
from forscan.syntax.names import Fresh
from forscan.syntax.source import Edit
from forscan.writers import for_stmt as write_for
from forscan.writers import fori_loop as write_fori
from forscan.writers import scan as write_scan

FORMS = {"scan": "scan", "fori": "fori_loop", "for": "for"}
Writer = Callable[[Loop, Fresh, Spelling], str]
_WRITERS: dict[str, Writer] = {
    "scan": write_scan.write,
    "fori_loop": write_fori.write,
    "for": write_for.write,
}
_READERS: dict[str, Callable[[Site, bool], Reading]] = {
    "scan": scan.read,
    "fori_loop": fori_loop.read,
}


@dataclass(frozen=True)
class Plan:
    """The edits that convert one loop, and what they rely on."""

    edits: tuple[Edit, ...]
    assumptions: tuple[str, ...] = ()


class NothingToDo(Exception):
    """The loop is as it was asked for already."""


def make_plan(site: Site, config: Config) -> Plan:
    """Decides on one loop.

    Raises:
      Refused: the loop stays as it is, for all these reasons.
      NothingToDo: it has the form and the style that is wanted.
    """
    form = FORMS[config.to]
    if site.form == form and config.params is None:
        edits = restyle(site, config)
        if not edits:
            raise NothingToDo
        return Plan(edits)
    reading = _read(site, form, config)
    place = site.node.body[0] if isinstance(site.node, ast.For) else site.node
    spelling = site.context.module.spelling(place)
    text = _WRITERS[form](reading.loop, site.context.fresh, spelling)
    text = fit(text, config.line_length - len(reading.indentation))
    source = site.context.source
    new = indent(text, reading.indentation)
    if source.newline_near(reading.start) != "\n":
        new = new.replace("\n", source.newline_near(reading.start))
    edits = (
        Edit(reading.start, reading.end, new),
        *reading.edits,
        *_imports(site, text, reading, spelling),
    )
    return Plan(edits, reading.assumptions)


def _read(site: Site, form: str, config: Config) -> Reading:
    """The loop as the target form can take it, in the style that is asked for."""
    source = site.context.source
    if isinstance(site.node, ast.For):
        draft = run_passes(for_stmt.read(site, form))
        start, end = for_stmt.region(site)
        indentation = source.indentation(source.start(site.node))
        reading = Reading(draft.loop, start, end, indentation, draft.edits, draft.assumptions)
    else:
        copied = config.params == "closure" and form == site.form
        reading = _READERS[site.form](site, copied)
        if form not in ("for", site.form):
            draft = run_passes(Draft.of_reading(site, form, reading))
            reading = replace(reading, loop=draft.loop)
    loop = _styled(reading.loop, site, config)
    if form == site.form and loop == reading.loop:
        raise NothingToDo
    return replace(reading, loop=loop)


def _styled(loop: Loop, site: Site, config: Config) -> Loop:
    if config.to == "for":
        return loop
    if config.params == "closure":
        loop = to_closure(loop)
    elif config.params == "carry":
        loop = to_carry(loop, site)
    if config.unroll is not None:
        loop = replace(loop, unroll=config.unroll)
    return replace(loop, as_lambda=config.body == "lambda" and config.to == "scan")


def _imports(site: Site, text: str, reading: Reading, spelling: Spelling) -> list[Edit]:
    """The imports that the new text needs and the file does not have."""
    whole = text + "".join(e.new for e in reading.edits)
    needed = [line for name, line in spelling.imports if re.search(rf"(?<![\w.]){name}\.", whole)]
    if not needed:
        return []
    module = site.context.module
    source = site.context.source
    position = 0
    body = module.tree.body
    for index, statement in enumerate(body):
        is_docstring = index == 0 and isinstance(statement, ast.Expr)
        if is_docstring or isinstance(statement, ast.Import | ast.ImportFrom):
            position = source.next_line(source.end(statement))
        elif not is_docstring:
            break
    newline = source.newline_near(0)
    new = "".join(line + newline for line in sorted(set(needed)))
    return [Edit(position, position, new)]
