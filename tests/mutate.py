"""Wrong versions of a module: small edits of the kinds that go wrong by hand.

Each edit is made at every place where it applies; some leave a program that computes the
same, which is for the tests to find out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Node = ast.AST
# What changes a tree at one place: it gets the tree and the node there, and says whether it has
# changed anything.
Edit = Callable[[ast.Module, Node], bool]


def mutants(source: str, kind: str) -> Iterator[str]:
    """The text of each wrong version of one kind; what stands outside of functions stays."""
    word, edit = EDITS[kind]
    if word not in source:
        return
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    given = {n for s in tree.body if isinstance(s, ast.Assign) for n in ast.walk(s)}
    for number in [number for number, n in enumerate(nodes) if n not in given]:
        if edit(tree, nodes[number]):
            yield ast.unparse(ast.fix_missing_locations(tree))
            tree = ast.parse(source)
            nodes = list(ast.walk(tree))


def called(node: Node, *names: str) -> ast.Call | None:
    """The node, if it calls a function of one of these last names."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in names:
        return node
    return None


def body_of(tree: ast.Module, call: ast.Call, place: int) -> ast.FunctionDef | None:
    name = ast.unparse(call.args[place])
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[0] if len(found) == 1 else None


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def one_round_less(tree: ast.Module, node: Node) -> bool:
    call = called(node, "fori_loop", "range")
    if call is None:
        return False
    place = 1 if len(call.args) > 1 else 0
    call.args[place] = expression(f"({ast.unparse(call.args[place])}) - 1")
    return True


def shifted_elements(tree: ast.Module, node: Node) -> bool:
    call = called(node, "scan")
    if call is None or len(call.args) < 3:
        return False
    xs = ast.unparse(call.args[2])
    if xs == "None":
        return False
    call.args[2] = expression(f"jax.tree.map(lambda leaf: jnp.roll(leaf, 1, 0), {xs})")
    return True


def shifted_read(tree: ast.Module, node: Node) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    if isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant):
        return False
    node.slice = expression(f"({ast.unparse(node.slice)}) - 1")
    return True


def turned_round(tree: ast.Module, node: Node) -> bool:
    call = called(node, "scan")
    if call is None:
        return False
    kept = [k for k in call.keywords if k.arg != "reverse"]
    if len(kept) == len(call.keywords):
        kept.append(ast.keyword("reverse", ast.Constant(True)))
    call.keywords = kept
    return True


def loop_turned_round(tree: ast.Module, node: Node) -> bool:
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return False
    if called(node.iter, "reversed"):
        node.iter = node.iter.args[0]
    elif called(node.iter, "range"):
        node.iter = expression(f"reversed({ast.unparse(node.iter)})")
    else:
        return False
    return True


def wrong_start(tree: ast.Module, node: Node) -> bool:
    call = called(node, "scan", "fori_loop")
    if call is None:
        return False
    place = 1 if called(call, "scan") else 3
    init = ast.unparse(call.args[place])
    if init == "None":
        return False
    call.args[place] = expression(f"jax.tree.map(lambda leaf: leaf + 1, {init})")
    return True


def stale_closure(tree: ast.Module, node: Node) -> bool:
    """Every iteration reads what was there before the loop."""
    call = called(node, "scan", "fori_loop")
    if call is None:
        return False
    scan = called(call, "scan") is not None
    body = body_of(tree, call, 0 if scan else 2)
    if body is None:
        return False
    name = body.args.args[0 if scan else 1].arg
    init = ast.unparse(call.args[1 if scan else 3])
    if init == "None":
        return False
    body.args.args.append(ast.arg("at_first"))
    body.args.defaults.append(expression(init))
    body.body.insert(0, statement(f"{name} = at_first"))
    return True


def lost_carry(tree: ast.Module, node: Node) -> bool:
    return _returned(tree, node, lambda carry, y: (ast.Name("before"), y))


def output_too_early(tree: ast.Module, node: Node) -> bool:
    return _returned(tree, node, lambda carry, y: (carry, ast.Name("before")))


def _returned(
    tree: ast.Module,
    node: Node,
    change: Callable[[ast.expr, ast.expr], tuple[ast.expr, ast.expr]],
) -> bool:
    call = called(node, "scan")
    body = body_of(tree, call, 0) if call is not None else None
    if body is None or not isinstance(body.body[-1], ast.Return):
        return False
    pair = body.body[-1].value
    if not isinstance(pair, ast.Tuple) or ast.unparse(pair.elts[1]) == "None":
        if not isinstance(pair, ast.Tuple) or change(*pair.elts)[1] is not pair.elts[1]:
            return False
    body.body.insert(0, statement(f"before = {body.args.args[0].arg}"))
    pair.elts = list(change(*pair.elts))
    return True


def lost_update(tree: ast.Module, node: Node) -> bool:
    """The first assignment of an array in a body is forgotten."""
    if not isinstance(node, ast.FunctionDef | ast.For):
        return False
    bound = {a.arg for a in node.args.args} if isinstance(node, ast.FunctionDef) else set()
    for place, inner in enumerate(node.body):
        if isinstance(inner, ast.Assign) and len(inner.targets) == 1:
            name = ast.unparse(inner.targets[0])
            if isinstance(node, ast.For) or name in bound:
                node.body[place] = ast.Pass()
                return True
    return False


def swapped(tree: ast.Module, node: Node) -> bool:
    """Two results of a body change places."""
    if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
        return False
    for part in (*node.value.elts, node.value):
        if isinstance(part, ast.Tuple) and len(part.elts) > 1:
            part.elts[0], part.elts[1] = part.elts[1], part.elts[0]
            return True
    return False


def swapped_targets(tree: ast.Module, node: Node) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return False
    parts = node.targets[0].elts
    parts[0], parts[1] = parts[1], parts[0]
    return True


def dropped_cast(tree: ast.Module, node: Node) -> bool:
    call = called(node, "astype")
    if call is None or not isinstance(call.func, ast.Attribute):
        return False
    call.func, call.args = expression("jnp.asarray"), [call.func.value]
    return True


def strong_index(tree: ast.Module, node: Node) -> bool:
    call = called(node, "fori_loop")
    body = body_of(tree, call, 2) if call is not None else None
    if body is None:
        return False
    name = body.args.args[0].arg
    body.body.insert(0, statement(f"{name} = jnp.int32({name})"))
    return True


def other_operator(tree: ast.Module, node: Node) -> bool:
    others = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}
    if not isinstance(node, ast.BinOp) or type(node.op) not in others:
        return False
    node.op = others[type(node.op)]()
    return True


def other_number(tree: ast.Module, node: Node) -> bool:
    if not isinstance(node, ast.Constant) or type(node.value) is not float:
        return False
    node.value += 0.25
    return True


# Each kind: a word that the source must hold, which spares most of the work, and the edit.
EDITS: dict[str, tuple[str, Edit]] = {
    "one round less": ("(", one_round_less),
    "shifted elements": ("scan", shifted_elements),
    "shifted read": ("[", shifted_read),
    "reverse": ("scan", turned_round),
    "order of the loop": ("for ", loop_turned_round),
    "wrong start": ("lax.", wrong_start),
    "stale closure": ("lax.", stale_closure),
    "lost carry": ("scan", lost_carry),
    "output too early": ("scan", output_too_early),
    "lost update": ("=", lost_update),
    "swapped results": ("return", swapped),
    "swapped targets": ("=", swapped_targets),
    "dropped cast": ("astype", dropped_cast),
    "strong index": ("fori_loop", strong_index),
    "other operator": ("=", other_operator),
    "other number": (".", other_number),
}
