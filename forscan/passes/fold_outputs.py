"""An output that the last statement computes is returned as it is computed."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.passes.draft import Draft
from forscan.syntax.code import Code, expression, one_line
from forscan.syntax.names import reads
from forscan.syntax.walk import walk_all

_SHORT = 60


def fold_outputs(draft: Draft) -> Draft:
    """Takes back names that only an output has, for those that forscan has invented."""
    for position in reversed(range(len(draft.loop.outputs))):
        output = draft.loop.outputs[position]
        found = _last(draft.loop.body, output.value)
        if found is None or output.value not in draft.invented or _read(draft, position):
            continue
        statement, text = found
        body = draft.loop.body.edited([draft.loop.body.remove(statement)])
        outputs = list(draft.loop.outputs)
        outputs[position] = replace(output, value=text)
        draft = draft.with_loop(body=Code(body.text.rstrip("\n")), outputs=tuple(outputs))
    return draft


def _last(body: Code, name: str) -> tuple[ast.stmt, str] | None:
    """The last statement, if it gives the name a short value and nothing else."""
    match body.statements[-1:]:
        case [ast.Assign(targets=[ast.Name(id=target)], value=value) as statement]:
            text = one_line(body, value)
            tail = body.text[body.end(statement) :]
            if target == name and "\n" not in text and len(text) < _SHORT and not tail.strip():
                return statement, text
    return None


def _read(draft: Draft, position: int) -> bool:
    """Whether anything but the output itself reads its name."""
    loop = draft.loop
    name = loop.outputs[position].value
    others = [o.value for k, o in enumerate(loop.outputs) if k != position]
    texts = [c.update for c in loop.carries] + others
    if any(name in reads(expression(t)) for t in texts):
        return True
    loads = (n for n in walk_all(loop.body.statements) if isinstance(n, ast.Name) and n.id == name)
    return sum(1 for _ in loads) != 1
