"""Values of a loop that are needed as Python values: a scan has only tracers for them."""

from __future__ import annotations

import ast

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.carries import Carries, is_number
from forscan.analyse.state import State, carries_of
from forscan.analyse.use import Kind, Use
from forscan.analyse.uses import Uses
from forscan.find.context import FunctionContext
from forscan.refusal import Refusal, refuse
from forscan.syntax.names import binds, in_body, names_in
from forscan.syntax.walk import children, walk, walk_all


def python_values(
    node: ast.For, state: State, index: str | None, uses: list[Use], context: FunctionContext
) -> list[Refusal]:
    """Refusals for the places that need a Python value of the loop.

    Args:
      index: the name of the induction variable, where there is one.
      uses: its uses.
    """
    found = []
    for use in uses:
        if _needs_value(use, context):
            found.append(_concrete_refusal(use, "the index"))
    functions = functions_made(node)
    body = Uses(context, node.body)
    for name in _varying(state, node):
        if name == index or name in functions:
            continue
        for use in body.of(name, integer=False):
            if _needs_value(use, context):
                found.append(_concrete_refusal(use, "a value of the loop"))
            elif use.read is not None and _is_sequence(use.read.value, state, context):
                found.append(_sequence_refusal(use, use.read.value))
    found += _needed_in_functions(carries_of(node, state, context), body)
    found += _needed_after(state, node, context)
    return found


def _needed_in_functions(carries: Carries, body: Uses) -> list[Refusal]:
    """Python numbers kept as state that functions of the project need as Python values."""
    return [
        _concrete_refusal(use, "a number that the loop changes")
        for name in sorted(carries.numbers)
        for use in body.of(name, integer=True)
        if use.kind in (Kind.CONCRETE, Kind.BRANCH)
    ]


def _needs_value(use: Use, context: FunctionContext) -> bool:
    """Whether a use needs a Python value; calls that were run show what a function takes."""
    return use.kind >= Kind.CONCRETE and not (use.kind is Kind.PASSED and context.observed)


def _is_sequence(base: ast.expr, state: State, context: FunctionContext) -> bool:
    """Whether what is indexed is from before the loop, and no array of JAX."""
    if set(names_in(base)) & {*state.carried, *state.local, *state.last}:
        return False
    return evidence(base, context) in (Evidence.NUMPY, Evidence.TABLE, Evidence.OTHER)


def _sequence_refusal(use: Use, base: ast.expr) -> Refusal:
    shown = ast.unparse(base)
    return refuse(
        "FSC202",
        use.node,
        f"{shown} is no array of JAX and is read at {use.node.id}, a value of the loop: a tracer "
        "cannot index it",
        f"Make it an array before the loop, for instance `jnp.asarray({shown})`.",
    )


def functions_made(node: ast.For) -> set[str]:
    """Names that the body gives to functions and to nothing else."""
    made: set[str] = set()
    targets: list[ast.expr] = []
    for statement in walk_all(node.body):
        match statement:
            case ast.FunctionDef(name=name):
                made.add(name)
            case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Lambda()):
                made.add(name)
                targets.append(target)
    stores = (n for n in walk_all(node.body) if isinstance(n, ast.Name) and n not in targets)
    return made - {n.id for n in stores if isinstance(n.ctx, ast.Store)}


def _concrete_refusal(use: Use, what: str) -> Refusal:
    name = use.node.id
    if use.kind is Kind.BRANCH:
        return refuse(
            "FSC402",
            use.node,
            f"{use.what} depends on {name}, {what}: inside a scan it is a tracer, which has no "
            "truth value",
            "Use jnp.where or lax.cond, or take the special iteration out of the loop.",
        )
    if use.kind is Kind.PASSED:
        return refuse(
            "FSC409",
            use.node,
            f"{name}, {what}, is {use.what}, an unknown call that may need it as a Python int",
            "Write the function into this module, or hand it an array.",
        )
    return refuse(
        "FSC401",
        use.node,
        f"{name}, {what}, is used as {use.what}, which is static: it needs a Python value, and "
        "inside a scan there is only a tracer",
        "Revise the body so that only arrays depend on it, or keep the loop.",
    )


def _varying(state: State, node: ast.For) -> list[str]:
    """Names whose value differs from iteration to iteration."""
    varying = set(state.targets) | set(state.carried)
    given = [(value, set(binds(n))) for n in walk_all(node.body) if (value := _given(n))]
    changed = True
    while changed:
        changed = False
        for value, bound in given:
            if not bound <= varying and _reads_value(value, varying):
                varying |= bound
                changed = True
    ordered = [*state.targets, *state.carried, *in_body(node).binds]
    return [n for n in dict.fromkeys(ordered) if n in varying]


def _given(node: ast.AST) -> ast.expr | None:
    """The value that a statement or a walrus gives to names."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
        return node.value
    return node.iter if isinstance(node, ast.For) else None


def _reads_value(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression reads any of the names for more than shape or type."""
    if isinstance(node, ast.Attribute) and node.attr in (
        "shape",
        "ndim",
        "dtype",
        "size",
    ):
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return False
    if isinstance(node, ast.Name):
        return node.id in names
    return any(
        _reads_value(part, names) if isinstance(part, ast.expr) else bool(names_in(part) & names)
        for part in children(node)
    )


def _needed_after(state: State, node: ast.For, context: FunctionContext) -> list[Refusal]:
    """Python numbers kept as state and needed as Python values behind the loop."""
    carries = carries_of(node, state, context)
    found = []
    inside = set(walk(node))
    for name in state.carried:
        start = carries.start(name)
        plain = isinstance(start, ast.Attribute) or (start is not None and is_number(start))
        if not plain:
            continue
        behind = [n for n in context.node.body if n not in inside]
        for use in Uses(context, behind).of(name, integer=True):
            later = use.node.lineno > node.lineno and use.node not in inside
            if later and use.kind >= Kind.CONCRETE and use.kind is not Kind.PASSED:
                found.append(
                    refuse(
                        "FSC410",
                        use.node,
                        f"{name} is a Python number and is used behind the loop as {use.what}, which is "
                        "static: carried by a scan it would be a tracer",
                        "Compute the number from the trip count instead.",
                    )
                )
    return found
