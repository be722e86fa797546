"""Appends become outputs, and the uses of the list follow."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.growth import is_integer, that_stay
from forscan.analyse.lists import FilledList, appended, appends_to, given_value
from forscan.analyse.state import carries_of
from forscan.model import Output, Refused
from forscan.passes.draft import Draft
from forscan.passes.idle import idle_start
from forscan.passes.list_uses import ListUses
from forscan.refusal import refuse
from forscan.syntax.code import one_line, removal, without_names
from forscan.syntax.fresh import singular
from forscan.syntax.names import binds, names_in, reads
from forscan.syntax.source import Edit


def append_to_ys(draft: Draft) -> Draft:
    """Every list that an iteration appends to becomes an output of the loop.

    Raises:
      Refused: a list is appended to several times, or its items may be no arrays.
    """
    for filled in draft.lists:
        draft = _one_list(draft, filled)
    gone: dict[ast.Assign, set[str]] = {}
    for filled in draft.lists:
        if filled.fresh:
            gone.setdefault(filled.definition, set()).add(filled.name)
    edits = [without_names(draft.context.source, made, names) for made, names in gone.items()]
    starts = (idle_start(draft, name, made) for made, names in gone.items() for name in names)
    edits += [removal(draft.context.source, start) for start in starts if start is not None]
    return replace(draft, edits=(*draft.edits, *edits))


def _one_list(draft: Draft, filled: FilledList) -> Draft:
    after = _checked_uses(draft, filled)
    draft = _of_nothing(draft, filled, after)
    result = filled.name if filled.fresh else draft.fresh.name(f"{filled.name}_tail", "ys")
    draft = _bind_value(draft, filled, result, after.tree)
    ordered = _in_order(draft, result)
    edits: list[Edit] = []
    if after.as_array:
        edits = after.edits
        rest = (*after.after, *_as_array(draft, filled, ordered))
    else:
        rest = (_as_items(draft, filled, result, after.tuples),)
    loop = replace(draft.loop, after=draft.loop.after + rest)
    return replace(draft, loop=loop, edits=(*draft.edits, *edits))


def _as_items(draft: Draft, filled: FilledList, result: str, tuples: bool) -> str:
    """The statement that makes a list of the outputs again, or lets one grow by them."""
    name, kind = filled.name, filled.kind
    items = f"zip(*{result})" if tuples else _in_order(draft, result)
    whole = f"{kind}({items})"
    if tuples and draft.loop.reverse:
        items = whole = f"{whole}[::-1]"
    if filled.may_miss:
        nothing = "[]" if kind == "list" else "()"
        whole = f"{nothing} if {result} is None else {whole}"
    if filled.fresh:
        return f"{name} = {whole}"
    return f"{name}.extend({items})" if kind == "list" else f"{name} += {whole}"


def _checked_uses(draft: Draft, filled: FilledList) -> ListUses:
    """The uses of a list that can be an output.

    Raises:
      Refused: it cannot.
    """
    node = filled.appends[0]
    if draft.target == "fori_loop":
        raise Refused(
            refuse(
                "FSC501",
                node,
                f"the loop appends to {filled.name}, and fori_loop gives "
                "back no value per iteration: a buffer of known shape and dtype would have to be invented",
                "Convert it to a scan: `--to scan`.",
            )
        )
    after = ListUses(draft, filled)
    if not after.as_array:
        _check_first(draft, filled)
    if filled.several and (after.tree or not after.as_array or not filled.fresh):
        raise Refused(
            refuse(
                "FSC407",
                node,
                f"an iteration appends to {filled.name} several times, and an "
                "output of a scan is one slice per iteration",
                "Stack what one iteration appends and reshape after the loop.",
            )
        )
    if filled.may_miss and not (filled.fresh and after.may_be_none):
        raise Refused(
            refuse(
                "FSC303",
                node,
                f"the list {filled.name} grows in a branch and is used as a whole behind the loop",
                "Append in every iteration, or choose between two loops before it.",
            )
        )
    return after


def _of_nothing(draft: Draft, filled: FilledList, after: ListUses) -> Draft:
    """Says what the uses would make of a list to which no iteration has appended."""
    if not after.as_array:
        return draft
    if filled.seeded:
        same = not filled.uses or _continues(draft, filled)
        return draft if same else _with_some(draft, filled, "{} has the type of its first items")
    if after.columns_of_nothing:
        return _with_some(draft, filled, "zip finds no columns in the empty list {}")
    if after.of_nothing:
        return _with_some(draft, filled, "an array of the empty list {} has one axis only")
    if after.sums:
        return _with_some(draft, filled, "the sum of the empty list {} is the number 0")
    return draft


def _as_array(draft: Draft, filled: FilledList, ordered: str) -> tuple[str, ...]:
    """Statements that make one array of the outputs, with the items from before the loop."""
    name = filled.name
    if filled.seeded and filled.uses:
        jnp = draft.spelling.jnp
        return (f"{name} = {jnp}.concatenate([{jnp}.stack({name}), {ordered}])",)
    if filled.several:
        # An iteration's items keep their order, whichever of the iterations comes first.
        return (f"{name} = {ordered}.reshape(-1, *{name}.shape[2:])",)
    return ()


def _continues(draft: Draft, filled: FilledList) -> bool:
    """Whether a list starts with the state that is appended: a carry keeps its type."""
    carries = carries_of(draft.statement, draft.state, draft.context)
    seeds = given_value(filled.definition, filled.name)
    names = {v.id if isinstance(v, ast.Name) else "" for v in filled.values}
    if (
        not isinstance(seeds, ast.List | ast.Tuple)
        or not names <= {*carries.carried} - carries.numbers
    ):
        return False
    starts = (carries.start(name) for name in names)
    shown = {ast.unparse(start) for start in starts if start is not None} | names
    return all(ast.unparse(seed) in shown for seed in seeds.elts)


def _check_first(draft: Draft, filled: FilledList) -> None:
    """Refuses a list whose first item is of another type than the others.

    It is made of the integer that the state starts with, or, in mixed precision, of a
    weakly typed start.
    """
    carries = carries_of(draft.statement, draft.state, draft.context)
    odd = {n for n in carries.numbers if is_integer(carries.start(n))}
    odd -= that_stay(odd, carries)
    if draft.context.module.names_half_precision:
        odd |= {n for n in draft.state.carried if carries.may_start_weakly(n)}
    for statement, value in zip(filled.appends, filled.values, strict=True):
        names = {n for n in reads(value) if not carries.is_module(n)}
        updates = [u.lineno for n in names & odd for u in carries.updates(n)]
        if names and names <= odd and updates and statement.lineno <= min(updates):
            shown = ", ".join(sorted(names))
            raise Refused(
                refuse(
                    "FSC406",
                    filled.appends[0],
                    f"the first item of {filled.name} is made of what {shown} starts with, whose type the "
                    "others may not have: the outputs of a scan have one type",
                    f"Start {shown} from an array of the type that it becomes.",
                )
            )


def _with_some(draft: Draft, filled: FilledList, otherwise: str) -> Draft:
    """Says that a conversion relies on an iteration, and what of nothing would be made.

    Args:
      otherwise: what Python makes of the empty list, with `{}` for its name.
    """
    trips = draft.trips.number if draft.trips is not None else None
    if trips is not None:
        if trips > 0:
            return draft
        raise Refused(
            refuse(
                "FSC202",
                filled.appends[0],
                f"the loop makes no iteration, and {otherwise.format(filled.name)}",
                "Keep the Python loop.",
            )
        )
    some = f"assumes an iteration: {otherwise.format(filled.name)}"
    return replace(draft, assumptions=(*draft.assumptions, some))


def _in_order(draft: Draft, ys: str) -> str:
    """Outputs in the order of visiting, as a list has them."""
    return f"{ys}[::-1]" if draft.loop.reverse else ys


def _bind_value(draft: Draft, filled: FilledList, result: str, tree: bool) -> Draft:
    """What is appended becomes an output: one value, or the stack of several."""
    if filled.branch is not None:
        return _bind_in_branches(draft, filled, result, tree)
    body = draft.loop.body
    values: list[str] = []
    edits: list[Edit] = []
    for position, statement in enumerate(body.statements):
        if appends_to(statement, filled.name):
            draft, value, changes = _bind(draft, filled, position)
            values.append(value)
            edits += changes
    value = values[0]
    if len(values) > 1:
        value = f"{draft.spelling.jnp}.stack([{', '.join(values)}])"
    output = Output(value, result, is_array=not tree)
    return draft.with_loop(body=body.edited(edits), outputs=(*draft.loop.outputs, output))


def _bind(draft: Draft, filled: FilledList, position: int) -> tuple[Draft, str, list[Edit]]:
    """An appended value gets a name in place, where a later assignment could change it."""
    body = draft.loop.body
    statement = body.statements[position]
    value = _value(statement)
    text = one_line(body, value)
    changed = set(binds(body.statements[position + 1 :]))
    if isinstance(value, ast.Name) and value.id not in changed:
        return draft, text, [removal(body, statement)]
    if isinstance(value, ast.NamedExpr) and not names_in(value) & changed:
        name = value.target.id
        return draft, name, [body.replace(statement, f"{name} = {body.segment(value.value)}")]
    name = draft.fresh.name(*_wishes(filled.name))
    wrapped = "\n" in text
    edits = [
        Edit(body.start(statement), body.start(value), f"{name} = " + "(" * wrapped),
        Edit(body.end(value), body.end(statement), ")" * wrapped),
    ]
    return replace(draft, invented=draft.invented | {name}), name, edits


def _bind_in_branches(draft: Draft, filled: FilledList, result: str, tree: bool) -> Draft:
    """The branches bind the value; where none of them is taken there are no outputs."""
    body = draft.loop.body
    name = draft.fresh.name(*_wishes(filled.name))
    edits = []
    for branch in body.statements:
        if isinstance(branch, ast.If):
            appends = [s for s in (*branch.body, *branch.orelse) if appends_to(s, filled.name)]
            if len(appends) == 1:
                start = body.start(branch)
                edits.append(Edit(start, start, f"{name} = None\n"))
            for statement in appends:
                text = one_line(body, _value(statement))
                edits.append(Edit(body.start(statement), body.end(statement), f"{name} = {text}"))
    output = Output(name, result, is_array=not tree)
    return draft.with_loop(body=body.edited(edits), outputs=(*draft.loop.outputs, output))


def _wishes(name: str) -> list[str]:
    """Names for one item of a list."""
    return [singular(name) or "y", "y", f"{name}_item"]


def _value(statement: ast.stmt) -> ast.expr:
    found = appended(statement)
    assert found is not None
    return found[1]
