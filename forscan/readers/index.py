"""The index of a loop that counts: a tracer in `lax`, a Python int in a `for`."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.handed import argument
from forscan.analyse.trip_count import definition, literal_int
from forscan.analyse.truths import truths_as_numbers
from forscan.analyse.use import Kind, Use
from forscan.analyse.uses import Uses
from forscan.find.context import FunctionContext
from forscan.model import Carry, Counter, Refusal, Refused
from forscan.readers.lax_loop import LaxLoop
from forscan.readers.parts import names_in_lines
from forscan.syntax.code import Code, expression
from forscan.syntax.names import binds, names_in, parameters, reads
from forscan.syntax.parsing import parse
from forscan.syntax.source import Edit, Text, apply_edits
from forscan.syntax.walk import walk


def check_index(lax: LaxLoop, name: str) -> None:
    """A Python int in place of a tracer; an array where the body asks for what only arrays have.

    Args:
      lax: the loop.
      name: its weakly typed index.

    Raises:
      Refused: integer arithmetic wraps around in int32 and does not in Python.
    """
    if lax.body.function is None:
        return
    place, uses = lax.body.place, _uses(lax, name)
    for use in uses:
        if _is_hazard(use, place):
            raise Refused(
                Refusal(
                    "FSC403",
                    f"the index {name} is used as {use.what}: an int32 wraps around, "
                    "a Python int does not",
                    "Compute it with jnp.float32, or keep the loop.",
                    use.node.lineno,
                    use.node.col_offset + 1,
                )
            )
    truths = any(truths_as_numbers(lax.body.nodes, {lax.own(name)}))  # ~(i > 2)
    if truths or any(_is_made_of(u.node, place) for u in uses):  # (i + 1).astype(float)
        lax.put_first(f"{name} = {_array(lax, name)}")
    elif any(isinstance(place.parent(u.node), ast.Attribute) for u in uses):  # i.astype(float)
        _make_array(lax, name)


def _is_made_of(node: ast.expr, place: FunctionContext) -> bool:
    """Whether something that is computed from an index alone is asked for what arrays have."""
    whole: ast.AST = node
    above = place.parent(node)
    while isinstance(above, ast.BinOp | ast.UnaryOp | ast.Compare):
        whole, above = above, place.parent(above)
    if isinstance(above, ast.Attribute):
        return whole is not node
    if isinstance(above, ast.Subscript) and above.value is whole:
        return True
    match above:
        case ast.Call() if whole is node:
            return _is_owner(node, above, place)
        case ast.Assign(targets=[ast.Name(id=name)]):
            owned = (n.value for n in walk(*place.nodes) if isinstance(n, ast.Attribute))
            return any(isinstance(owner, ast.Name) and owner.id == name for owner in owned)
    return False


def _is_owner(node: ast.expr, call: ast.Call, place: FunctionContext) -> bool:
    """Whether a function of the module asks what it is given for what arrays have."""
    callee = place.module.traced.only(call.func)
    if callee is None:
        return False
    named = {p for p in parameters(callee) if argument(p, callee, call) is node}
    return any(isinstance(n, ast.Attribute) and named & names_in(n.value) for n in walk(callee))


def _array(lax: LaxLoop, name: str) -> str:
    return f"{lax.site.context.module.spelling(lax.site.node).jnp}.asarray({name})"


def _make_array(lax: LaxLoop, name: str) -> None:
    """`jnp.asarray(i).astype(float)`; for a body that is called, i itself becomes an array."""
    array = _array(lax, name)
    if lax.body.called:
        lax.put_first(f"{name} = {array}")
        return
    lax.code = Code(_with_owner(lax.code, name, array))
    inside = [replace(c, update=_in_expression(c.update, name, array)) for c in lax.carries]
    values = [replace(o, value=_in_expression(o.value, name, array)) for o in lax.outputs]
    lax.carries, lax.outputs = inside, values


def _in_expression(text: str, name: str, owner: str) -> str:
    return _with_owner(Text(f"({text}\n)"), name, owner)[1:-2]


def _with_owner(code: Text, name: str, owner: str) -> str:
    """The text with another owner of the attributes that a name is asked for."""
    edits = [
        Edit(code.start(n.value), code.end(n.value), owner)
        for n in walk(parse(code.text))
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
    ]
    return apply_edits(code.text, edits)


def _uses(lax: LaxLoop, name: str) -> list[Use]:
    return Uses(lax.body.place, lax.body.nodes).of(lax.own(name), integer=True)


def _is_hazard(use: Use, context: FunctionContext) -> bool:
    return use.kind is Kind.HAZARD and "argument of" not in use.what and not _is_float(use, context)


def _is_float(use: Use, context: FunctionContext) -> bool:
    """`0.5 ** i`: a power of a float is one, for either kind of integer."""
    below: ast.AST = use.node
    above = context.parent(below)
    while isinstance(above, ast.BinOp | ast.UnaryOp):
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Pow):
            base = above.left
            if isinstance(base, ast.Name):
                base = definition(base.id, context) or base
            return above.right is below and _is_float_literal(base)
        below, above = above, context.parent(above)
    return False


def _is_float_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def counted(lax: LaxLoop, numbers: tuple[str, str, str] | None) -> Counter | None:
    """An index that a scan carries, since in its xs it would be strongly typed.

    Args:
      lax: the loop.
      numbers: start, end and step, where the trip count is written as those of a range.

    Returns:
      The index from its literal start on, taken out of the carry, without an end where
      none was given.
    """
    wanted, stop, step = numbers or ("", "", "1")
    for carry in lax.carries:
        first = literal_int(expression(_unwrapped(carry.init)))
        if first is None or wanted not in ("", str(first)):
            continue
        if lax.body.called or is_wanted(lax, carry):
            continue
        if any(_is_hazard(u, lax.body.place) for u in _uses(lax, carry.target)):
            continue
        if take_counter(lax, carry, step):
            check_index(lax, carry.target)
            return Counter(carry.target, stop, str(first), step)
    return None


def _unwrapped(text: str) -> str:
    """`1` of `jnp.asarray(1)`, as a start is written where it must be an array."""
    match expression(text):
        case ast.Call(func=ast.Attribute(attr="asarray"), args=[ast.Constant() as number]):
            return ast.unparse(number)
    return text


def is_wanted(lax: LaxLoop, carry: Carry) -> bool:
    """Whether anybody reads the last value of a carry."""
    if carry.result is None:
        return False
    return lax.call.results.rest is None or carry.target in names_in_lines(lax.after)


def take_counter(lax: LaxLoop, carry: Carry, step: str = "1") -> bool:
    """Takes a carry out that every iteration raises by the step at its end, if it is one."""
    name = carry.target
    writers = [s for s in lax.code.statements if name in binds(s)]
    if not writers and not _is_next(carry.update, name, step):
        return False
    if writers:
        [statement, *others] = writers
        behind = lax.code.statements[lax.code.statements.index(statement) + 1 :]
        values = [c.update for c in lax.carries if c is not carry] + [o.value for o in lax.outputs]
        read = any(name in reads(n) for n in (*behind, *map(expression, values)))
        if others or read or carry.update != name or not _raises(statement, name, step):
            return False
        lax.code = Code(lax.code.edited([lax.code.remove(statement)]).text.strip("\n"))
    lax.carries = [c for c in lax.carries if c is not carry]
    return True


def _raises(statement: ast.stmt, name: str, step: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            return _is_next(ast.unparse(value), name, step)
        case ast.AugAssign(op=ast.Add(), value=value):
            return ast.unparse(value) == step
    return False


def _is_next(text: str, name: str, step: str) -> bool:
    return ast.unparse(expression(text)) in (f"{name} + {step}", f"{step} + {name}")
