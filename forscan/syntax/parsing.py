"""Python's own parser, one thread at a time.

It counts its depth in one place for all threads: where two of them make or read a syntax tree
at once, as they do behind an editor, it may raise a SystemError (Python 3.11).
"""

from __future__ import annotations

import ast
from threading import Lock

_ONE_AT_A_TIME = Lock()


def parse(text: str) -> ast.Module:
    """The tree of statements, as `ast.parse` makes it."""
    with _ONE_AT_A_TIME:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression, as `ast.parse` makes it."""
    with _ONE_AT_A_TIME:
        return ast.parse(text, mode="eval").body


def check_compiles(code: str | ast.Module, *, interactive: bool = False) -> None:
    """Raises what Python raises where it would not compile a module.

    Args:
      code: the module.
      interactive: whether `await` may stand outside of functions, as in a notebook.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if interactive else 0
    with _ONE_AT_A_TIME:
        compile(code, "<file>", "exec", flags, dont_inherit=True)
