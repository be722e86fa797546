"""What every rewritten file must pass before it is written: a fault here is ours."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter

from forscan.syntax.source import Source, SourceError, Text


def fault(before: Source, tree: ast.Module, after: str) -> str | None:
    """What is wrong with a rewritten text, None if nothing is.

    It must parse, compile and keep every comment.

    Args:
      before: the file.
      tree: its syntax tree.
      after: what it became.
    """
    source = Source(after)
    try:
        new_tree = source.parse()
        compile(new_tree, "<rewritten>", "exec", dont_inherit=True)
    except SourceError as e:
        return f"the result does not parse: {e.message} (line {e.line})"
    except (SyntaxError, ValueError) as e:
        return f"the result does not compile: {e}"
    old, new = (_comments(part) for part in _changed(before, tree, source, new_tree))
    lost = old - new
    if lost:
        return f"the comment {next(iter(lost))!r} would be lost"
    if ast.get_docstring(new_tree) != ast.get_docstring(tree):
        return "the module's docstring would change"
    return None


def _changed(
    before: Text, tree: ast.Module, after: Text, new_tree: ast.Module
) -> tuple[Text, Text]:
    """Both texts without the whole statements of the module that both begin and end with."""
    old, new = before.text, after.text
    edges, new_edges = _edges(before, tree), _edges(after, new_tree)
    same = bisect_left(edges, True, key=lambda edge: not new.startswith(old[:edge]))
    start = max((e for e in edges[:same] if e in new_edges), default=0)
    same = bisect_left(edges, True, key=lambda edge: new.endswith(old[edge:]))
    more = len(new) - len(old)
    ends = (e for e in edges[same:] if e + more in new_edges and min(e, e + more) >= start)
    end = next(ends, len(old))
    return Text(old[start:end]), Text(new[start : end + more])


def _edges(text: Text, tree: ast.Module) -> list[int]:
    """Where the lines of the module's own statements begin."""
    firsts = [min([s.lineno, *_decorators(s)]) for s in tree.body]
    return sorted({text.line_starts[line - 1] for line in firsts})


def _decorators(statement: ast.stmt) -> list[int]:
    return [d.lineno for d in getattr(statement, "decorator_list", ())]


def _comments(text: Text) -> Counter[str]:
    return Counter(_plain(comment) for comment in text.comments())


def _plain(comment: str) -> str:
    """A comment without the marker of a type comment, which may not stand alone."""
    head, colon, rest = comment.partition(":")
    if colon and not rest.lstrip().startswith("ignore") and head.strip("# ").isidentifier():
        return rest.strip()
    return comment.strip()
