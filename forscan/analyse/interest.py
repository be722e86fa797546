"""Loops that are Python's own work: they fill dicts, make modules, check arguments.

They have no state that one iteration hands to the next, and collect no values, so there
is nothing that a scan could carry or give out; or they ask objects for their types, names
and attributes, and compute nothing; or they count with fields that are Python numbers, or add
up numbers that stand there.
"""

from __future__ import annotations

import ast

from forscan.analyse.carries import is_number
from forscan.analyse.lists import appended
from forscan.analyse.state import carries_of, state_of
from forscan.find.context import FunctionContext
from forscan.syntax.names import dotted, target_names
from forscan.syntax.walk import walk, walk_all

# What a loop without state or outputs may be there for.
_CALLBACKS = ("jax.debug.", "jax.pure_callback", "jax.experimental.", "jax.effects_barrier")


def computes_nothing(loop: ast.For, context: FunctionContext) -> bool:
    """Whether there is nothing for a scan, whatever else is found out about the loop."""
    numbers = _counts_fields(loop, context) or _adds_up_literals(loop, context)
    return numbers or _keeps_nothing(loop, context)


def _keeps_nothing(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a loop has neither state nor outputs, and no callbacks to the host."""
    state = state_of(loop, context)
    if state.carried or state.last or state.unbound or state.targets_after:
        return False
    for node in walk_all(loop.body):
        if isinstance(node, ast.stmt) and appended(node) is not None:
            return False
        if isinstance(node, ast.Return | ast.Yield | ast.Break | ast.Global | ast.Nonlocal):
            return False
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            if _is_read(node, loop):
                return False  # state kept in an object
        if isinstance(node, ast.Call) and (context.resolve(node.func) or "").startswith(_CALLBACKS):
            return False
    return True


def acts(node: ast.AST, context: FunctionContext, depth: int = 2) -> bool:
    """Whether an expression calls back to the host, also in functions of the module."""
    for call in walk(node):
        if isinstance(call, ast.Call):
            if (context.resolve(call.func) or "").startswith(_CALLBACKS):
                return True
            callee = context.module.traced.only(call.func) if depth else None
            if isinstance(callee, ast.FunctionDef):
                inside = FunctionContext(context.module, callee)
                if any(acts(part, inside, depth - 1) for part in callee.body):
                    return True
    return False


_OBJECTS = {"isinstance", "issubclass", "getattr", "setattr", "hasattr", "delattr", "type", "str"}
_OF_TEXT = {"startswith", "endswith", "split", "join", "format", "strip", "items", "setdefault"}
_NUMERIC = ast.Sub | ast.Mult | ast.Div | ast.MatMult | ast.Pow | ast.FloorDiv


def handles_objects(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a body asks what its objects are, and has no arithmetic and no call of jax.

    `for layer in layers: x = layer(x)` does neither; its items may be equal.
    """
    items = set(target_names(loop.target))
    asks = False
    for node in walk_all(loop.body):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, _NUMERIC):
            return False
        if isinstance(node, ast.JoinedStr):
            asks = True
        if isinstance(node, ast.Call):
            path = context.resolve(node.func) or ""
            applied = node.args and (dotted(node.func) or "").split(".")[0] in items
            if applied or path.startswith("jax."):
                return False
            asks = asks or path in _OBJECTS
            asks = asks or (isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TEXT)
    return asks


_NUMBERS = {"int", "float", "bool"}


def _counts_fields(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a body computes with fields that are declared as Python numbers."""
    if not isinstance(loop.iter, ast.Call) or context.resolve(loop.iter.func) != "range":
        return False
    fields = _number_fields(context)
    values: list[ast.expr] = []
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name()], value=value):
                values.append(value)
            case ast.AugAssign(target=ast.Name(), value=value):
                values.append(value)
            case _:
                found = appended(statement)
                if found is None:
                    return False
                values.append(found[1])
    arithmetic = ast.BinOp | ast.UnaryOp | ast.Constant | ast.Name | ast.operator | ast.unaryop
    used = False
    for node in walk_all(values):
        if isinstance(node, ast.Attribute):
            if ast.unparse(node) not in fields:
                return False
            used = True
        elif not isinstance(node, arithmetic):
            return False
    return used


def _adds_up_literals(loop: ast.For, context: FunctionContext) -> bool:
    """Whether a body only adds literal numbers to numbers: there is no array to be seen."""
    items = loop.iter
    if isinstance(items, ast.Call) and context.resolve(items.func) == "enumerate" and items.args:
        items = items.args[0]
    if not isinstance(items, ast.Tuple | ast.List) or not all(map(is_number, items.elts)):
        return False
    state = state_of(loop, context)
    carries = carries_of(loop, state, context)
    if not state.carried or set(state.carried) != carries.numbers or state.last:
        return False
    numbers = {*state.carried, *target_names(loop.target)}
    for node in walk_all(loop.body):
        match node:
            case ast.If() | ast.Pass():
                continue
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                parts = list(walk(value))
                plain = ast.BinOp | ast.UnaryOp | ast.Constant | ast.Name
                if not all(isinstance(p, plain) for p in parts if isinstance(p, ast.expr)):
                    return False
                if not {p.id for p in parts if isinstance(p, ast.Name)} <= numbers:
                    return False
            case ast.stmt():
                return False
    return True


def _number_fields(context: FunctionContext) -> set[str]:
    """`self.width`, where the class says `width: int`."""
    owner = context.module.functions.class_of(context.node)
    return {
        f"self.{s.target.id}"
        for s in (owner.body if owner is not None else ())
        if isinstance(s, ast.AnnAssign)
        and isinstance(s.target, ast.Name)
        and isinstance(s.annotation, ast.Name)
        and s.annotation.id in _NUMBERS
    }


def _is_read(stored: ast.Subscript | ast.Attribute, loop: ast.For) -> bool:
    """Whether the body also reads what it stores in the same object."""
    wanted = ast.dump(stored.value)
    for node in walk_all(loop.body):
        if isinstance(node, ast.AugAssign) and node.target is stored:
            return True
        if isinstance(node, type(stored)) and isinstance(node.ctx, ast.Load):
            if ast.dump(node.value) == wanted:
                return True
    return False
