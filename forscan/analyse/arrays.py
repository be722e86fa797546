"""Is an expression an array? Evidence from the source, never a guess.

`lax.scan` reads a list of arrays as a pytree of xs and would slice the wrong axis,
so a container counts as an array only where the code around shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import Enum

from forscan.analyse.array_words import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    ARRAY_PREFIXES,
    ARRAY_TYPES,
    CONTAINERS,
    OF_ANYTHING,
    OF_SEQUENCES,
    PERHAPS_SEVERAL,
    SEVERAL,
    TREE_MAPS,
    TUPLES,
)
from forscan.analyse.handed import argument
from forscan.analyse.losses import is_loss
from forscan.analyse.scan_results import output_of
from forscan.facts import Value
from forscan.find.context import FunctionContext
from forscan.model import Spelling
from forscan.syntax.names import annotations_of, is_place, walk_scope
from forscan.syntax.walk import walk


class Evidence(Enum):
    ARRAY = "array"
    NUMPY = "numpy array"
    TABLE = "Python sequence of numbers"
    ITEMS = "list or tuple of equal arrays or pytrees"
    OTHER = "not an array"
    UNKNOWN = "unknown"


def is_array(expression: ast.expr, context: FunctionContext) -> bool:
    return evidence(expression, context) in (Evidence.ARRAY, Evidence.NUMPY)


def evidence(  # noqa: C901
    expression: ast.expr, context: FunctionContext, depth: int = 5
) -> Evidence:
    """What the source shows about the value of an expression."""
    if depth == 0:
        return Evidence.UNKNOWN
    seen = context.seen(expression)
    if seen is not None:
        return _of_value(seen)
    match expression:
        case ast.Call():
            return _of_call(expression, context, depth)
        case ast.BinOp(left=left, right=right):
            sides = {
                evidence(left, context, depth - 1),
                evidence(right, context, depth - 1),
            }
            if sides & {Evidence.ARRAY, Evidence.NUMPY}:
                return Evidence.ARRAY
            return Evidence.OTHER if Evidence.OTHER in sides else Evidence.UNKNOWN
        case ast.UnaryOp(operand=operand):
            return evidence(operand, context, depth - 1)
        case ast.Subscript(value=base, slice=index):
            return _of_subscript(base, index, context, depth)
        case ast.Attribute(value=base, attr=attribute):
            if attribute in ("T", "mT", "real", "imag"):
                return evidence(base, context, depth - 1)
            if attribute == "shape":
                return Evidence.TABLE
            kept = _of_attribute(expression, context, depth)
            return _of_uses(expression, context) if kept is Evidence.UNKNOWN else kept
        case ast.Name(id=name):
            key = (evidence, name, depth)
            if key not in context.known:  # the names of a function lead to each other
                context.known[key] = _of_name(expression, context, depth)
            found: Evidence = context.known[key]
            return found
        case ast.List() | ast.Tuple():
            return Evidence.TABLE if _numbers(expression) else Evidence.OTHER
        case ast.Dict() | ast.Set() | ast.JoinedStr():
            return Evidence.OTHER
        case ast.ListComp() | ast.DictComp() | ast.SetComp() | ast.GeneratorExp():
            return Evidence.OTHER
        case ast.Constant(value=str()):
            return Evidence.OTHER
    return Evidence.UNKNOWN


def _of_value(value: Value) -> Evidence:
    """What the type of a value says that was seen in a call."""
    if value.item is not None:
        return Evidence.TABLE if value.item.kind == "number" else Evidence.ITEMS
    return {
        "array": Evidence.ARRAY,
        "numpy": Evidence.NUMPY,
        "number": Evidence.UNKNOWN,
    }.get(value.kind, Evidence.OTHER)


def stacked(shown: str, item: Value | None, spelling: Spelling) -> str:
    """Python for the stack of equal items, leaf by leaf where they are pytrees."""
    if item is None or item.is_leaf:
        return f"{spelling.jnp}.stack({shown})"
    return spelling.stacked_leaves(shown)


def _numbers(node: ast.expr) -> bool:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return bool(value) and all(isinstance(v, int | float | complex) for v in value)


def _of_call(node: ast.Call, context: FunctionContext, depth: int) -> Evidence:  # noqa: C901
    path = context.resolve(node.func)
    if _gives_several(path or "", node):
        return Evidence.OTHER
    if path and path.startswith("jax.tree"):
        return Evidence.UNKNOWN if path in TREE_MAPS else Evidence.OTHER
    if path and path.startswith(ARRAY_PREFIXES):
        return Evidence.ARRAY
    if path and path.startswith("itertools."):
        return Evidence.OTHER
    if path and path.startswith("numpy."):
        return Evidence.NUMPY
    if path in ("list", "tuple", "dict", "sorted", "zip", "map", "filter", "enumerate", "iter"):
        return Evidence.OTHER
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in ("items", "keys", "values", "split"):
            return Evidence.OTHER
        if node.func.attr in ARRAY_METHODS:
            of_base = evidence(node.func.value, context, depth - 1)
            return of_base if of_base is Evidence.NUMPY else Evidence.ARRAY
        if is_place(node.func.value):  # out.at[i].set(…)
            return Evidence.ARRAY
        return Evidence.UNKNOWN
    callee = context.module.traced.only(node.func)
    if isinstance(callee, ast.FunctionDef):
        return _of_result(callee, context, depth)
    return Evidence.UNKNOWN


def _of_result(callee: ast.FunctionDef, context: FunctionContext, depth: int) -> Evidence:
    """What a function of the module gives back, by all of its returns and its annotation."""
    said = _of_annotation(callee.returns) if callee.returns is not None else None
    if callee.decorator_list or said is Evidence.OTHER:
        return said or Evidence.UNKNOWN
    inside = FunctionContext(context.module, callee)
    own = list(walk_scope(callee.body))
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own):
        return Evidence.OTHER
    returned = [n.value or ast.Constant(None) for n in own if isinstance(n, ast.Return)]
    found = {evidence(value, inside, depth - 1) for value in returned}
    if found and found <= {Evidence.ARRAY, Evidence.NUMPY}:
        return Evidence.NUMPY if Evidence.NUMPY in found else Evidence.ARRAY
    return said or Evidence.UNKNOWN


def gives_an_array(node: ast.Call, context: FunctionContext) -> bool:
    """Whether a call is one of a function of JAX that gives one array."""
    path = context.resolve(node.func) or ""
    return path.startswith(ARRAY_PREFIXES) and not _gives_several(path, node)


def has_a_shape(expression: ast.expr, context: FunctionContext) -> bool:
    """Whether the function asks an expression for what only an array has: a shape, a method."""
    parents = context.module.functions.parents
    of = (parents.get(node) for node in context.alike(expression))
    return any(
        isinstance(p, ast.Attribute) and p.attr in ARRAY_ATTRIBUTES - {"real", "imag"} for p in of
    )


def _gives_several(path: str, node: ast.Call) -> bool:
    """Whether a function of jax or NumPy gives back more than one array."""
    if not path.startswith((*ARRAY_PREFIXES, "numpy.")) or path.startswith("jax.random."):
        return False
    if path.startswith("jax.nn.initializers."):
        return True
    tail = path.rsplit(".", 1)[-1]
    if tail == "where":
        return len(node.args) + len(node.keywords) == 1
    if tail in PERHAPS_SEVERAL:
        told = any((k.arg or "").startswith(("return", "full")) for k in node.keywords)
        tuple_given = bool(node.args) and isinstance(node.args[0], ast.Tuple)
        return told or tuple_given or len(node.args) > PERHAPS_SEVERAL[tail]
    return tail in SEVERAL


def _of_subscript(
    base: ast.expr, index: ast.expr, context: FunctionContext, depth: int
) -> Evidence:
    of_tuple = _is_item_of_tuple(base, index, context) or is_loss(base, index, context)
    if isinstance(index, ast.Tuple) or of_tuple:
        return Evidence.ARRAY
    if _is_leaves(base, index, context) or _is_of_lists(base, context):
        return Evidence.OTHER
    of_base = evidence(base, context, depth - 1)
    if of_base in (Evidence.ARRAY, Evidence.NUMPY):
        return of_base
    if isinstance(index, ast.Slice):
        return of_base
    return _of_uses(ast.Subscript(base, index, ast.Load()), context)


def _is_item_of_tuple(base: ast.expr, index: ast.expr, context: FunctionContext) -> bool:
    """`jnp.linalg.eigh(x)[0]`: one of the arrays in a tuple."""
    if not isinstance(base, ast.Call) or not isinstance(index, ast.Constant):
        return False
    path = context.resolve(base.func) or ""
    return _gives_several(path, base) and path.rsplit(".", 1)[-1] in TUPLES


def _is_of_lists(base: ast.expr, context: FunctionContext) -> bool:
    """A name of the module for a list of lists: its items have no axes to slice."""
    if not isinstance(base, ast.Name) or base.id in context.locals:
        return False
    value = context.module.constants.get(base.id)
    lists = ast.List | ast.Tuple
    return isinstance(value, lists) and any(isinstance(e, lists) for e in value.elts)


def _is_leaves(base: ast.expr, index: ast.expr, context: FunctionContext) -> bool:
    """`jax.tree.flatten(tree)[0]`: a list of arrays, each of its own shape."""
    if not isinstance(base, ast.Call) or not isinstance(index, ast.Constant):
        return False
    path = context.resolve(base.func) or ""
    return path.startswith("jax.tree") and "flatten" in path and index.value == 0


def _of_name(node: ast.Name, context: FunctionContext, depth: int) -> Evidence:
    around = context.around(node.id)
    if around is not None:
        return evidence(node, around, depth)
    if _is_starred(node.id, context) or _is_static(node.id, context):
        return Evidence.OTHER
    if node.id in context.variadic:
        return Evidence.OTHER
    annotated = _annotation(node.id, context)
    if annotated is not None:
        return annotated
    if node.id in context.parameters:
        handed = _of_handed(node.id, context, depth)
        if handed is not Evidence.UNKNOWN:
            return handed
    found = [evidence(v, context, depth - 1) for v in assigned_values(node.id, context)]
    if not found and node.id not in context.locals:
        constant = context.module.constants.get(node.id)
        return evidence(constant, context, depth - 1) if constant else Evidence.UNKNOWN
    known = [e for e in found if e is not Evidence.UNKNOWN]
    if known and (node.id not in context.parameters or set(found) == {Evidence.OTHER}):
        return known[0] if len(set(known)) == 1 else Evidence.UNKNOWN
    output = output_of(node.id, context)
    if output is not None and evidence(*output, depth - 1) is Evidence.ARRAY:
        return Evidence.ARRAY
    return _of_uses(node, context)


def _of_attribute(node: ast.Attribute, context: FunctionContext, depth: int) -> Evidence:
    """What the methods of a class keep under a name of `self`."""
    return _of_any(evidence(value, method, depth - 1) for value, method in context.kept(node))


def _of_any(values: Iterable[Evidence]) -> Evidence:
    """What may be any of several values, the least of an array first."""
    found = set(values)
    if found & {Evidence.OTHER, Evidence.TABLE}:
        return Evidence.OTHER
    if Evidence.NUMPY in found:
        return Evidence.NUMPY
    return Evidence.ARRAY if found == {Evidence.ARRAY} else Evidence.UNKNOWN


def _of_handed(name: str, context: FunctionContext, depth: int) -> Evidence:
    """What calls in the module hand a function for a parameter that is no array of JAX."""
    if not isinstance(context.node, ast.FunctionDef) or depth == 0:
        return Evidence.UNKNOWN
    functions = context.module.functions
    found = set()
    for call in functions.calls_of.get(context.node.name, ()):
        given = argument(name, context.node, call)
        if given is None or context.node not in functions.lookup(context.node.name, call):
            continue
        scope = functions.enclosing(call)
        while isinstance(scope, ast.Lambda):
            scope = functions.enclosing(scope)
        caller = FunctionContext(context.module, scope or context.module.tree)
        found.add(evidence(given, caller, depth - 1))
    joined = _of_any(found)
    return Evidence.UNKNOWN if joined is Evidence.ARRAY else joined


def _is_static(name: str, context: FunctionContext) -> bool:
    """Whether jit was told that a parameter is static: an array cannot be hashed."""
    info = context.module.traced.jitted.get(context.node)
    return info is not None and name in info.static


def _is_starred(name: str, context: FunctionContext) -> bool:
    """`first, *rest = items`: the rest is a list."""
    return name in context.starred


def assigned_values(name: str, context: FunctionContext) -> list[ast.expr]:
    """All expressions that plain assignments give to a name in this function."""
    return context.values.get(name, [])


def _annotation(name: str, context: FunctionContext) -> Evidence | None:
    if isinstance(context.node, ast.Module):
        return None
    said = annotations_of(context.node.args).get(name)
    return _of_annotation(said) if said is not None else None


def _of_annotation(annotation: ast.expr) -> Evidence | None:
    words = {
        n.id if isinstance(n, ast.Name) else n.attr
        for n in walk(annotation)
        if isinstance(n, ast.Name | ast.Attribute)
    }
    if words & CONTAINERS:
        return Evidence.OTHER
    return Evidence.ARRAY if words & ARRAY_TYPES else None


def _of_uses(expression: ast.expr, context: FunctionContext) -> Evidence:
    """An array if anything in the function treats it as only arrays can be."""
    parents = context.module.functions.parents
    for node in context.alike(expression):
        found = _of_use(node, parents.get(node), context)
        if found is not None:
            return found
    return Evidence.UNKNOWN


def _of_use(  # noqa: C901
    node: ast.AST, parent: ast.AST | None, context: FunctionContext
) -> Evidence | None:
    match parent:
        case ast.Attribute(attr=attribute):
            if attribute in ARRAY_ATTRIBUTES | ARRAY_METHODS:
                return Evidence.ARRAY
            if attribute in ("items", "keys", "values", "append", "_replace"):
                return Evidence.OTHER
        case ast.Subscript(value=base, slice=index) if base is node:
            if isinstance(index, ast.Tuple):
                return Evidence.ARRAY
            if isinstance(index, ast.Constant | ast.JoinedStr) and isinstance(
                getattr(index, "value", ""), str
            ):
                return Evidence.OTHER
        case ast.BinOp(op=op):
            other = parent.right if parent.left is node else parent.left
            if isinstance(op, ast.MatMult | ast.Sub | ast.Div | ast.Pow):
                return Evidence.ARRAY
            if isinstance(op, ast.Mult | ast.Add) and not isinstance(
                other, ast.List | ast.Tuple | ast.Constant
            ):
                return Evidence.ARRAY
        case ast.UnaryOp(op=ast.USub()):
            return Evidence.ARRAY
        case ast.Call(func=function, args=arguments) if node in arguments:
            path = context.resolve(function) or ""
            tail = path.rsplit(".", 1)[-1]
            if path.startswith(ARRAY_PREFIXES) and tail not in OF_SEQUENCES:
                if path not in OF_ANYTHING and not path.startswith("jax.lax."):
                    return Evidence.ARRAY
    return None
