"""Writes the neutral loop as a body function and a call of `lax.scan`."""

from __future__ import annotations

import ast

from forscan.model import Loop, Refusal, Refused, Spelling
from forscan.syntax.code import Code, expression, indent, one_line
from forscan.syntax.fresh import Fresh
from forscan.writers.common import NO_LAMBDA, may_forget, packed, parameter, spaced


def write(loop: Loop, fresh: Fresh, spelling: Spelling) -> str:
    """The statements of a scan, at indentation zero.

    Raises:
      Refused: the loop still has an induction variable that no pass settled.
    """
    if loop.counter is not None:
        raise Refused(
            Refusal(
                "FSC401",
                f"the index {loop.counter.name} cannot be part of a scan",
                "Keep the loop.",
            )
        )
    name = loop.name or fresh.name("step", "body", "scan_step")
    carry, take_carry = parameter([c.target for c in loop.carries], fresh, "carry", "state")
    xs, take_xs = parameter([e.target for e in loop.elements], fresh, "x", "inputs", "slices")
    if carry == xs == "_":
        xs = "__"
    statements, returned = _returned(loop)
    if loop.as_lambda:
        if take_carry or take_xs or statements:
            raise Refused(NO_LAMBDA)
        definition = f"{name} = lambda {carry}, {xs}: {returned}"
    else:
        head = spaced([*take_carry, *take_xs], statements)
        body = "\n".join([*head, f"return {_bare(returned)}"])
        definition = f"def {name}({carry}, {xs}):\n{indent(body, spelling.unit)}\n"
    lines = [definition, _call(loop, name, fresh, spelling), *loop.after]
    if loop.guard is not None:
        lines = [f"if {loop.guard}:", indent("\n".join(lines), spelling.unit)]
    return "\n".join(spaced(list(loop.before), lines))


def _returned(loop: Loop) -> tuple[list[str], str]:
    """The statements of the body function, and the pair that it returns.

    Where the last statement takes a pair apart only to return it, it is returned at once.
    """
    updates = packed([c.update for c in loop.carries])
    values = packed([o.value for o in loop.outputs])
    statements = [loop.body.text.strip("\n")] if loop.body.text.strip() else []
    match loop.body.statements[-1:]:
        case [ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)])])]:
            last = loop.body.statements[-1]
            assert isinstance(last, ast.Assign)
            if (first, second) == (updates, values) and _stands_alone(loop.body, last):
                rest = loop.body.edited([loop.body.remove(last)]).text.strip("\n")
                return [rest] if rest.strip() else [], one_line(loop.body, last.value)
    return statements, f"({updates}, {values})"


def _stands_alone(code: Code, statement: ast.stmt) -> bool:
    """Whether no comment would be lost with the statement's line."""
    line = code.text[code.end(statement) : code.line_end(code.end(statement))]
    return "#" not in line and code.text[code.line_end(code.end(statement)) :].strip() == ""


def _bare(pair: str) -> str:
    """A tuple without its own brackets; `(f)(x)` has others."""
    tree = expression(pair)
    own = isinstance(tree, ast.Tuple) and tree.col_offset == 1
    return pair[1:-1] if own else pair


def _call(loop: Loop, name: str, fresh: Fresh, spelling: Spelling) -> str:
    arguments = [name, packed([c.init for c in loop.carries])]
    arguments.append(packed([e.source for e in loop.elements]))
    if loop.length is not None:
        arguments.append(f"length={loop.length}")
    if loop.reverse and (loop.elements or loop.outputs):
        arguments.append("reverse=True")
    if loop.unroll is not None:
        arguments.append(f"unroll={loop.unroll}")
    call = f"{spelling.lax}.scan({', '.join(arguments)})"
    carries = [c.result or "_" for c in loop.carries]
    outputs = [o.result or "_" for o in loop.outputs]
    return _result(carries, outputs, call, fresh)


def _result(carries: list[str], outputs: list[str], call: str, fresh: Fresh) -> str:
    """The call with its result taken apart; nothing is bound that nobody reads."""
    kept = any(c != "_" for c in carries), any(o != "_" for o in outputs)
    forgotten = "_" in [*carries, *outputs] or not all(kept)
    if forgotten and not may_forget(fresh):
        spare = fresh.name("unused")
        carries = [spare if c == "_" else c for c in carries]
        outputs = [spare if o == "_" else o for o in outputs]
    if kept == (True, False) and not may_forget(fresh):
        return f"{_target(carries)} = {call}[0]"
    if kept == (False, True) and not may_forget(fresh):
        return f"{_target(outputs)} = {call}[1]"
    if not any(kept):
        return call
    left = packed(carries) if kept[0] else "_"
    right = packed(outputs) if kept[1] else "_"
    return f"{left}, {right} = {call}"


def _target(names: list[str]) -> str:
    return ", ".join(names)
