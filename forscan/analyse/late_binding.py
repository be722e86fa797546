"""Functions made outside a loop that read its names and are used in it.

Python looks such a name up when the function is called; the function that a scan is given
binds a name of its own, which they never see.
"""

from __future__ import annotations

import ast

from forscan.analyse.state import State, captured_outside
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import free_names, in_body
from forscan.syntax.walk import walk, walk_all


def late_binding(node: ast.For, state: State, context: FunctionContext) -> list[Refusal]:
    """A refusal for each name that such a function reads."""
    bound = {*in_body(node).binds, *state.targets}
    inside = set(walk(node))
    found = []
    used = {n.id for n in walk_all(node.body) if isinstance(n, ast.Name)}
    for name in sorted(captured_outside(node, context) & bound):
        for function in context.read_late[name]:
            if function in inside:
                continue
            assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            called = _names_of(function, context) - set(state.local)  # made anew in each iteration
            if called & used or _reached(called, used, context):
                shown = ", ".join(sorted(called)) or "a lambda"
                found.append(
                    refuse(
                        "FSC309",
                        node,
                        f"{shown} was made outside the loop and reads {name} by late binding: as a closure "
                        "it would see the value from before the loop",
                        f"Hand {name} to the function as an argument.",
                    )
                )
    return found


def _names_of(function: ast.AST, context: FunctionContext) -> set[str]:
    """The names that a function goes by; those of what it is wrapped in as well."""
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return {function.name}
    parent: ast.AST | None = function
    parents = context.module.functions.parents
    while parent is not None and not isinstance(parent, ast.stmt):
        parent = parents.get(parent)
    if isinstance(parent, ast.Assign):
        return {n.id for t in parent.targets for n in walk(t) if isinstance(n, ast.Name)}
    return set()


def _reached(names: set[str], used: set[str], context: FunctionContext) -> bool:
    """Whether functions that the loop uses read a function of that name."""
    for node in context.nodes:
        if isinstance(node, ast.FunctionDef) and node.name in used:
            if names & set(free_names(node)):
                return True
    return False
