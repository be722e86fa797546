"""What every rewritten file must pass before it is written: a fault here is ours."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from itertools import pairwise

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
    old, new = (_comments(parts) for parts in _changed(before, tree, source, new_tree))
    lost = old - new
    if lost:
        return f"the comment {next(iter(lost))!r} would be lost"
    if ast.get_docstring(new_tree) != ast.get_docstring(tree):
        return "the module's docstring would change"
    return None


def _changed(
    before: Text, tree: ast.Module, after: Text, new_tree: ast.Module
) -> tuple[list[Text], list[Text]]:
    """The parts of both texts that may hold comments.

    Without the whole statements of the module that both begin and end with.
    """
    old, new = before.text, after.text
    edges, new_edges = _edges(before, tree), _edges(after, new_tree)
    same = bisect_left(edges, True, key=lambda edge: not new.startswith(old[:edge]))
    start = max((e for e in edges[:same] if e in new_edges), default=0)
    same = bisect_left(edges, True, key=lambda edge: new.endswith(old[edge:]))
    more = len(new) - len(old)
    ends = (e for e in edges[same:] if e + more in new_edges and min(e, e + more) >= start)
    end = next(ends, len(old))
    return _marked(old, edges, start, end), _marked(new, new_edges, start, end + more)


def _marked(text: str, edges: list[int], start: int, end: int) -> list[Text]:
    """The statements of a part of a module that hold the mark of a comment."""
    cuts = [start, *(e for e in edges if start < e < end), end]
    parts = [text[a:b] for a, b in pairwise(cuts)]
    return [Text(part) for part in parts if "#" in part]


def _edges(text: Text, tree: ast.Module) -> list[int]:
    """Where the lines of the module's own statements begin, if they are nobody else's."""
    edges, end = [], 0
    for statement in tree.body:
        first = min([statement.lineno, *_decorators(statement)])
        if first > end:
            edges.append(text.line_starts[first - 1])
        end = statement.end_lineno or first
    return edges


def _decorators(statement: ast.stmt) -> list[int]:
    return [d.lineno for d in getattr(statement, "decorator_list", ())]


def _comments(parts: list[Text]) -> Counter[str]:
    return Counter(_plain(comment) for part in parts for comment in part.comments())


def _plain(comment: str) -> str:
    """A comment without the marker of a type comment, which may not stand alone."""
    head, colon, rest = comment.partition(":")
    if colon and not rest.lstrip().startswith("ignore") and head.strip("# ").isidentifier():
        return rest.strip()
    return comment.strip()
