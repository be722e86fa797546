"""Python's own parser, one thread at a time and without a word.

It counts its depth in one place for all threads: where two of them make or read a syntax tree
at once, as they do behind an editor, it may raise a SystemError (Python 3.11). What is to be
done about warnings is kept in one place, too: whoever changes that outside of the turns taken
here leaves it changed for the others. What Python has to say about a file is not ours to say.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_ONE_AT_A_TIME = Lock()


@contextmanager
def _in_turn() -> Iterator[None]:
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse(text: str) -> ast.Module:
    """The tree of statements, as `ast.parse` makes it."""
    with _in_turn():
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression, as `ast.parse` makes it."""
    with _in_turn():
        return ast.parse(text, mode="eval").body


def check_compiles(code: str | ast.Module, *, interactive: bool = False) -> None:
    """Raises what Python raises where it would not compile a module.

    Args:
      code: the module.
      interactive: whether `await` may stand outside of functions, as in a notebook.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if interactive else 0
    with _in_turn():
        compile(code, "<file>", "exec", flags, dont_inherit=True)
