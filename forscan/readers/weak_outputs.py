"""Outputs that a scan gives back weakly typed, and a stack of a list does not.

A state that starts as a Python number is weakly typed when the body is traced, and so is an
output that holds its old value, even where the state is promoted. In a list the first item
is that number, and the others are what the state has become.
"""

from __future__ import annotations

import ast

from forscan.model import Carry, Refusal, Refused
from forscan.readers.index import unwrapped
from forscan.readers.lax_loop import LaxLoop
from forscan.syntax.code import expression
from forscan.syntax.names import binds, reads


def check_outputs(lax: LaxLoop) -> None:
    """Looks for old values of such a state among the outputs.

    Raises:
      Refused: the outputs would be strongly typed.
    """
    held = {name for o in lax.outputs for name in _items(expression(o.value))}
    for carry in lax.carries:
        old = held & _old_values(lax, carry.target)
        if old and _is_number(carry.init) and not _stays(lax, carry):
            node = lax.site.node
            raise Refused(
                Refusal(
                    "FSC414",
                    f"{carry.target} starts as a Python number, and an output holds its old values: the scan "
                    "gives them back weakly typed, a stack of the number and arrays would not be",
                    "Give the start a dtype, such as jnp.zeros((), x.dtype).",
                    node.lineno,
                    node.col_offset + 1,
                )
            )


def _old_values(lax: LaxLoop, state: str) -> set[str]:
    """The names that a state has at the end of an iteration for its value at the head."""
    found = {state}
    for statement in lax.code.statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=value)):
                found = found | {name} if value in found else found - {name}
            case _:
                found -= set(binds(statement))
    return found


def _items(value: ast.expr) -> list[str]:
    """The names that an output consists of."""
    if isinstance(value, ast.Tuple | ast.List):
        return [name for item in value.elts for name in _items(item)]
    if isinstance(value, ast.Dict):
        return [name for item in value.values for name in _items(item)]
    return [value.id] if isinstance(value, ast.Name) else []


def _is_number(start: str) -> bool:
    match expression(unwrapped(start)):
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float() | complex()):
            return True
        case ast.UnaryOp(operand=ast.Constant()):
            return True
    return False


def _stays(lax: LaxLoop, carry: Carry) -> bool:
    """Whether a state is made of itself and of numbers only, so that it stays weakly typed."""
    new = expression(carry.update)
    if isinstance(new, ast.Name) and new.id != carry.target:
        values = [
            s.value for s in lax.code.statements if isinstance(s, ast.Assign) and new.id in binds(s)
        ]
        new = values[0] if len(values) == 1 else new
    plain = not any(isinstance(n, ast.Call | ast.Attribute) for n in ast.walk(new))
    return plain and set(reads(new)) <= {carry.target}
