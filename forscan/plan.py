"""One loop, one decision: a plan of edits, or the reasons against it.

reader -> Loop -> passes -> writer -> plan
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from forscan.analyse.effects import once_traced
from forscan.analyse.interest import computes_nothing, handles_objects
from forscan.config import Config
from forscan.find.heads import IN_CLASS, is_in_class, unreadable_head
from forscan.find.module import parse_module
from forscan.find.sites import Site, find_sites
from forscan.format import fit
from forscan.model import Loop, Reading, Refusal, Refused, Spelling
from forscan.passes.draft import Draft
from forscan.passes.index_to_carry import index_to_carry
from forscan.passes.parameters import to_carry, to_closure
from forscan.passes.table import run_passes
from forscan.readers import associative_scan, for_stmt, fori_loop, map, scan, while_loop
from forscan.readers.for_text import region
from forscan.reshape.compose import compose
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.table import IMPROVEMENTS, STRATEGIES
from forscan.restyle import restyle
from forscan.selfcheck import lost_comments
from forscan.syntax.code import dedent, ends_with_statement, indent
from forscan.syntax.fresh import Fresh
from forscan.syntax.source import Edit, apply_edits
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
    "map": map.read,
    "while_loop": while_loop.read,
    "associative_scan": associative_scan.read,
}


@dataclass(frozen=True)
class Plan:
    """The edits that convert one loop, and what they rely on."""

    edits: tuple[Edit, ...]
    assumptions: tuple[str, ...] = ()


class NothingToDo(Exception):
    """The loop is as it was asked for already."""


class NoCandidate(Exception):
    """The loop is Python's own work, and nobody would want it converted."""


def make_plan(site: Site, config: Config, depth: int = 4) -> Plan:
    """Decides on one loop.

    Args:
      site: the loop.
      config: the form and style that are wanted.
      depth: how often the loop may be written as another `for` first.

    Raises:
      Refused: the loop stays as it is, for all these reasons.
      NothingToDo: it has the form and the style that is wanted.
      NoCandidate: there is nothing in it for a scan.
    """
    form = FORMS[config.to]
    if is_in_class(site):
        raise Refused(IN_CLASS)
    if site.form == form and config.params is None:
        edits = restyle(site, config)
        if not edits:
            raise NothingToDo
        return _with_comments(site, Plan(edits))
    if isinstance(site.node, ast.For) and computes_nothing(site.node, site.context):
        raise NoCandidate  # before all that would be found out about it
    unreadable = unreadable_head(site)
    if unreadable is not None:
        raise NoCandidate if _is_of_objects(site) else Refused(unreadable)
    improved = _improved(site, config, depth) if depth else None
    if improved is not None:
        return improved
    try:
        return _plan(site, form, config)
    except Refused as refused:
        plan = _reshaped(site, config, refused.reasons, depth) if depth else None
        if plan is not None:
            return plan
        if _is_of_objects(site):
            raise NoCandidate from None
        raise


def _is_of_objects(site: Site) -> bool:
    """Whether a loop that cannot be converted need not be."""
    return isinstance(site.node, ast.For) and handles_objects(site.node, site.context)


def _plan(site: Site, form: str, config: Config) -> Plan:
    """The plan for a loop as it stands."""
    reading = _read(site, form, config)
    place = site.node.body[0] if isinstance(site.node, ast.For) else site.node
    spelling = replace(site.context.module.spelling(place), unit=site.context.unit)
    text = _WRITERS[form](reading.loop, site.context.fresh, spelling)
    source = site.context.source
    width = config.line_length - len(reading.indentation)
    text = fit(text, width, source.authored or source.text)
    new = indent(text, reading.indentation)
    gone = [e for e in reading.edits if e.end <= reading.start]
    above = apply_edits(source.text[: reading.start], gone)
    if text.startswith("def ") and ends_with_statement(above):
        new = f"\n{new}"
    start = reading.start
    if gone and above.rstrip().endswith(":"):  # no suite begins with the gap behind what is gone
        left = source.text[max(e.end for e in gone) : start]
        start -= len(left) if not left.strip() else 0
    edits = (
        Edit(start, reading.end, source.as_there(new, reading.start)),
        *reading.edits,
        *_imports(site, text, reading, spelling),
    )
    return _with_comments(site, Plan(edits, reading.assumptions))


def _with_comments(site: Site, plan: Plan) -> Plan:
    """The plan, where every comment of what it replaces is in what it writes."""
    source = site.context.source
    if any("#" in source.text[e.start : e.end] for e in plan.edits):
        after = apply_edits(source.text, list(dict.fromkeys(plan.edits)))
        lost = lost_comments(source, site.context.module.tree, after)
        if lost:
            raise Refused(*(_lost(comment) for comment in dict.fromkeys(lost)))
    return plan


