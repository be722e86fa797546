"""Appends become outputs, and the uses of the list follow."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.arrays import TREE_MAPS
from forscan.analyse.floating import Floating
from forscan.analyse.growth import is_integer, that_stay
from forscan.analyse.items import is_array_expression
from forscan.analyse.lists import FilledList, appended, appends_to, block_of, given_value
from forscan.analyse.state import carries_of
from forscan.model import Output, Refusal, Refused
from forscan.passes.draft import Draft
from forscan.passes.idle import idle_start
from forscan.syntax.code import one_line, removal, without_names
from forscan.syntax.names import binds, names_in, reads, singular
from forscan.syntax.source import Edit

_STACKS = {"jax.numpy.stack", "jax.numpy.array", "jax.numpy.asarray"}
_JOINS = {"jax.numpy.concatenate", "jax.numpy.vstack", "jax.numpy.hstack", "jax.numpy.column_stack"}


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
    if draft.target == "fori_loop":
        raise Refused(
            _reason(
                "FSC501",
                filled,
                f"the loop appends to {filled.name}, and fori_loop gives "
                "back no value per iteration: a buffer of known shape and dtype would have to be invented",
                "Convert it to a scan: `--to scan`.",
            )
        )
    several = len(filled.appends) != 1 and filled.branch is None
    after = _Uses(draft, filled)
    if not after.as_array:
        _check_first(draft, filled)
    if several and (after.tree or not after.as_array or not filled.fresh):
        raise Refused(
            _reason(
                "FSC407",
                filled,
                f"an iteration appends to {filled.name} several times, and an "
                "output of a scan is one slice per iteration",
                "Stack what one iteration appends and reshape after the loop.",
            )
        )
    may_miss = filled.branch is not None and len(filled.appends) == 1
    if may_miss and not (filled.fresh and after.may_be_none):
        raise Refused(
            _reason(
                "FSC303",
                filled,
                f"the list {filled.name} grows in a branch and is used as a whole behind the loop",
                "Append in every iteration, or choose between two loops before it.",
            )
        )
    if after.as_array and after.of_nothing:
        draft = _with_some(draft, filled, "an array of the empty list {} has one axis only")
    elif after.as_array and after.sums:
        draft = _with_some(draft, filled, "the sum of the empty list {} is the number 0")
    result = filled.name if filled.fresh else draft.fresh.name(f"{filled.name}_tail", "ys")
    draft = _bind_value(draft, filled, result, after.tree)
    edits = list(draft.edits)
    rest: tuple[str, ...] = ()
    if after.as_array:
        edits += after.edits
        rest = after.after
        if several:
            # An iteration's items keep their order, whichever of the iterations comes first.
            ordered = _in_order(draft, filled.name)
            flat = f"{filled.name} = {ordered}.reshape(-1, *{filled.name}.shape[2:])"
            rest = (*rest, flat)
        if filled.seeded and filled.uses:
            if not _continues(draft, filled):
                draft = _with_some(draft, filled, "the list {} has the type of its first items")
            stack = f"{draft.spelling.jnp}.stack({filled.name})"
            joined = f"{draft.spelling.jnp}.concatenate([{stack}, {_in_order(draft, result)}])"
            rest = (f"{filled.name} = {joined}",)
    elif filled.fresh:
        items = f"list({_in_order(draft, result)})"
        if may_miss:
            items = f"[] if {result} is None else {items}"
        rest = (f"{filled.name} = {items}",)
    else:
        rest = (f"{filled.name}.extend({_in_order(draft, result)})",)
    loop = replace(draft.loop, after=draft.loop.after + rest)
    return replace(draft, loop=loop, edits=tuple(edits))


def _continues(draft: Draft, filled: FilledList) -> bool:
    """Whether a list starts with the state that is appended: a carry keeps its type."""
    carries = carries_of(draft.statement, draft.state, draft.context)
    seeds = given_value(filled.definition, filled.name)
    names = {v.id if isinstance(v, ast.Name) else "" for v in filled.values}
    if not isinstance(seeds, ast.List) or not names <= {*carries.carried} - carries.numbers:
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
                _reason(
                    "FSC406",
                    filled,
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
            _reason(
                "FSC202",
                filled,
                f"the loop makes no iteration, and {otherwise.format(filled.name)}",
                "Keep the Python loop.",
            )
        )
    some = f"assumes an iteration: {otherwise.format(filled.name)}"
    return replace(draft, assumptions=(*draft.assumptions, some))


def _in_order(draft: Draft, ys: str) -> str:
    """Outputs in the order of visiting, as a list has them."""
    return f"{ys}[::-1]" if draft.loop.reverse else ys


def _reason(code: str, filled: FilledList, message: str, help: str) -> Refusal:
    node = filled.appends[0]
    return Refusal(code, message, help, node.lineno, node.col_offset + 1)


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


class _Uses:
    """Whether all uses behind the loop can take an array in place of the list.

    Attributes:
      as_array: they can.
      tree: the items are pytrees, put together by a tree map.
      edits: the changes that the uses need.
      after: statements behind the loop.
    """

    def __init__(self, draft: Draft, filled: FilledList) -> None:
        self.draft = draft
        self.context = draft.context
        self.filled = filled
        self.parents = self.context.module.functions.parents
        self.edits: list[Edit] = []
        self.after: tuple[str, ...] = ()
        self.tree = False
        self.plain = 0  # uses that see the array as it is, in visiting order
        self.sums = False  # `sum(out)` of an empty list is 0
        self.of_nothing = False  # `jnp.array(out)` and `out.reverse()` take an empty list too
        # These are put together in the order of visiting already.
        joined = filled.seeded or (len(filled.appends) > 1 and filled.branch is None)
        self.reverse = draft.loop.reverse and not joined
        proven = self.array_items()
        uses = filled.uses[1:] if self.turned_round() else filled.uses
        fine = [self.use(node) for node in uses]
        if self.reverse and self.plain:
            # What is seen as it is has to be turned round, and then by nobody else.
            self.after = (f"{filled.name} = {filled.name}[::-1]",)
            self.reverse, self.edits = False, []
            fine = [self.use(node) for node in uses]
        behind = all(n.lineno > draft.statement.lineno for n in filled.uses)
        whole = filled.fresh or (filled.seeded and not self.tree)
        self.as_array = whole and behind and all(fine)
        if not self.as_array and not proven:
            raise Refused(
                _reason(
                    "FSC202",
                    filled,
                    f"the list {filled.name} is used as a list behind the loop, and "
                    "nothing shows that its items are arrays: a scan would give back one pytree of stacks",
                    "Stack the items after the loop, for instance by jnp.stack.",
                )
            )

    def turned_round(self) -> bool:
        """Whether `out.reverse()` comes first behind the loop: of an array, a new one."""
        attribute = self.parents.get(self.filled.uses[0]) if self.filled.uses else None
        call = self.parents.get(attribute) if attribute is not None else None
        statement = self.parents.get(call) if call is not None else None
        if not isinstance(attribute, ast.Attribute) or attribute.attr != "reverse":
            return False
        if statement not in block_of(self.draft.statement, self.context):
            return False
        assert isinstance(statement, ast.Expr)
        source, name = self.context.source, self.filled.name
        if self.reverse:
            self.edits.append(removal(source, statement))
            self.reverse = False
        else:
            self.of_nothing = True
            new = f"{name} = {name}[::-1]"
            self.edits.append(Edit(source.start(statement), source.end(statement), new))
        return True

    @property
    def may_be_none(self) -> bool:
        """Whether the uses take None where nothing was appended: they run only otherwise."""
        needed = self.plain or self.after or self.sums or self.of_nothing
        return not self.as_array or not needed

    def array_items(self) -> bool:
        value = self.filled.values[0]
        return is_array_expression(value, self.draft.statement.body, self.context)

    def use(self, node: ast.Name) -> bool:
        """Whether one use can take the array; notes its edit."""
        whole: ast.expr = node
        flipped = False
        parent = self.parents.get(node)
        while True:  # out[::-1], reversed(out), list(reversed(out))
            if isinstance(parent, ast.Subscript) and ast.unparse(parent.slice) == "::-1":
                flipped = not flipped
            elif isinstance(parent, ast.Call) and self.is_builtin(parent, "reversed"):
                flipped = not flipped
            elif not (isinstance(parent, ast.Call) and self.is_builtin(parent, "list", "tuple")):
                break
            whole, parent = parent, self.parents.get(parent)
        if isinstance(parent, ast.Call) and parent.args and parent.args[0] is whole:
            path = self.context.resolve(parent.func)
            if path in _STACKS:
                return self.stack(parent, path, flipped)
            if path in _JOINS and whole is node:
                self.plain += 1
                return True
            if path == "len" and whole is node:
                self.plain += 1
                return True
            if path == "sum" and whole is node:
                return self.sum(parent)
        if isinstance(parent, ast.Starred):
            call = self.parents.get(parent)
            if isinstance(call, ast.Call) and self.is_tree_stack(call):
                self.tree = True
                self.replace(call, self.tree_name(flipped))
                return True
        if isinstance(parent, ast.Subscript) and parent.value is whole and whole is node:
            if self.filled.seeded and not self.filled.looked_at:
                return False  # put into one array, the items before the loop may change their type
            if isinstance(parent.ctx, ast.Load) and not isinstance(parent.slice, ast.Slice):
                self.plain += 1
                return self.array_items()
        return False

    def is_builtin(self, call: ast.Call, *names: str) -> bool:
        return self.context.resolve(call.func) in names and len(call.args) == 1

    def name(self, flipped: bool) -> str:
        backwards = flipped != self.reverse
        return f"{self.filled.name}[::-1]" if backwards else self.filled.name

    def tree_name(self, flipped: bool) -> str:
        """A tree of stacks; turned round, each of them is."""
        if flipped == self.reverse:
            return self.filled.name
        return self.draft.spelling.sliced_leaves(self.filled.name, "::-1")

    def stack(self, call: ast.Call, path: str, flipped: bool) -> bool:
        """`jnp.stack(out, axis=k)` over items becomes the array, its axis moved."""
        axis: ast.expr | None = call.args[1] if len(call.args) > 1 else None
        for keyword in call.keywords:
            if keyword.arg != "axis":
                return False
            axis = keyword.value
        if path != "jax.numpy.stack" and (axis is not None or not self.array_items()):
            return False
        if len(call.args) > 2:
            return False
        self.of_nothing = self.of_nothing or path != "jax.numpy.stack"
        text = self.name(flipped)
        if axis is not None and ast.unparse(axis) != "0":
            jnp = self.draft.spelling.jnp
            text = f"{jnp}.moveaxis({text}, 0, {self.context.source.segment(axis)})"
        self.replace(call, text)
        return True

    def sum(self, call: ast.Call) -> bool:
        """`sum(out)` adds the items one by one; of an array that is one reduction.

        A sum of integers or booleans would get another type.
        """
        if not self.array_items():
            return False
        value = self.filled.values[0]
        if Floating(self.context).holds(value) and len(call.args) == 1:
            self.replace(call, f"{self.draft.spelling.jnp}.sum({self.filled.name}, axis=0)")
            self.sums = True
        else:
            self.plain += 1
        return True

    def is_tree_stack(self, call: ast.Call) -> bool:
        """`jax.tree.map(lambda *xs: jnp.stack(xs), *out)`."""
        if self.context.resolve(call.func) not in TREE_MAPS or len(call.args) != 2:
            return False
        function = call.args[0]
        if not isinstance(function, ast.Lambda) or not function.args.vararg:
            return False
        body = function.body
        return (
            isinstance(body, ast.Call)
            and self.context.resolve(body.func) == "jax.numpy.stack"
            and len(body.args) == 1
            and not body.keywords
            and ast.unparse(body.args[0]) == function.args.vararg.arg
        )

    def replace(self, call: ast.Call, text: str) -> None:
        """Puts the array in place of a call; `out = jnp.stack(out)` goes altogether."""
        source = self.context.source
        statement = self.parents.get(call)
        if isinstance(statement, ast.Assign) and statement.value is call:
            target = statement.targets[0]
            if len(statement.targets) == 1 and isinstance(target, ast.Name) and target.id == text:
                self.edits.append(removal(source, statement))
                return
        self.edits.append(Edit(source.start(call), source.end(call), text))
