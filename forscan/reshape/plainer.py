"""A `for` without what only Python has: an else suite, and `continue`."""

from __future__ import annotations

import ast

from forscan.model import Refusal
from forscan.readers.for_text import else_suite
from forscan.reshape.constancy import CONTRARY
from forscan.reshape.site import LoopText, Reshaped
from forscan.syntax.code import Code, indent
from forscan.syntax.names import names_in
from forscan.syntax.walk import walk_all

# What is iterated, and statements that no scan takes: branches change nothing about that.
_LASTING = {"FSC201", "FSC202", "FSC304"}


def else_behind(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with its else suite behind it: without a `break` that always runs."""
    if not loop.node.orelse or any(isinstance(n, ast.Break) for n in walk_all(loop.node.body)):
        return None
    body = indent(loop.body.text, loop.context.unit)
    behind = else_suite(loop.context.source, loop.node).text
    return loop.replaced(f"{loop.header}\n{body}\n{behind}", 0)


def continue_to_else(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with branches of the rest of the body in place of `continue`."""
    if loop.node.orelse or {r.code for r in reasons} & _LASTING:
        return None
    body = _without_continue(loop.body, loop)
    if body.text == loop.body.text:
        return None
    return loop.replaced(f"{loop.header}\n{indent(body.text, loop.context.unit)}", 0)


def _without_continue(code: Code, loop: LoopText) -> Code:
    """`if test: continue` puts what follows under the contrary."""
    unit = loop.context.unit
    for position, statement in enumerate(code.statements):
        match statement:
            case ast.If(test=test, body=[*kept, ast.Continue() as last], orelse=[]):
                if not code.statements[position + 1 :]:
                    return code.edited([code.replace(last, "pass")])
                tail = code.text[code.next_line(code.end(statement)) :].strip("\n")
                rest = indent(_without_continue(Code(tail), loop).text, unit)
                said = code.text[code.end(last) : code.line_end(code.end(last))].strip()
                if not kept:
                    head = code.text[: code.start(statement)] + (f"{said}\n" if said else "")
                    return Code(f"{head}if {_contrary(test, loop.index)}:\n{rest}")
                head = code.text[: code.start(last)].rstrip() + (f"  {said}" if said else "")
                return Code(f"{head}\nelse:\n{rest}")
    return code


def _contrary(test: ast.expr, index: str | None) -> str:
    """Python for a test that holds where another does not."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in CONTRARY:
            if isinstance(op, ast.Eq | ast.NotEq) or index in names_in(test):  # no NaN
                return ast.unparse(ast.Compare(left, [CONTRARY[type(op)]()], [right]))
            return f"not ({ast.unparse(test)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.unparse(operand)
        case ast.Compare() | ast.BoolOp():
            return f"not ({ast.unparse(test)})"
        case ast.BinOp():
            return f"{ast.unparse(test)} == 0"
    return f"not {ast.unparse(test)}"
