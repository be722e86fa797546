"""What scan and fori_loop have in common when they are read.

The body becomes statements of the loop, its parameters and return value become the
carry and the outputs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from forscan.analyse.items import is_array_expression
from forscan.find.context import FunctionContext
from forscan.find.sites import Site
from forscan.model import Carry, Element, Loop, Output, Reading
from forscan.readers.body import Body, inlinable, locals_of, mutates
from forscan.readers.calls import Results, is_number
from forscan.syntax.code import Code, expression, one_line, removal
from forscan.syntax.names import Fresh, all_names, binds, reads, walk_all
from forscan.syntax.source import Edit, Text


@dataclass
class Parts:
    """A loop in the making."""

    carries: list[Carry] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    code: Code = field(default_factory=lambda: Code(""))


class LaxLoop:
    """Reads the body of one call.

    Args:
      site: the call.
      function: the expression of the body function.
      init: the expression of the start.
      results: where the result goes.
      has_outputs: whether the body returns a pair (scan) or the carry (fori_loop).
    """

    def __init__(
        self,
        site: Site,
        function: ast.expr,
        init: ast.expr,
        results: Results,
        has_outputs: bool,
    ) -> None:
        self.site = site
        self.context = site.context
        self.source = site.context.source
        self.fresh: Fresh = site.context.module.fresh
        self.function = function
        self.init = init
        self.results = results
        self.has_outputs = has_outputs
        self.traced = site.context.module.traced.reason(site.node) is not None
        spelling = site.context.module.spelling(site.node)
        self.jnp, self.jax = spelling.jnp, spelling.jax
        self.parts = Parts(after=list(results.after))
        self.body: Body | None = inlinable(site, function, 2)

    def text(self, node: ast.expr) -> str:
        return one_line(self.source, node)

    def definition(self) -> ast.FunctionDef | ast.Lambda | None:
        """The body function's source, if it is visible at all."""
        found = next(iter(self.context.module.traced.candidates(self.function)), None)
        return found if isinstance(found, ast.FunctionDef | ast.Lambda) else None

    # Names that the loop must not disturb.

    def outer_names(self) -> set[str]:
        """Names of the function that are used outside of the body function."""
        inside: set[ast.AST] = set()
        if self.body is not None and self.body.definition is not None:
            inside = set(ast.walk(self.body.definition))
        inside |= set(ast.walk(self.function))
        names: set[str] = set()
        for node in walk_all(self.context.node.body):
            if node not in inside and isinstance(node, ast.Name):
                names.add(node.id)
        return names | set(self.context.parameters)

    def live_after(self) -> frozenset[str]:
        graph = self.context.graph
        index = graph.statements[self.site.statement]
        found: frozenset[str] = frozenset(self.context.captured)
        for successor in graph.nodes[index].successors:
            found |= self.context.live[successor]
        rest = {
            n for text in self.results.after for n in all_names(ast.parse(_inside_function(text)))
        }
        return found | rest

    # Inlining.

    def settle_names(self, sources: set[str]) -> None:
        """Renames the body's variables so that they disturb nothing around the loop.

        Args:
          sources: names that the iterated expressions read.
        """
        assert self.body is not None
        outer, live = self.outer_names(), self.live_after()
        written = {*self.names_of(self.results.carry), *self.names_of(self.results.ys)}
        init_names = {ast.unparse(self.init)} | {
            ast.unparse(e) for e in getattr(self.init, "elts", [])
        }
        names: dict[str, str] = {}
        wish = self.carry_wish()
        for name in locals_of(self.body):
            new = wish.get(name, name)
            disturbs = new in outer and new not in written
            if disturbs and new in init_names and new not in live and new not in sources:
                disturbs = False  # the start under its own name: x = x
            taken = new in names.values() or (new != name and new in self.body_names())
            if disturbs or taken or (new in written and new in sources):
                new = self.fresh.name(f"{name}_i" if name.isidentifier() else "value")
            names[name] = new
        self.body = self.body.renamed(names)

    def names_of(self, pattern: str | None) -> list[str]:
        if pattern is None:
            return []
        return [n.id for n in ast.walk(expression(pattern)) if isinstance(n, ast.Name)]

    def body_names(self) -> set[str]:
        assert self.body is not None
        tree = ast.parse(self.body.code.text + f"\n({self.body.returned})")
        return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}

    def carry_wish(self) -> dict[str, str]:
        """The carry's parameter under the name of its result, where that is one name."""
        assert self.body is not None
        carry = self.carry_parameter
        result = self.results.carry
        if result is not None and result.isidentifier() and result != "_":
            free = result not in self.body_names() or result == carry
            if free and result not in reads(self.init):
                return {carry: result}
            if free and ast.unparse(self.init) == result:
                return {carry: result}
        return {}

    @property
    def carry_parameter(self) -> str:
        assert self.body is not None
        return self.body.parameters[0 if self.has_outputs else 1]

    def inline(self, value: ast.expr | None) -> None:
        """Takes the (renamed) body apart into carry, outputs and statements."""
        assert self.body is not None
        returned = expression(self.body.returned)
        carry = self.carry_parameter
        if not self.has_outputs:
            self.parts.code = self.body.code
            self.add_carry(carry, returned)
            return
        pair = isinstance(returned, ast.Tuple) and len(returned.elts) == 2
        if pair:
            assert isinstance(returned, ast.Tuple)
            self.parts.code = self.body.code
            self.add_outputs(returned.elts[1])
            self.add_carry(carry, returned.elts[0])
            return
        y = self.fresh.name("y") if self.results.ys else "_"
        line = f"{carry}, {y} = {self.body.returned}"
        self.parts.code = _joined(self.body.code, line)
        if self.results.ys:
            self.parts.outputs.append(Output(y, self.results.ys, is_array=False))
        self.add_carry(carry, ast.Name(carry, ast.Load()))

    def add_carry(self, name: str, update: ast.expr) -> None:
        """One carry for the parameter, or one for each item that the body takes it apart to."""
        if isinstance(self.init, ast.Constant) and self.init.value is None:
            self.no_carry(name, update)
            return
        items = self.unpacked(name, update)
        if items is None:
            text = self.returned_text(update)
            whole = self.start(self.init)
            self.parts.carries.append(Carry(name, whole, text, self.results.carry))
            return
        assert isinstance(update, ast.Tuple)
        starts = self.item_starts(items)
        result = self.results.carry
        targets = self.result_items(len(items))
        for item, start, new, target in zip(items, starts, update.elts, targets, strict=True):
            self.parts.carries.append(Carry(item, start, self.returned_text(new), target))
        if result is not None and targets == [None] * len(items):
            self.parts.carries = [
                Carry(c.target, c.init, c.update, c.target) for c in self.parts.carries
            ]
            self.parts.after.insert(0, f"{result} = ({', '.join(items)})")

    def no_carry(self, name: str, update: ast.expr) -> None:
        used = name in reads(self.parts.code.statements) or any(
            name in reads(expression(o.value)) for o in self.parts.outputs
        )
        if used:
            self.parts.code = Code(f"{name} = None\n{self.parts.code.text}")
        if self.results.carry:
            self.parts.after.insert(0, f"{self.results.carry} = None")

    def returned_text(self, node: ast.expr) -> str:
        """The source of a part of the returned expression."""
        if node.lineno if hasattr(node, "lineno") else 0:
            assert self.body is not None
            wrapped = Text(f"({self.body.returned}\n)")
            text = wrapped.segment(node)
            return text if "\n" not in text else f"({text})"
        return ast.unparse(node)

    def result_items(self, count: int) -> list[str | None]:
        """The patterns of the items of the result, all None where they are not apart."""
        if self.results.carry is None:
            return [None] * count
        pattern = expression(self.results.carry)
        if isinstance(pattern, ast.Tuple | ast.List) and len(pattern.elts) == count:
            return [_forgotten(ast.unparse(e), self.fresh) for e in pattern.elts]
        return [None] * count

    def unpacked(self, name: str, update: ast.expr) -> list[str] | None:
        """The names of `a, b = carry` at the head of the body; drops that statement."""
        if not isinstance(update, ast.Tuple):
            return None
        found = self.head_unpacking(name, len(update.elts))
        if found is None:
            return None
        statement, items = found
        others = [n for n in reads_in(self.parts.code, name) if n is not statement]
        values = [o.value for o in self.parts.outputs]
        used = any(name in reads(expression(v)) for v in values) or name in reads(update)
        if len(others) > 1 or used:
            return None
        self.parts.code = self.parts.code.edited([removal(self.parts.code, statement)])
        return items

    def head_unpacking(self, name: str, count: int) -> tuple[ast.stmt, list[str]] | None:
        """`a, b = name` among the first statements, before anything binds a or b."""
        for statement in self.parts.code.statements:
            match statement:
                case ast.Assign(targets=[ast.Tuple(elts=items)], value=ast.Name(id=value)) if (
                    value == name and len(items) == count
                ):
                    if all(isinstance(i, ast.Name) for i in items):
                        names = [i.id for i in items if isinstance(i, ast.Name)]
                        if len(set(names)) == count:
                            return statement, names
                case ast.Assign(targets=[ast.Tuple()], value=ast.Name()):
                    continue
                case ast.Expr(value=ast.Constant()):
                    continue
            return None
        return None

    def item_starts(self, items: list[str]) -> list[str]:
        """Start values of the items: of a tuple display its parts, else unpacked before."""
        if isinstance(self.init, ast.Tuple) and len(self.init.elts) == len(items):
            if not any(isinstance(e, ast.Starred) for e in self.init.elts):
                return [self.start(e) for e in self.init.elts]
        names = [
            self.fresh.name(f"{i}_0", f"{i}_start") if i in reads(self.init) else i for i in items
        ]
        self.parts.before.append(f"{', '.join(names)} = {self.start(self.init)}")
        return names

    def add_outputs(self, value: ast.expr) -> None:
        if isinstance(value, ast.Constant) and value.value is None:
            if self.results.ys and self.results.ys != "_":
                self.parts.after.insert(0, f"{self.results.ys} = None")
            return
        if self.results.ys is None:
            return
        pattern = expression(self.results.ys)
        split = isinstance(pattern, ast.Tuple) and isinstance(value, ast.Tuple)
        if split and len(pattern.elts) == len(value.elts):  # type: ignore[attr-defined]
            for item, part in zip(pattern.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                target = _forgotten(ast.unparse(item), self.fresh)
                self.parts.outputs.append(self.output(part, target))
            return
        self.parts.outputs.append(self.output(value, self.results.ys))

    def output(self, value: ast.expr, target: str | None) -> Output:
        return Output(self.returned_text(value), target, self.is_array(value))

    def is_array(self, value: ast.expr) -> bool:
        assert self.body is not None
        statements = self.body.code.statements
        place = self.body.context
        if isinstance(value, ast.Name):
            return _array_name(value.id, statements, place)
        if isinstance(value, ast.BinOp | ast.Compare | ast.UnaryOp):
            return is_array_expression(value, statements, place)
        if isinstance(value, ast.Call):
            path = self.context.resolve(value.func) or ""
            return path.startswith(("jax.numpy.", "jax.nn.")) and not path.endswith("divmod")
        return False

    # Calling.

    def call(self, argument: str) -> None:
        """The body stays a function and is called in each iteration.

        Args:
          argument: what stands for the index or the slice.
        """
        carry = self.called_carry()
        function = self.callee()
        self.parts.code = Code(self.call_line(function, carry, argument))
        if isinstance(self.init, ast.Constant) and self.init.value is None:
            init = "None"
        else:
            init = self.start(self.init)
        if mutates(self.definition()) and not isinstance(self.init, ast.Constant):
            init = f"{self.jax}.tree.map(lambda leaf: leaf, {self.text(self.init)})"
        self.parts.carries.append(Carry(carry, init, carry, self.results.carry))

    def call_line(self, function: str, carry: str, argument: str) -> str:
        if not self.has_outputs:
            return f"{carry} = {function}({argument}, {carry})"
        y = "_"
        if self.results.ys is not None:
            y = self.fresh.name("y")
            self.parts.outputs.append(Output(y, self.results.ys, self.called_is_array()))
        elif "_" in self.fresh.read:
            y = self.fresh.name("unused")
        return f"{carry}, {y} = {function}({carry}, {argument})"

    def called_is_array(self) -> bool:
        """Whether the visible body surely yields one array."""
        definition = self.definition()
        if not isinstance(definition, ast.FunctionDef):
            value = definition.body if definition is not None else None
            place: FunctionContext = self.context
            statements: list[ast.stmt] = []
        else:
            last = definition.body[-1]
            value = last.value if isinstance(last, ast.Return) else None
            place = FunctionContext(self.context.module, definition)
            statements = definition.body
        if not isinstance(value, ast.Tuple) or len(value.elts) != 2:
            return False
        part = value.elts[1]
        if isinstance(part, ast.Name):
            return _array_name(part.id, statements, place)
        return isinstance(part, ast.BinOp) and is_array_expression(part, statements, place)

    def called_carry(self) -> str:
        result = self.results.carry
        outer = self.outer_names()
        if result is not None and result.isidentifier() and result != "_":
            own = ast.unparse(self.init) == result
            if own or result not in reads(self.function):
                return result
        definition = self.definition()
        wish = "carry"
        if definition is not None:
            names = [a.arg for a in definition.args.args if a.arg not in ("self", "cls", "_")]
            index = 0 if self.has_outputs else 1
            wish = names[index] if index < len(names) else wish
        return wish if wish not in outer else self.fresh.name("carry", "state")

    def callee(self) -> str:
        """The function to call: by its name, or bound to one before the loop."""
        text = self.text(self.function)
        if isinstance(self.function, ast.Name | ast.Attribute):
            return text
        name = self.fresh.name("step", "body")
        self.parts.before.append(f"{name} = {text}")
        return name

    # Start values.

    def start(self, node: ast.expr) -> str:
        """A start value; numbers become arrays where a Python number would differ."""
        edits = []
        for number in _numbers(node):
            if self.number_may_stay(number):
                continue
            edits.append(
                Edit(
                    self.source.start(number),
                    self.source.end(number),
                    f"{self.jnp}.asarray({self.source.segment(number)})",
                )
            )
        if edits:
            start = self.source.start(node)
            from forscan.syntax.source import apply_edits

            moved = [Edit(e.start - start, e.end - start, e.new) for e in edits]
            return apply_edits(self.source.segment(node), moved)
        text = self.text(node)
        if not self.traced and isinstance(node, ast.Name):
            return f"{self.jax}.tree.map({self.jnp}.asarray, {text})"
        return text

    def number_may_stay(self, node: ast.expr) -> bool:
        """Under a trace a Python number is a weakly typed constant, which is the same."""
        if not self.traced or self.body is None:
            return False
        value = ast.literal_eval(node)
        if isinstance(value, bool):
            return False
        whole = ast.parse(f"{self.body.code.text}\n({self.body.returned})")
        risky = any(
            isinstance(n, ast.Pow | ast.LShift | ast.FloorDiv | ast.Div) for n in ast.walk(whole)
        )
        attributes = any(
            isinstance(n, ast.Attribute)
            and n.attr in ("shape", "dtype", "astype", "at", "ndim", "size")
            for n in ast.walk(whole)
        )
        return not risky and not attributes

    # The reading.

    def finish(self, loop: Loop) -> Reading:
        statement = self.site.statement
        source = self.source
        start = source.line_start(source.start(statement))
        end = source.line_end(source.end(statement))
        tail = source.text[source.end(statement) : end].strip()
        edits: list[Edit] = []
        before = list(loop.before)
        inside = Text(source.text[source.start(statement) : source.end(statement)]).comments()
        leading = [*inside, *([tail] if tail else [])]
        if self.body is not None and self.body.definition is not None:
            edits.append(removal(source, self.body.definition))
            leading += _comments_on(source, self.body.definition)
        from dataclasses import replace

        loop = replace(loop, before=(*leading, *before))
        indentation = source.indentation(source.start(statement))
        return Reading(loop, start, end, indentation, tuple(edits))


def _comments_on(source: Text, node: ast.stmt) -> list[str]:
    """Comments that a removed lambda assignment carries."""
    end = source.end(node)
    tail = source.text[end : source.line_end(end)].strip()
    return [tail] if tail.startswith("#") and isinstance(node, ast.Assign) and False else []


def reads_in(code: Code, name: str) -> list[ast.stmt]:
    return [s for s in code.statements if name in reads(s)]


def _joined(code: Code, line: str) -> Code:
    return Code("\n".join(filter(None, [code.text, line])))


def _forgotten(pattern: str, fresh: Fresh) -> str | None:
    return None if pattern == "_" and "_" not in fresh.read else pattern


def _numbers(node: ast.expr) -> list[ast.expr]:
    """Literal numbers that are leaves of a start value."""
    if isinstance(node, ast.Tuple | ast.List):
        return [n for e in node.elts for n in _numbers(e)]
    if isinstance(node, ast.Dict):
        return [n for v in node.values for n in _numbers(v)]
    try:
        return [node] if is_number(ast.unparse(node)) else []
    except SyntaxError:
        return []


def _array_name(name: str, statements: list[ast.stmt], context: FunctionContext) -> bool:
    """Whether a variable of the body surely is one array."""
    node = ast.Name(name, ast.Load())
    if name in binds(statements):
        return is_array_expression(node, statements, context)
    for part in walk_all(context.node.body):
        if isinstance(part, ast.BinOp):
            for side in (part.left, part.right):
                if isinstance(side, ast.Name) and side.id == name:
                    return not isinstance(part.op, ast.Add | ast.Mult) or True
    return False


def _inside_function(text: str) -> str:
    return "def f():\n    " + text.replace("\n", "\n    ")