def _lost(comment: str) -> Refusal:
    return Refusal(
        "FSC310",
        f"the comment {comment!r} stands in something that goes",
        "Put it on a line of its own, above a statement of the loop.",
    )


def _reshaped(site: Site, config: Config, reasons: list[Refusal], depth: int) -> Plan | None:
    """The plan for the loop written as another `for`, where that removes the reasons."""
    if not isinstance(site.node, ast.For):
        return None
    loop = LoopText(site)
    candidates = (strategy(loop, reasons) for strategy in STRATEGIES)
    return _first_plan(site, config, candidates, depth)


def _improved(site: Site, config: Config, depth: int) -> Plan | None:
    """The plan for the loop as an expert would have written it first."""
    if not isinstance(site.node, ast.For):
        return None
    loop = LoopText(site)
    candidates = (improvement(loop) for improvement in IMPROVEMENTS.get(config.to, ()))
    return _first_plan(site, config, candidates, depth)


def _first_plan(
    site: Site, config: Config, candidates: Iterable[Reshaped | None], depth: int
) -> Plan | None:
    plans = (_plan_of(site, config, candidate, depth) for candidate in candidates)
    return next((plan for plan in plans if plan is not None), None)


def _plan_of(site: Site, config: Config, reshaped: Reshaped | None, depth: int) -> Plan | None:
    """The plan for a loop that takes the place of another, None where it is refused."""
    if reshaped is None:
        return None
    try:
        if reshaped.inner:
            reshaped = _with_inner(site, config, reshaped, depth)
        plan = make_plan(_site_in(site, config, reshaped, reshaped.start), config, depth - 1)
        composed = tuple(_fitted(e, site, config) for e in compose(reshaped.edit, plan.edits))
        return _with_comments(site, Plan(composed, plan.assumptions))
    except (Refused, NoCandidate):
        return None


def _fitted(edit: Edit, site: Site, config: Config) -> Edit:
    """An edit whose generated lines are no longer than is asked for."""
    source = site.context.source
    indentation = source.indentation(source.start(site.node))
    text = edit.new.replace("\r\n", "\n")
    lines = text.split("\n")
    if all(len(line) <= config.line_length for line in lines):
        return edit
    if "\r" in text or not all(line.startswith(indentation) for line in lines if line):
        return edit
    width = config.line_length - len(indentation)
    text = indent(
        fit(dedent(text, indentation), width, source.authored or source.text), indentation
    )
    return replace(edit, new=source.as_there(text, edit.start))


def _with_inner(site: Site, config: Config, reshaped: Reshaped, depth: int) -> Reshaped:
    """The loop with the one that it has inside converted already.

    Raises:
      Refused: that one stays as it is.
      NoCandidate: nobody would want it converted.
    """
    start = apply_edits(site.context.source.text, [reshaped.edit]).index(
        reshaped.inner, reshaped.start + 1
    )
    plan = make_plan(_site_in(site, config, reshaped, start), config, depth - 1)
    edit, *elsewhere = compose(reshaped.edit, plan.edits)
    return reshaped if elsewhere else replace(reshaped, edit=edit, inner="")


def _site_in(site: Site, config: Config, reshaped: Reshaped, start: int) -> Site:
    """The `for` that stands at an offset of the reshaped file."""
    before = site.context.source
    text = apply_edits(before.text, [reshaped.edit])
    source = replace(before, text=text, authored=before.authored or before.text)
    facts = site.context.module.facts
    if reshaped.peeled and site.context.observed:
        facts = facts.behind_first()
    module = parse_module(source, config.traced, config.everything, facts)
    return next(s for s in find_sites(module, ("for",)) if s.start == start)


def _read(site: Site, form: str, config: Config) -> Reading:
    """The loop as the target form can take it, in the style that is asked for."""
    source = site.context.source
    if isinstance(site.node, ast.For):
        draft = run_passes(for_stmt.read(site, form))
        start, end = region(site)
        indentation = source.indentation(source.start(site.node))
        reading = Reading(draft.loop, start, end, indentation, draft.edits, draft.assumptions)
    else:
        if form == "for" and isinstance(site.node, ast.Call):
            reasons = list(once_traced(site.node, site.context))
            if reasons:
                raise Refused(*reasons)
        copied = config.params == "closure" and form == site.form
        reading = _READERS[site.form](site, copied)
        if form == site.form == "scan":  # where an index is no more than one of the xs
            draft = index_to_carry(Draft.of_reading(site, form, reading))
            reading = replace(reading, loop=draft.loop)
        elif form != "for":
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
