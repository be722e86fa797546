"""Puts a probe at the head of each function that holds a loop, and changes nothing else.

A probe is one call that is handed the arguments. Functions keep their lines, docstrings,
signatures and decorators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

NOTE = "__forscan_note__"

_LAX = {"scan", "fori_loop", "while_loop", "associative_scan"}
# Decorators that leave a call of the function what it is.
_PLAIN = {
    *("jit", "pjit", "filter_jit", "checkpoint", "remat", "custom_jvp", "custom_vjp"),
    *("staticmethod", "classmethod", "named_call", "beartype", "typechecked", "jaxtyped"),
}
# It compiles the function with the probe in it, and does not know how.
_OTHER_COMPILER = b"numba"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Place:
    """A function with a loop in it.

    Attributes:
      name: its dotted name, without `<locals>`.
      parameters: the names of its positional ones, in order.
      why: why a call of it cannot be made again, empty where it can.
    """

    file: str
    name: str
    parameters: list[str] = field(default_factory=list)
    why: str = ""


def instrumented(content: bytes, file: str, first: int) -> tuple[ast.Module, list[Place]]:
    """The tree of a file with its probes, and what they stand for.

    Args:
      content: the file.
      file: its name, for the places.
      first: the number of the first probe.

    Raises:
      SyntaxError: Python will say so itself.
    """
    tree = ast.parse(content)
    if _OTHER_COMPILER in content:
        return tree, []
    probes = _Probes(file, first)
    probes.visit(tree)
    return ast.fix_missing_locations(tree), probes.places


def behind_docstring(body: list[ast.stmt]) -> int:
    """Where the first statement can stand that is not a docstring."""
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return 1 if is_text and isinstance(first.value.value, str) else 0  # type: ignore[attr-defined]


class _Probes(ast.NodeTransformer):
    def __init__(self, file: str, first: int) -> None:
        self.file = file
        self.first = first
        self.scope: list[ast.ClassDef | _Function] = []
        self.places: list[Place] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outermost = all(isinstance(scope, ast.ClassDef) for scope in self.scope)
        holds = _has_loop(ast.walk(node)) if outermost else _has_loop(_own(node))
        self._inside(node)
        if holds:
            self._probe(node, outermost)
        return node

    def _inside(self, node: ast.ClassDef | _Function) -> ast.AST:
        self.scope.append(node)
        self.generic_visit(node)
        self.scope.pop()
        return node

    def _probe(self, node: ast.FunctionDef, outermost: bool) -> None:
        name = ".".join(scope.name for scope in (*self.scope, node))
        why = _why_not(node) if outermost else "it is defined in another function"
        place = Place(self.file, name, [], why)
        arguments: list[ast.expr] = [ast.Constant(self.first + len(self.places))]
        if not why:
            names, positional, named = _arguments(node, bool(self.scope))
            place.parameters = names
            arguments += [positional, named]
        self.places.append(place)
        at = behind_docstring(node.body)
        probe = ast.Expr(ast.Call(ast.Name(NOTE, ast.Load()), arguments, []))
        near = node.body[min(at, len(node.body) - 1)]
        for part in ast.walk(probe):
            ast.copy_location(part, near)
        node.body.insert(at, probe)


def _own(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, not in those that it defines."""
    work: list[ast.AST] = [*node.body]
    while work:
        part = work.pop()
        yield part
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            work.extend(ast.iter_child_nodes(part))


def _has_loop(nodes: Iterator[ast.AST]) -> bool:
    return any(isinstance(n, ast.For) or _is_lax_loop(n) for n in nodes)


def _is_lax_loop(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Name):
        return function.id in _LAX
    is_map = isinstance(function, ast.Attribute) and ast.unparse(function).endswith("lax.map")
    return is_map or (isinstance(function, ast.Attribute) and function.attr in _LAX)


def _why_not(node: ast.FunctionDef) -> str:
    """Why a call that is seen inside of the function is no call of its name."""
    for decorator in node.decorator_list:
        name = _decorator(decorator)
        if name not in _PLAIN:
            return f"it is decorated with {name}"
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own(node)):
        return "it is a generator"
    return ""


def _decorator(node: ast.expr) -> str:
    """The last name of a decorator, that of what `partial` is given."""
    while isinstance(node, ast.Call):
        name = ast.unparse(node.func).split(".")[-1]
        node = node.args[0] if name == "partial" and node.args else node.func
    return ast.unparse(node).split(".")[-1]


def _arguments(node: ast.FunctionDef, method: bool) -> tuple[list[str], ast.expr, ast.expr]:
    """The names of the positional parameters, their values as a tuple, the others as a dict."""
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    if method and "classmethod" in map(_decorator, node.decorator_list):
        names = names[1:]

    def load(name: str) -> ast.expr:
        return ast.Name(name, ast.Load())

    positional = [load(name) for name in names]
    if a.vararg:
        positional.append(ast.Starred(load(a.vararg.arg), ast.Load()))
    keys: list[ast.expr | None] = [ast.Constant(p.arg) for p in a.kwonlyargs]
    values = [load(p.arg) for p in a.kwonlyargs]
    if a.kwarg:
        keys.append(None)
        values.append(load(a.kwarg.arg))
    return names, ast.Tuple(positional, ast.Load()), ast.Dict(keys, values)
