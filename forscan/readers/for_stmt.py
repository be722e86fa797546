"""Reads a Python `for` into the neutral loop, or says why it cannot be one."""

from __future__ import annotations

import ast
import re

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.carry_types import CarryTypes
from forscan.analyse.containers import own_containers
from forscan.analyse.effects import Effects, refuse
from forscan.analyse.growth import growing_integers
from forscan.analyse.lists import FilledList, find_lists
from forscan.analyse.mixed import mixed_precision
from forscan.analyse.numbers import LARGEST_INDEX
from forscan.analyse.settled import Settled
from forscan.analyse.state import State, captured_outside, state_of, without_idle_starts
from forscan.analyse.trip_count import Extent, literal_int
from forscan.analyse.uses import Kind, Use, Uses
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Carry, Loop, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.readers.space import Space, read_space
from forscan.syntax.code import Code, expression, suite, suite_end
from forscan.syntax.names import activity, binds, free_names, names_in
from forscan.syntax.source import Source
from forscan.syntax.walk import walk, walk_all


def read(site: Site, target: str) -> Draft:
    """The draft of a conversion of a `for` to `target`.

    Raises:
      Refused: with all reasons that were found.
    """
    assert isinstance(site.node, ast.For)
    node, context = site.node, site.context
    spelling = context.module.spelling(node.body[0])
    reasons: list[Refusal] = []
    space = Space()
    try:
        space = read_space(node, context, spelling)
    except Refused as refused:
        reasons += refused.reasons
    state = state_of(node, context)
    lists, wrong_lists = find_lists(node, context)
    names = {filled.name for filled in lists}
    state = _without_lists(state, names)
    if target == "scan":
        state = without_idle_starts(state, node, context)
    uses = _index_uses(space, node, state, context)
    reasons += [
        *Effects(context, node.body, names, own_containers(node, context)).reasons(),
        *wrong_lists,
        *_unbound(state, node),
        *_concrete(state, space, uses, node, context),
        *_rebound_index(space, state, node),
        *_functions_after(state, node),
        *growing_integers(node, state, context),
        *_late_binding(state, node, context),
        *_types(state, lists, node, context),
        *_outer_names(state, node, context),
    ]
    if reasons:
        raise Refused(*_first_of_each(reasons))
    loop = _loop(node, context, space, state)
    trips = space.trips[0] if space.trips else Extent("", 0)
    return Draft(site, target, loop, state, spelling, tuple(lists), tuple(uses), trips)


def region(site: Site) -> tuple[int, int]:
    """The offsets of the whole lines that the loop takes up, with its else suite."""
    assert isinstance(site.node, ast.For)
    source, node = site.context.source, site.node
    last = (node.orelse or node.body)[-1]
    first = (node.orelse or node.body)[0]
    start = source.line_start(source.start(node))
    indentation = source.indentation(source.start(first))
    if source.position(source.start(first))[0] == colon_line(source, node):
        return start, source.line_end(source.end(last))
    return start, suite_end(source, last, indentation)


def _loop(node: ast.For, context: FunctionContext, space: Space, state: State) -> Loop:
    source = context.source
    colon = colon_line(source, node)
    body = suite(source, node.body, colon)
    head = [*_header_comments(source, node, colon), *space.head]
    counter = space.counter
    if head:
        body = Code("\n".join([*head, body.text]))
    carries = tuple(Carry(n, n, n, n if n in state.live_after else None) for n in state.carried)
    after: tuple[str, ...] = ()
    if node.orelse:
        after = (else_suite(source, node).text,)
    return Loop(
        body,
        carries,
        counter=counter,
        elements=space.elements,
        reverse=space.reverse,
        before=space.before,
        after=after,
    )


def colon_line(source: Source, node: ast.For) -> int:
    """The line of the colon that ends the header."""
    position = source.end(node.iter)
    text = source.text
    while text[position] != ":":
        if text[position] == "#":
            position = source.line_end(position)
        position += 1
    return source.position(position)[0]


def _header_comments(source: Source, node: ast.For, colon: int) -> list[str]:
    """The comments of the header, as lines; a type comment cannot stand alone."""
    found = []
    first = source.start(node.body[0])
    last = source.line_end(source.line_starts[colon - 1])
    if source.position(first)[0] == colon:
        last = first
    header = source.text[source.start(node) : last]
    for comment in Source(header + "\n    pass\n").comments():
        match = re.match(r"#\s*type:\s*(?!ignore)", comment)
        if match:
            target = ast.unparse(node.target)
            comment = f"# {target}: {comment[match.end():]}"
        found.append(comment)
    return found


def else_suite(source: Source, node: ast.For) -> Code:
    """What runs behind a loop that nothing breaks off."""
    line = node.orelse[0].lineno
    start = source.start(node.orelse[0])
    if "else" in source.line(line)[: start - source.line_starts[line - 1]]:
        return suite(source, node.orelse, line)
    begin = source.line_end(source.end(node.body[-1]))
    match = re.compile(r"^[ \t]*else[ \t]*:", re.M).search(source.text, begin)
    assert match is not None
    return suite(source, node.orelse, source.position(match.end())[0])


def _without_lists(state: State, names: set[str]) -> State:
    """`out += [y]` binds the list's name, which is no state of its own."""
    from dataclasses import replace

    return replace(
        state,
        carried=tuple(n for n in state.carried if n not in names),
        last=tuple(n for n in state.last if n not in names),
        unbound=tuple(n for n in state.unbound if n not in names),
        local=tuple(n for n in state.local if n not in names),
    )


