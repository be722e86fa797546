"""One loop, one decision: a plan of edits, or the reasons against it.

reader -> Loop -> passes -> writer -> plan
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from forscan.config import Config
from forscan.find.sites import Site
from forscan.format import fit
from forscan.model import Loop, Reading, Refusal, Refused, Spelling
from forscan.passes.draft import Draft
from forscan.passes.restyle import restyle
from forscan.passes.table import run_passes
from forscan.readers import for_stmt, fori_loop, scan
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
_READERS: dict[str, Callable[[Site], Reading]] = {
    "scan": scan.read,
    "fori_loop": fori_loop.read,
}


@dataclass(frozen=True)
class Plan:
    """The edits that convert one loop, and what they rely on."""

    edits: tuple[Edit, ...]
    assumptions: tuple[str, ...] = ()


def make_plan(site: Site, config: Config) -> Plan:
    """Decides on one loop.

    Raises:
      Refused: the loop stays as it is, for all these reasons.
    """
    form = FORMS[config.to]
    place = site.node.body[0] if isinstance(site.node, ast.For) else site.node
    spelling = site.context.module.spelling(place)
    reading, writer_form = _read(site, form), form
    loop = restyle(reading.loop, site, config)
    text = _WRITERS[writer_form](loop, site.context.fresh, spelling)
    if config.body == "lambda" and form == "scan":
        text = _as_lambda(text)
    text = fit(text, config.line_length - len(reading.indentation))
    source = site.context.source
    new = indent(text, reading.indentation)
    if source.newline_near(reading.start) != "\n":
        new = new.replace("\n", source.newline_near(reading.start))
    edits = [Edit(reading.start, reading.end, new), *reading.edits]
    edits += _imports(site, text, reading, spelling)
    return Plan(tuple(edits), reading.assumptions)


def _read(site: Site, form: str) -> Reading:
    """The loop as the target form can take it."""
    source = site.context.source
    if isinstance(site.node, ast.For):
        draft = run_passes(for_stmt.read(site, form))
        start, end = for_stmt.region(site)
        indentation = source.indentation(source.start(site.node))
        return Reading(draft.loop, start, end, indentation, draft.edits, draft.assumptions)
    reading = _READERS[site.form](site)
    if form == "for" or form == site.form:
        return reading
    draft = run_passes(Draft.of_reading(site, form, reading))
    return replace(reading, loop=draft.loop)


def _as_lambda(text: str) -> str:
    """A scan whose body function only returns something, with a lambda for it."""
    tree = ast.parse(text)
    for node, call in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(node, ast.FunctionDef):
            if len(node.body) != 1 or not isinstance(node.body[0], ast.Return):
                break
            value = node.body[0].value
            assert value is not None
            names = ", ".join(a.arg for a in node.args.args)
            function = f"{node.name} = lambda {names}: {ast.unparse(value)}"
            lines = text.split("\n")
            assert node.end_lineno is not None
            rest = lines[call.lineno - 1 :]
            return "\n".join([*lines[: node.lineno - 1], function, *rest])
    raise Refused(
        Refusal(
            "FSC304",
            "the body has statements, and a lambda holds one expression only",
            "Move the body into a function that the lambda calls, or use `--body def`.",
        )
    )


def _imports(site: Site, text: str, reading: Reading, spelling: Spelling) -> list[Edit]:
    """The imports that the new text needs and the file does not have."""
    whole = text + "".join(e.new for e in reading.edits)
    needed = [line for name, line in spelling.imports if f"{name}." in whole]
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
