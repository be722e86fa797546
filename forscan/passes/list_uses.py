"""What becomes of a list behind the loop, where it is an array: its uses follow."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from forscan.analyse.array_words import STACKS, TREE_MAPS
from forscan.analyse.floating import Floating
from forscan.analyse.growth import that_stay
from forscan.analyse.items import is_array_expression
from forscan.analyse.lists import FilledList, block_of, cuts
from forscan.analyse.numbers import Numbers
from forscan.analyse.state import carries_of
from forscan.model import Refused
from forscan.passes.draft import Draft
from forscan.passes.list_columns import Columns
from forscan.passes.list_fields import Fields
from forscan.refusal import refuse
from forscan.syntax.code import removal
from forscan.syntax.source import Edit

_JOINS = {"jax.numpy.concatenate", "jax.numpy.vstack", "jax.numpy.hstack", "jax.numpy.column_stack"}


class ListUses:
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
        self.turned: ast.Expr | None = None  # `out.reverse()`, first of all
        self.counted = False  # `len(out)`
        self.stacked = False  # only arrays can be
        self.sums = False  # `sum(out)` of an empty list is 0
        self.columns_of_nothing = False  # `zip(*out)` of an empty list gives no columns
        self.of_nothing = False  # `jnp.array(out)` and `out.reverse()` take an empty list too
        # These are put together in the order of visiting already.
        self.reverse = draft.loop.reverse and not (filled.seeded or filled.several)
        proven = self.array_items()
        uses = filled.uses[1:] if self.turned_round() else filled.uses
        fine = [self.use(node) for node in uses]
        if self.turned is not None:
            self.edits.append(self.turning(self.turned))
        if self.reverse and self.plain:
            # What is seen as it is has to be turned round, and then by nobody else.
            self.after = (f"{filled.name} = {filled.name}[::-1]",)
            self.reverse, self.edits = False, []
            fine = [self.use(node) for node in uses]
        behind = all(n.lineno > draft.statement.lineno for n in filled.uses)
        whole = filled.fresh or (filled.seeded and not self.tree and (bool(uses) or proven))
        mixed = self.tree and bool(self.plain)  # a tree of stacks has no length and no items
        counted = self.counted and not (proven or self.stacked)
        self.as_array = whole and behind and all(fine) and not (mixed or counted)
        if not (self.as_array or proven or self.tuples):
            raise Refused(
                refuse(
                    "FSC202",
                    filled.appends[0],
                    f"the list {filled.name} is used as a list behind the loop, and "
                    "nothing shows that its items are arrays: a scan would give back one pytree of stacks",
                    "Stack the items after the loop, for instance by jnp.stack.",
                )
            )

    @property
    def odd_start(self) -> bool:
        """Whether, put into one array, the items before the loop may change their type."""
        return self.filled.seeded and self.filled.looked_at.isdisjoint(self.draft.state.carried)

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
        if self.reverse:
            self.edits.append(removal(self.context.source, statement))
            self.reverse = False
        else:
            self.of_nothing = True
            self.turned = statement
        return True

    def turning(self, statement: ast.Expr) -> Edit:
        """Every stack turned round, in place of `out.reverse()`."""
        source, name = self.context.source, self.filled.name
        whole = self.draft.spelling.sliced_leaves(name, "::-1") if self.tree else f"{name}[::-1]"
        return Edit(source.start(statement), source.end(statement), f"{name} = {whole}")

    @property
    def may_be_none(self) -> bool:
        """Whether the uses take None where nothing was appended: they run only otherwise."""
        empty = self.sums or self.of_nothing or self.columns_of_nothing
        return not self.as_array or not (self.plain or self.after or empty)

    def array_items(self) -> bool:
        value = self.filled.values[0]
        return is_array_expression(value, self.draft.statement.body, self.context)

    @property
    def tuples(self) -> bool:
        """Whether the items surely are tuples of arrays: `zip(*ys)` makes them of the stacks."""
        body = self.draft.statement.body
        return all(
            isinstance(v, ast.Tuple)
            and v.elts != []
            and all(is_array_expression(e, body, self.context) for e in v.elts)
            and not self.numbers(v.elts)
            for v in self.filled.values
        )

    def numbers(self, items: Sequence[ast.expr]) -> bool:
        """Whether some of what is appended are Python numbers, or made of nothing else."""
        carries = carries_of(self.draft.statement, self.draft.state, self.context)
        state = that_stay(carries.numbers, carries, floats=True)
        numbers = Numbers(self.context, "", others=frozenset(state))
        return any(numbers.is_number(item) or carries.stays_weak(item) for item in items)

    def use(self, node: ast.Name) -> bool:
        """Whether one use can take the array; notes its edit."""
        if self.is_cut(self.parents.get(node)):
            self.plain += 1
            return self.array_items() and self.filled.fresh
        whole, flipped = self.in_order(node)
        match parent := self.parents.get(whole):
            case ast.comprehension() if self.in_fields(parent, whole, node.id, flipped):
                return True
            case _ if self.is_iterated(whole, parent):
                return self.rows(whole, flipped)
            case ast.Call(args=[first, *_]) if first is whole:
                return self.handed(parent, node, flipped)
            case ast.Starred():
                return self.spread(self.parents.get(parent), flipped)
            case ast.Subscript() if parent.value is node:
                return self.part(parent, node.id)
        return False

    def in_order(self, node: ast.Name) -> tuple[ast.expr, bool]:
        """The whole of `out[::-1]`, `reversed(out)`, `list(out)`, and whether that is turned."""
        whole: ast.expr = node
        flipped = False
        while True:
            parent = self.parents.get(whole)
            if isinstance(parent, ast.Subscript) and ast.unparse(parent.slice) == "::-1":
                flipped = not flipped
            elif isinstance(parent, ast.Call) and self.is_builtin(parent, "reversed"):
                flipped = not flipped
            elif not (isinstance(parent, ast.Call) and self.is_builtin(parent, "list", "tuple")):
                return whole, flipped
            whole = parent

    def in_fields(
        self, parent: ast.comprehension, whole: ast.expr, name: str, flipped: bool
    ) -> bool:
        """`[o["loss"] for o in out]`: one part of every item."""
        order = "[::-1]" if flipped != self.reverse else ""
        if parent.iter is not whole or not self.fields().of_all(parent, name, order):
            return False
        self.tree = True
        return True

    def handed(self, call: ast.Call, node: ast.Name, flipped: bool) -> bool:
        """The list, in whatever order, as the first argument of a function."""
        path = self.context.resolve(call.func)
        if path in STACKS:
            self.stacked = self.stacked or path == "jax.numpy.stack"
            text, items = self.name(flipped), self.filled.values
            return self.stack(call, path, text, items, self.array_items())
        if call.args[0] is not node:
            return False
        if path in _JOINS:
            self.plain += 1
            self.stacked = True
            return True
        if path == "len":
            self.plain += 1
            self.counted = True
            return True
        return path == "sum" and self.sum(call)

    def spread(self, call: ast.AST | None, flipped: bool) -> bool:
        """`f(*out)`, where that puts the items together."""
        if isinstance(call, ast.Call) and self.is_tree_stack(call):
            self.tree = True
            self.replace(call, self.tree_name(flipped))
            return True
        if isinstance(call, ast.Call) and self.context.resolve(call.func) == "zip":
            return self.columns(call, flipped)
        return False

    def part(self, item: ast.Subscript, name: str) -> bool:
        """`out[k]`, or a part of that item."""
        if self.odd_start:
            return False
        part = None if self.reverse else self.fields().of_one(item, name)
        if part is not None:
            self.tree = True
            self.edits.append(part)
            return True
        if isinstance(item.ctx, ast.Load) and not isinstance(item.slice, ast.Slice):
            self.plain += 1
            return self.array_items()
        return False

    def is_cut(self, part: ast.AST | None) -> bool:
        """Whether the name goes on as a part of the list: of an array, such a part of it."""
        statement = self.parents.get(part) if part is not None else None
        beside = block_of(self.draft.statement, self.context)
        return cuts(statement, self.filled.name) and statement in beside

    def is_iterated(self, whole: ast.expr, parent: ast.AST | None) -> bool:
        """Whether a loop or a comprehension takes the items one by one."""
        if isinstance(parent, ast.Call) and whole in parent.args:
            if self.context.resolve(parent.func) not in ("zip", "enumerate"):
                return False
            whole, parent = parent, self.parents.get(parent)
        return isinstance(parent, ast.For | ast.comprehension) and parent.iter is whole

    def rows(self, whole: ast.expr, flipped: bool) -> bool:
        """The items of the list are the rows of the array, in the order that is asked for."""
        if self.odd_start:
            return False
        source = self.context.source
        self.edits.append(Edit(source.start(whole), source.end(whole), self.name(flipped)))
        return self.array_items()

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

    def columns(self, zipped: ast.Call, flipped: bool) -> bool:
        """`zip(*out)` of tuples becomes the tuple of the stacks."""
        value = self.filled.values[0]
        if not isinstance(value, ast.Tuple) or len(zipped.args) != 1 or zipped.keywords:
            return False
        columns = Columns(
            value,
            self.draft.statement.body,
            self.context,
            self.stack,
            self.numbers,
        )
        edit = columns.taken(zipped, self.tree_name(flipped))
        if edit is None:
            return False
        statement = self.context.parent(zipped)
        if not isinstance(statement, ast.Assign):  # unpacking raises
            self.columns_of_nothing = True
        self.tree = True
        self.edits.append(edit)
        return True

    def fields(self) -> Fields:
        body = self.draft.statement.body
        return Fields(self.filled.values, body, self.context, self.stack)

    def stack(
        self, call: ast.Call, path: str, text: str, items: Sequence[ast.expr], proven: bool = True
    ) -> bool:
        """`jnp.stack(out, axis=k)` over items becomes the array, its axis moved.

        Args:
          text: Python for the array.
          items: what it is made of.
          proven: whether the items surely are arrays.
        """
        axis: ast.expr | None = call.args[1] if len(call.args) > 1 else None
        for keyword in call.keywords:
            if keyword.arg != "axis":
                return False
            axis = keyword.value
        if path != "jax.numpy.stack" and (axis is not None or not proven):
            return False
        if len(call.args) > 2:
            return False
        if path != "jax.numpy.stack":
            self.of_nothing = True
            if self.numbers(items):  # an array of them is strongly typed, as no output of a scan
                text = f"{self.draft.spelling.jnp}.asarray({text}, {text}.dtype)"
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
