"""Whether what follows a loop may know how often it ran.

A loop that is cut short leaves its index, its counts and its buffers otherwise than a whole one
does, and a conversion may have written their last values out. So a difference between copies with
loops cut short need then be none of the programs.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

_Functions = Iterable[ast.FunctionDef | ast.AsyncFunctionDef]


def counted(old: _Functions, new: _Functions) -> str:
    """What may know it, in words; empty where nothing does.

    Args:
      old, new: the functions that differ.
    """
    old, new = list(old), list(new)
    for function in (*old, *new):
        for name in _behind(function):
            return f"{name} is read behind a loop that counts it"
    if _written(old) != _written(new):
        return "a buffer is filled in a loop of one version only"
    if _asked(old) != _asked(new):
        return "a length is taken in one version only"
    return ""


def _behind(function: ast.AST) -> Iterator[str]:
    """Names that a loop counts up and that are read outside of all loops that do."""
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For)]
    for name in sorted({name for loop in loops for name in _counts(loop)}):
        inside = [loop for loop in loops if name in _counts(loop)]
        known = {id(n) for loop in inside for part in loop.body for n in ast.walk(part)}
        reads = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name)
        if any(isinstance(n.ctx, ast.Load) and id(n) not in known for n in reads):
            yield name


def _counts(loop: ast.For) -> set[str]:
    """The index of a loop, and what is made of itself and a number in each iteration."""
    found = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for part in loop.body:
        for node in ast.walk(part):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                if isinstance(node.value, ast.Constant):
                    found.add(node.target.id)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
                sides = (node.value.left, node.value.right)
                names = {n.id for n in node.targets if isinstance(n, ast.Name)}
                if any(isinstance(s, ast.Constant) for s in sides):
                    found |= {s.id for s in sides if isinstance(s, ast.Name)} & names
    return found


def _written(functions: _Functions) -> int:
    """How often something is set at an index."""
    return sum(
        (isinstance(n, ast.Attribute) and n.attr == "at")
        or (isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        for function in functions
        for n in ast.walk(function)
    )


def _asked(functions: _Functions) -> Counter[str]:
    """The lengths that are taken."""
    return Counter(
        ast.dump(n)
        for function in functions
        for n in ast.walk(function)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "len"
    )
