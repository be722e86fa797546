"""Branches on the index become `lax.cond`, whose predicate may be traced.

`if i == 0: … else: …` is decided by Python in a `for`. Inside a scan the index is a
tracer; `lax.cond` runs one of the branches all the same, with the same types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forscan.analyse.arrays import Evidence, evidence
from forscan.analyse.kinds import kind_of
from forscan.analyse.tracers import is_tracer
from forscan.model import Refusal
from forscan.reshape.site import LoopText, Reshaped
from forscan.reshape.suites import suite_of, whole_end
from forscan.syntax.code import Code, expression, indent, one_line
from forscan.syntax.names import activity, binds, reads
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk, walk_all

_TAME = {"sin", "cos", "tanh", "sum", "mean", "max", "min", "maximum", "minimum", "dot", "abs"}
_CURED = {"FSC402"}
_PLACES = ast.Name | ast.Attribute | ast.Subscript
_LINE = 60  # an expression longer than this gets a function of its own


class _NoBranch(Exception):
    """A branch that cannot be an operand of `lax.cond`."""


def branches_to_cond(loop: LoopText, reasons: list[Refusal]) -> Reshaped | None:
    """The loop with every branch on its index as a `lax.cond`, None where one cannot be."""
    if loop.index is None or loop.node.orelse or not {r.code for r in reasons} <= _CURED:
        return None
    try:
        body = _Body(loop).converted(loop.body)
    except _NoBranch:
        return None
    if body.text == loop.body.text:
        return None
    return loop.replaced(f"{loop.header}\n{indent(body.text, loop.context.unit)}", 0)


class _Body:
    def __init__(self, loop: LoopText) -> None:
        self.loop = loop
        self.index = loop.index or ""
        self.fresh = loop.context.fresh
        self.unit = loop.context.unit
        spelling = loop.context.module.spelling(loop.node.body[0])
        self.lax, self.jnp = spelling.lax, spelling.jnp
        self.state = loop.state

    # Which tests are meant.

    def on_index(self, test: ast.expr) -> bool:
        """Whether a test asks for the index, and for nothing else that varies."""
        names = set(reads(test))
        if self.index not in names:
            return False
        varying = {*self.state.carried, *self.state.local, *self.state.last, *self.state.targets}
        if names & (varying - {self.index}):
            raise _NoBranch
        return True

    # Statements.

    def converted(self, code: Code, after: frozenset[str] = frozenset()) -> Code:
        """The code with its branches on the index replaced.

        Args:
          code: a suite of the body.
          after: names that are read behind it, in this iteration.
        """
        edits: list[Edit] = []
        self.refuse_other_branches(code)
        for position, statement in enumerate(code.statements):
            later = frozenset(reads(code.statements[position + 1 :])) | after
            if isinstance(statement, ast.If) and self.on_index(statement.test):
                bound = self.bound_before(code, position)
                new = self.cond(code, statement, later, bound)
                if new.startswith("def ") and position:
                    new = f"\n{new}"
                edits.append(Edit(code.start(statement), whole_end(code, statement), new))
            else:
                edits += self.conditional_expressions(code, statement)
        return code.edited(edits)

    def refuse_other_branches(self, code: Code) -> None:
        """A branch on state is decided by Python, and state is a tracer in a scan."""
        varying = {*self.state.carried, *self.state.last}
        for node in walk_all(code.statements):
            if isinstance(node, ast.If | ast.IfExp | ast.While) and set(reads(node.test)) & varying:
                raise _NoBranch

    def bound_before(self, code: Code, position: int) -> set[str]:
        bound = set(self.loop.state.bound_before) | {*self.state.targets}
        return bound | set(binds(code.statements[:position]))

    def cond(self, code: Code, node: ast.If, later: frozenset[str], bound: set[str]) -> str:
        """A statement with `lax.cond` in place of an `if`."""
        if any(isinstance(n, ast.Continue | ast.Break | ast.Return) for n in walk(node)):
            raise _NoBranch
        needed = later | set(self.state.carried) | set(self.state.last) | self.state.live_after
        suites = [suite_of(code, node.body), suite_of(code, node.orelse)]
        suites = [self.converted(s, frozenset(needed)) if s.text else s for s in suites]
        written = [list(binds(s.statements)) for s in suites]
        names = [n for n in dict.fromkeys(written[0] + written[1]) if n in needed]
        for name in names:
            if name not in bound and not all(name in w for w in written):
                raise _NoBranch  # unbound in one of the branches
        if not names or _comments(code, node, suites):
            raise _NoBranch
        if not all(self.is_array(name, suites) for name in names):
            raise _NoBranch
        test = one_line(code, node.test)
        values = [self.single(s, names[0]) for s in suites] if len(names) == 1 else []
        given = [v for v in values if v is not None]
        if len(given) == 2:
            return f"{names[0]} = {self.chosen(test, names[0], *given)}"
        if any(map(self.starts_as_number, names)):
            raise _NoBranch
        return self.functions(test, suites, names, bound)

    def chosen(self, test: str, name: str, first: str, second: str) -> str:
        """One of two values of a name."""
        if _is_of_two_types([expression(first), expression(second)]):
            raise _NoBranch
        return self.choice(test, first, second, settled=not self.starts_as_number(name))

    def choice(self, test: str, first: str, second: str, *, settled: bool = True) -> str:
        """One of two values, as Python chooses.

        Args:
          settled: whether the result has one type, whichever it is.
        """
        # `lax.cond` would be weakly typed where one of its branches is a number, and keep the
        # type of a number that the scan's start has.
        sides = [expression(first), expression(second)]
        beside_number = len({self.loop.carries.is_weak(side) for side in sides}) == 2
        if settled and not beside_number:
            return f"{self.lax}.cond({test}, lambda: {first}, lambda: {second})"
        if _is_tame(first) and _is_tame(second):
            return f"{self.jnp}.where({test}, {first}, {second})"
        if settled and not self.loop.context.module.names_half_precision:
            return f"{self.lax}.cond({test}, lambda: {first}, lambda: {second})"
        raise _NoBranch

    def starts_as_number(self, name: str) -> bool:
        """Whether state is a Python number before the loop, whose type is not settled."""
        if name not in self.state.carried:
            return False
        return name in self.loop.carries.numbers

    def is_array(self, name: str, suites: list[Code]) -> bool:
        """Whether a name is state, which has to be arrays, or gets an array in a branch."""
        if name in self.state.carried:
            return True
        values = [
            node.value
            for code in suites
            for node in walk_all(code.statements)
            if isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        ]
        return any(kind_of(v, self.loop.context).is_array or self.is_row(v) for v in values)

    def is_row(self, node: ast.expr) -> bool:
        """Whether an expression is read at the index: a tracer can only index an array."""
        if not isinstance(node, ast.Subscript) or self.index not in reads(node.slice):
            return False
        return evidence(node.value, self.loop.context) in (Evidence.ARRAY, Evidence.UNKNOWN)

    def single(self, code: Code, name: str) -> str | None:
        """The value that a suite gives to its only name, where that is one short expression."""
        if not code.text:
            return name
        if len(code.statements) != 1 or "#" in code.text:
            return None
        match code.statements[0]:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                text = one_line(code, value)
            case ast.AugAssign(target=ast.Name(id=target), op=op, value=value) if target == name:
                text = f"{name} {_OPERATORS[type(op)]} {_operand(code, value)}"
            case ast.Pass():
                text = name
            case _:
                return None
        return text if len(text) <= _LINE and "\n" not in text else None

    def functions(self, test: str, suites: list[Code], names: list[str], bound: set[str]) -> str:
        """Two functions of the names that a branch reads before it writes them."""
        operands: list[str] = []
        for code in suites:
            found = activity(code.statements)
            operands += [n for n in found.exposed if n in found.binds]
            operands += [n for n in names if n not in found.binds]
            if set(found.binds) & set(self.loop.context.captured):
                raise _NoBranch  # a function that reads the name would not see the branch's own
        operands = list(dict.fromkeys(operands))
        if not set(operands) <= bound:
            raise _NoBranch
        if any(n.id in operands for code in suites for n in _flags(code)):
            raise _NoBranch  # Python asks for its truth
        given = ", ".join(operands)
        returned = ", ".join(names)
        labels = [self.fresh.name("then", "if_true"), self.fresh.name("otherwise", "if_false")]
        parts = [
            f"def {label}({given}):\n"
            + indent("\n".join(filter(None, [code.text, f"return {returned}"])), self.unit)
            for label, code in zip(labels, suites, strict=True)
        ]
        call = ", ".join([test, *labels, *operands])
        return "\n\n".join([*parts, f"{returned} = {self.lax}.cond({call})"])

    # Expressions.

    def conditional_expressions(self, code: Code, statement: ast.stmt) -> list[Edit]:
        """`a if test else b` with values that are not plain numbers."""
        edits, done = [], set[ast.AST]()
        for node in walk(statement):
            if not isinstance(node, ast.IfExp) or node in done or not self.on_index(node.test):
                continue
            if set(reads([node.body, node.orelse])) <= {self.index}:
                continue  # a number for each index, computed before the loop
            edits.append(code.replace(node, self.conditional(code, node, done)))
        if any(a.start < b.end and b.start < a.end for a in edits for b in edits if a is not b):
            raise _NoBranch  # one inside another
        return edits

    def is_value(self, node: ast.expr) -> bool:
        """Whether an expression is an array or a number for sure."""
        state = set(self.state.carried)
        return (
            kind_of(node, self.loop.context).is_array
            or is_tracer(node, self.loop.context, state)
            or self.is_row(node)
        )

    def conditional(self, code: Code, node: ast.expr, done: set[ast.AST]) -> str:
        """A conditional expression, and those on its sides, as calls of `lax.cond`."""
        if not isinstance(node, ast.IfExp) or not self.on_index(node.test):
            return one_line(code, node)
        done.add(node)
        sides = (node.body, node.orelse)
        beside_row = any(map(self.is_row, sides)) and all(isinstance(s, _PLACES) for s in sides)
        if not beside_row and not all(map(self.is_value, sides)):
            raise _NoBranch  # a dtype, a function, or whatever else is no array
        if _is_of_two_types([node.body, node.orelse]):
            raise _NoBranch
        if any(isinstance(n, ast.NamedExpr) for n in walk(node)):
            raise _NoBranch  # a lambda would keep the name to itself
        first, second = (self.conditional(code, n, done) for n in (node.body, node.orelse))
        return self.choice(one_line(code, node.test), first, second)


_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@",
    ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


def _is_of_two_types(sides: list[ast.expr]) -> bool:
    """An integer on one side: `lax.cond` wants the shape and type that the other side has."""
    integers = [isinstance(s, ast.Constant) and type(s.value) is int for s in sides]
    return any(integers) and not all(isinstance(s, ast.Constant) for s in sides)


def _is_tame(text: str) -> bool:
    """Whether a value may be computed where it is not wanted: it has no bad derivative."""
    return all(
        isinstance(
            n,
            ast.BinOp
            | ast.UnaryOp
            | ast.Name
            | ast.Constant
            | ast.Subscript
            | ast.Attribute
            | ast.Call,
        )
        and not (isinstance(n, ast.BinOp) and not isinstance(n.op, ast.Add | ast.Sub | ast.Mult))
        and not (isinstance(n, ast.Call) and ast.unparse(n.func).split(".")[-1] not in _TAME)
        for n in walk(expression(text))
        if isinstance(n, ast.expr)
    )


def _flags(code: Code) -> Iterator[ast.Name]:
    """The names whose truth decides a branch of Python."""
    for node in walk_all(code.statements):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test):
                while isinstance(test, ast.UnaryOp):
                    test = test.operand
                parts = test.values if isinstance(test, ast.BoolOp) else [test]
                yield from (part for part in parts if isinstance(part, ast.Name))


def _operand(code: Code, value: ast.expr) -> str:
    text = one_line(code, value)
    return (
        text
        if isinstance(value, ast.Name | ast.Constant | ast.Call | ast.Subscript)
        else f"({text})"
    )


def _comments(code: Code, node: ast.If, suites: list[Code]) -> bool:
    """Whether a comment stands in the header lines, where it would be lost."""
    whole = Code(code.text[code.start(node) : whole_end(code, node)]).comments()
    return len(whole) != sum(len(s.comments()) for s in suites)