def _first_of_each(reasons: list[Refusal]) -> list[Refusal]:
    """All reasons, one for each code and place, in the order of the file."""
    seen: set[tuple[str, int | None, str]] = set()
    kept = []
    for reason in reasons:
        key = (reason.code, reason.line, reason.message)
        if key not in seen:
            seen.add(key)
            kept.append(reason)
    return kept


# The checks.


def _unbound(state: State, node: ast.For) -> list[Refusal]:
    return [
        refuse(
            "FSC408",
            node,
            f"{name} may be read before it is bound: it has no value before the loop, and not "
            "every path through an iteration binds it first",
            f"Give {name} a start value of its final shape and dtype before the loop.",
        )
        for name in state.unbound
    ]


def _index_uses(space: Space, node: ast.For, state: State, context: FunctionContext) -> list[Use]:
    if space.counter is None:
        return []
    bounds = [literal_int(expression(t)) for t in (space.counter.start, space.counter.stop)]
    known = [abs(b) for b in bounds if b is not None]
    largest = max(known) if len(known) == len(bounds) else max([*known, LARGEST_INDEX])
    settled = Settled(node, state, context)
    uses = Uses(context, node.body, largest=largest, settled=settled)
    return uses.of(space.counter.name, integer=True)


def _functions_after(state: State, node: ast.For) -> list[Refusal]:
    """A function cannot be the output of a scan."""
    return [
        refuse(
            "FSC401",
            node,
            f"{name} is a function that the body makes and that is used behind the loop",
            "Make the function behind the loop.",
        )
        for name in (*state.last, *state.carried)
        if name in _functions_made(node)
    ]


def _rebound_index(space: Space, state: State, node: ast.For) -> list[Refusal]:
    """An index that the body gives another value is no index any more."""
    counter = space.counter
    found = activity(node.body)
    if counter is None or counter.name not in state.targets:
        return []
    if counter.name not in found.binds or counter.name not in found.exposed:
        return []
    return [
        refuse(
            "FSC401",
            node,
            f"{counter.name} is the index and gets another value in the body",
            "Use another name for the new value.",
        )
    ]


def _concrete(
    state: State, space: Space, uses: list[Use], node: ast.For, context: FunctionContext
) -> list[Refusal]:
    """Loop values that are needed as Python values."""
    found = []
    index = space.counter.name if space.counter else None
    for use in uses:
        if _needs_value(use, context):
            found.append(_concrete_refusal(use, "the index"))
    functions = _functions_made(node)
    for name in _varying(state, node):
        if name == index or name in functions:
            continue
        for use in Uses(context, node.body).of(name, integer=False):
            if _needs_value(use, context):
                found.append(_concrete_refusal(use, "a value of the loop"))
            elif use.read is not None and _is_sequence(use.read.value, state, context):
                found.append(_sequence_refusal(use, use.read.value))
    found += _needed_after(state, node, context)
    return found


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


def _functions_made(node: ast.For) -> set[str]:
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
    changed = True
    while changed:
        changed = False
        for statement in walk_all(node.body):
            values: list[ast.expr] = []
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
                values = [statement.value] if statement.value else []
            elif isinstance(statement, ast.NamedExpr):
                values = [statement.value]
            elif isinstance(statement, ast.For):
                values = [statement.iter]
            bound = set(binds(statement)) if values else set()
            if any(_reads_value(v, varying) for v in values) and not bound <= varying:
                varying |= bound
                changed = True
    ordered = [*state.targets, *state.carried, *binds(node.body)]
    return [n for n in dict.fromkeys(ordered) if n in varying]


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
        _reads_value(child, names)
        for child in walk(node)
        if isinstance(child, ast.expr) and child is not node and _direct(child, node)
    )


def _direct(child: ast.expr, node: ast.expr) -> bool:
    for part in ast.iter_child_nodes(node):
        if part is child:
            return True
        if not isinstance(part, ast.expr) and any(c is child for c in walk(part)):
            return True
    return False


def _needed_after(state: State, node: ast.For, context: FunctionContext) -> list[Refusal]:
    """Python numbers kept as state and needed as Python values behind the loop."""
    checker = CarryTypes(node, state.carried, (), state.targets, context)
    found = []
    inside = set(walk(node))
    for name in state.carried:
        start = checker.start(name)
        plain = isinstance(start, ast.Attribute) or (start is not None and checker.is_number(start))
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


def _late_binding(state: State, node: ast.For, context: FunctionContext) -> list[Refusal]:
    """Functions made outside the loop that read its names and are used in it."""
    bound = {*binds(node.body), *state.targets}
    inside = set(walk(node))
    found = []
    used = {n.id for n in walk_all(node.body) if isinstance(n, ast.Name)}
    for name in sorted(captured_outside(node, context) & bound):
        for function in context.captured[name]:
            if function in inside:
                continue
            assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            called = _names_of(function, context)
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


def _types(
    state: State, lists: list[FilledList], node: ast.For, context: FunctionContext
) -> list[Refusal]:
    collected = tuple(v for filled in lists for v in filled.values)
    types = CarryTypes(node, state.carried, collected, state.targets, context)
    return [*types.reasons(), *mixed_precision(types)]


def _outer_names(state: State, node: ast.For, context: FunctionContext) -> list[Refusal]:
    declared = context.outside & {*binds(node.body), *state.targets}
    return [
        refuse(
            "FSC303",
            node,
            f"the body changes {name}, a global or nonlocal name: that is a side effect, and it "
            "would be left with a tracer",
            "Keep the value in a local name inside the loop and store it afterwards.",
        )
        for name in sorted(declared)
    ]
