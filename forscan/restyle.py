"""A `lax` loop that stays one: its unroll hint, and its body as a def or a lambda.

Only the call and the definition of the body are touched.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from forscan.config import Config
from forscan.find.sites import Site
from forscan.format import fit
from forscan.model import Refusal, Refused
from forscan.readers.inlined import own_definition
from forscan.syntax.code import indent, one_line, suite
from forscan.syntax.names import parameters
from forscan.syntax.source import Edit, apply_edits
from forscan.writers.common import NO_LAMBDA

_FUNCTION = {"scan": (0, "f"), "fori_loop": (2, "body_fun")}
_UNROLL = {"scan": 5, "fori_loop": 4}


def restyle(site: Site, config: Config) -> tuple[Edit, ...]:
    """The edits that give a call the style that is asked for; none where it has it.

    Raises:
      Refused: a body with statements cannot be a lambda.
    """
    assert isinstance(site.node, ast.Call)
    edits: list[Edit] = []
    if config.unroll is not None:
        edits += _unroll(site, site.node, config.unroll)
    function = _argument(site.node, *_FUNCTION[site.form])
    if config.body == "def" and function is not None:
        edits += _to_def(site, function)
    elif config.body == "lambda" and function is not None:
        edits += _to_lambda(site, function)
    fitted = _fitted(site, edits, config.line_length)
    return tuple(replace(e, new=site.context.source.as_there(e.new, e.start)) for e in fitted)


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if position < len(call.args):
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg == name), None)


def _unroll(site: Site, call: ast.Call, wanted: str) -> list[Edit]:
    source = site.context.source
    value = _argument(call, _UNROLL[site.form], "unroll")
    if value is not None:
        if source.segment(value) == wanted:
            return []
        return [Edit(source.start(value), source.end(value), wanted)]
    last = max([source.end(a) for a in call.args] + [source.end(k.value) for k in call.keywords])
    behind = source.text[last : source.end(call) - 1]
    closing = [m.end() for m in re.finditer(r"#[^\r\n]*|(\))", behind) if m[1]]  # its own brackets
    last += closing[-1] if closing else 0
    return [Edit(last, last, f", unroll={wanted}")]


def _to_def(site: Site, function: ast.expr) -> list[Edit]:
    """A lambda, named or not, becomes a local function."""
    source, context = site.context.source, site.context
    if isinstance(function, ast.Lambda):
        name = context.fresh.name("step", "body")
        start = source.line_start(source.start(site.statement))
        indentation = source.indentation(source.start(site.statement))
        text = indent(f"{_def_text(site, name, function)}\n", indentation)
        call = Edit(source.start(function), source.end(function), name)
        return [Edit(start, start, f"{text}\n"), call]
    definition = own_definition(site, function) if isinstance(function, ast.Name) else None
    if not isinstance(definition, ast.Assign) or not isinstance(definition.value, ast.Lambda):
        return []
    assert isinstance(function, ast.Name)
    indentation = source.indentation(source.start(definition))
    text = indent(_def_text(site, function.id, definition.value), indentation)
    gap = "\n" if source.line(definition.lineno + 1).strip() else ""
    start = source.line_start(source.start(definition))
    return [Edit(start, source.end(definition), f"{text}{gap}")]


def _def_text(site: Site, name: str, function: ast.Lambda) -> str:
    source = site.context.source
    given = ast.unparse(function.args)
    return f"def {name}({given}):\n    return {one_line(source, function.body)}"


def _to_lambda(site: Site, function: ast.expr) -> list[Edit]:
    """A local function that only returns something becomes a lambda of its name."""
    definition = own_definition(site, function) if isinstance(function, ast.Name) else None
    if isinstance(function, ast.Lambda) or isinstance(definition, ast.Assign):
        return []
    source = site.context.source
    if definition is None:
        raise Refused(
            Refusal(
                "FSC307",
                "the body is a function that stands elsewhere, which others may use",
                "Leave it, or wrap it in a lambda by hand.",
                function.lineno,
                function.col_offset + 1,
            )
        )
    only = definition.body[0]
    plain = len(definition.body) == 1 and isinstance(only, ast.Return)
    comments = "#" in source.text[source.start(definition) : source.end(definition)]
    if not plain or comments or definition.decorator_list:
        raise Refused(NO_LAMBDA)
    assert isinstance(only, ast.Return)
    body = suite(source, definition.body, definition.lineno)
    value = body.statements[0]
    assert isinstance(value, ast.Return) and value.value is not None
    names = ", ".join(parameters(definition))
    text = f"{definition.name} = lambda {names}: {one_line(body, value.value)}"
    return [Edit(source.start(definition), source.end(definition), text)]


def _fitted(site: Site, edits: list[Edit], width: int) -> tuple[Edit, ...]:
    """The statement of the call is broken anew where it has become too long."""
    source, statement = site.context.source, site.statement
    start, end = source.start(statement), source.end(statement)
    own = [e for e in edits if start <= e.start and e.end <= end]
    moved = [Edit(e.start - start, e.end - start, e.new) for e in own]
    text = apply_edits(source.text[start:end], moved)
    indentation = source.indentation(start)
    if (
        "\n" in text
        or "\r" in text
        or len(indentation + text) <= width
        or isinstance(statement, ast.Return)
    ):
        return tuple(edits)
    whole = indent(fit(text, width - len(indentation), ""), indentation).lstrip()
    return (*(e for e in edits if e not in own), Edit(start, end, whole))
