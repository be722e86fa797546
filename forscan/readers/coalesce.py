"""New values that need no name of their own: `new = f(x)`, `x = new` is `x = f(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from forscan.model import Carry, Output
from forscan.syntax.code import Code, expression
from forscan.syntax.names import all_names, binds, reads
from forscan.syntax.rename import renamed
from forscan.syntax.source import Edit
from forscan.syntax.walk import walk, walk_all

Parts = tuple[Code, list[Carry], list[Output]]


def coalesced(code: Code, carries: Sequence[Carry], outputs: Sequence[Output]) -> Parts:
    """The body with the carry's name where the old value is not read any more."""
    parts: Parts = (code, list(carries), list(outputs))
    for place in range(len(carries)):
        parts = _one(place, *parts)
    return parts


def renamed_carry(parts: Parts, old: str, new: str) -> Parts | None:
    """The body with another name for a part of the state, None where that is not free."""
    code, carries, outputs = parts
    texts = [c.update for c in carries] + [o.value for o in outputs]
    taken = {c.target for c in carries} | all_names(walk(code.tree, *map(expression, texts)))
    if new in taken or not (old.isidentifier() and new.isidentifier()) or _defines(code, old):
        return None
    names = {old: new}
    moved = [
        replace(c, target=names.get(c.target, c.target), update=renamed(c.update, names))
        for c in carries
    ]
    values = [replace(o, value=renamed(o.value, names)) for o in outputs]
    return Code(renamed(code.text, names)), moved, values


def _defines(code: Code, name: str) -> bool:
    """Whether a name is that of a function or class in the code, which is not renamed."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(n, defined) and n.name == name for n in walk(code.tree))


def _one(place: int, code: Code, carries: list[Carry], outputs: list[Output]) -> Parts:
    carry = carries[place]
    old, new = carry.target, carry.update
    others = [c for c in carries if c is not carry]
    if not new.isidentifier() or new == old or new in {c.target for c in carries}:
        return code, carries, outputs
    if not (old.isidentifier() and _may_take(code, old, new)):
        return code, carries, outputs
    texts = [c.update for c in others] + [o.value for o in outputs]
    if any(old in reads(expression(t)) for t in texts):
        return code, carries, outputs
    names = {new: old}
    moved = [replace(c, update=renamed(c.update, names)) for c in carries]
    values = [replace(o, value=renamed(o.value, names)) for o in outputs]
    return _without_copy(Code(renamed(code.text, names)), old), moved, values


def _may_take(code: Code, old: str, new: str) -> bool:
    """Whether nothing reads the old value once the new one is bound."""
    if _is_captured(code, (old, new)):
        return False
    return not _deletes(code.statements) and _dies(code.statements, old, new)


def _dies(suite: list[ast.stmt], old: str, new: str) -> bool:
    """Whether the suite reads the old value only until it binds the new one."""
    place = next((i for i, s in enumerate(suite) if new in binds(s)), None)
    if place is None or any(new in reads(s) for s in suite[:place]):
        return False
    first = suite[place]
    if isinstance(first, ast.If):
        if new in reads(first.test) or not (first.orelse and _in_branches(first, old, new)):
            return False
    elif not isinstance(first, ast.Assign) or old in binds(first):
        return False
    return not any(old in {**reads(s), **binds(s)} for s in suite[place + 1 :])


def _in_branches(node: ast.If, old: str, new: str) -> bool:
    return all(_dies(branch, old, new) for branch in (node.body, node.orelse))


def _is_captured(code: Code, names: tuple[str, str]) -> bool:
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    return any(
        isinstance(n, inner) and bool({*reads(n), *binds(n)} & set(names)) for n in walk(code.tree)
    )


def _deletes(statements: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Delete) for n in walk_all(statements))


def _without_copy(code: Code, name: str) -> Code:
    """Without `x = x`, where it stands on a line of its own."""
    edits = []
    for suite, branch in _suites(code.tree):
        for statement in suite:
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=value)) if (
                    target == value == name
                ):
                    line = code.text[code.line_start(code.start(statement)) :].partition("\n")[0]
                    if line.strip() == code.segment(statement):
                        edits.append(_removal(code, statement, suite, branch))
    return Code(code.edited(edits).text.strip("\n")) if edits else code


def _suites(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], ast.If | None]]:
    """The suites of the body and of its branches, these with their `if`."""
    yield tree.body, None
    for node in walk_all(tree.body):
        if isinstance(node, ast.If):
            yield node.body, node
            yield node.orelse, node


def _removal(code: Code, copy: ast.stmt, suite: list[ast.stmt], branch: ast.If | None) -> Edit:
    """Drops a copy, with the `else` that is there for nothing else."""
    if branch is None or len(suite) > 1:
        return code.remove(copy)
    between = code.text[code.end(branch.body[-1]) : code.start(copy)]
    if suite is branch.orelse and between.split() == ["else:"]:
        return Edit(code.line_end(code.end(branch.body[-1])), code.line_end(code.end(copy)), "")
    return code.replace(copy, "pass")
