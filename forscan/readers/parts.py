"""The parts of a call of a `lax` loop, and small pieces of text for them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forscan.analyse.kinds import Kind
from forscan.readers.body import Body, Takes
from forscan.readers.calls import Results
from forscan.syntax.code import Code
from forscan.syntax.names import reads
from forscan.syntax.parsing import parse
from forscan.syntax.source import Text
from forscan.syntax.walk import walk


@dataclass(frozen=True)
class Call:
    """The parts of a call that scan and fori_loop share.

    Attributes:
      function, init: the expressions of the body function and of the start.
      results: where the result goes.
      carry_at: which parameter of the body is the carry.
      wishes: names for the parameters, where the body's source does not give them.
      has_outputs: whether the body returns a pair.
      sources: names that are read when the loop begins.
      other: gives the kind of what the other parameter of a body gets.
      constant: what that is, where it is the same in all iterations.
      copied: whether the body of a module function is read as if it stood here.
      takes: what the body function is given.
    """

    function: ast.expr
    init: ast.expr
    results: Results
    carry_at: int
    wishes: tuple[str, str]
    has_outputs: bool
    sources: frozenset[str]
    other: Callable[[Body], Kind]
    constant: str | None = None
    copied: bool = False
    takes: Takes = Takes.BOTH


def joined(code: Code, line: str) -> Code:
    """Statements with one more behind them."""
    return Code("\n".join(filter(None, [code.text, line])))


def segment(text: str, node: ast.expr) -> str:
    """The source of a part of an expression, in parentheses when it spans lines."""
    wrapped = Text(f"({text}\n)")
    found = wrapped.segment(node)
    return f"({found})" if "\n" in found else found


def bare_name(node: ast.expr | None) -> str | None:
    """The name that an expression is, if it is one."""
    return node.id if isinstance(node, ast.Name) else None


def is_none(node: ast.expr) -> bool:
    """Whether an expression is a literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def holds_arrays(kind: Kind) -> bool:
    """Whether a value is arrays, in nothing but tuples."""
    return kind.is_array or bool(kind.items and all(map(holds_arrays, kind.items)))


def inside_function(text: str) -> ast.stmt:
    """The tree of a statement that may be a `return`."""
    [function] = parse("def f():\n    " + text.replace("\n", "\n    ")).body
    assert isinstance(function, ast.FunctionDef)
    return function.body[0]


def names_in_lines(lines: Iterable[str]) -> set[str]:
    """The names in statements that may be `return`s."""
    trees = [inside_function(line) for line in lines]
    return {n.id for tree in trees for n in walk(tree) if isinstance(n, ast.Name)}


def names_read(nodes: Iterable[ast.expr | None]) -> frozenset[str]:
    """The names that expressions read."""
    return frozenset(n for node in nodes if node is not None for n in reads(node))
