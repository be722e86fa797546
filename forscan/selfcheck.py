"""What every rewritten file must pass before it is written: a fault here is ours."""

from __future__ import annotations

import ast
from collections import Counter

from forscan.syntax.source import Source, SourceError


def fault(before: Source, after: str) -> str | None:
    """What is wrong with a rewritten text, None if nothing is.

    It must parse, compile and keep every comment.
    """
    source = Source(after)
    try:
        tree = source.parse()
        compile(tree, "<rewritten>", "exec", dont_inherit=True)
    except SourceError as e:
        return f"the result does not parse: {e.message} (line {e.line})"
    except (SyntaxError, ValueError) as e:
        return f"the result does not compile: {e}"
    old = Counter(_plain(c) for c in before.comments())
    new = Counter(_plain(c) for c in source.comments())
    lost = old - new
    if lost:
        return f"the comment {next(iter(lost))!r} would be lost"
    if ast.get_docstring(tree) != ast.get_docstring(before.parse()):
        return "the module's docstring would change"
    return None


def _plain(comment: str) -> str:
    """A comment without the marker of a type comment, which may not stand alone."""
    head, colon, rest = comment.partition(":")
    if colon and not rest.lstrip().startswith("ignore") and head.strip("# ").isidentifier():
        return rest.strip()
    return comment.strip()
