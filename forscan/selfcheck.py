"""What every rewritten file must pass before it is written: a fault here is ours.

It must parse, compile, keep every comment, and be the same outside of the functions with the
loops that were converted; their own heads (decorators, parameters, docstrings) stay as well.
That a second run changes nothing is not asked here: it would take as long as the first one,
and two runs that are both right do no harm.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from forscan.syntax.parsing import check_compiles
from forscan.syntax.source import Source, SourceError, Text

_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_IMPORT = ast.Import | ast.ImportFrom


def fault(
    before: Source,
    tree: ast.Module,
    after: str,
    converted: Iterable[int],
    *,
    interactive: bool = False,
) -> str | None:
    """What is wrong with a rewritten text, None if nothing is.

    Args:
      before: the file.
      tree: its syntax tree.
      after: what it became.
      converted: lines of the file in which loops begin that were converted.
      interactive: whether it is made of the cells of a notebook.
    """
    source = Source(after)
    try:
        new_tree = source.parse()
        check_compiles(new_tree, interactive=interactive)
    except SourceError as e:
        return f"the result does not parse: {e.message} (line {e.line})"
    except (SyntaxError, ValueError) as e:
        return f"the result does not compile: {e}"
    lost = lost_comments(before, tree, after)
    if lost:
        return f"the comment {lost[0]!r} would be lost"
    if ast.get_docstring(new_tree) != ast.get_docstring(tree):
        return "the module's docstring would change"
    line = _changed_elsewhere(before, tree, source, new_tree, frozenset(converted))
    return None if line is None else f"what is no part of the loop would change (line {line})"


def lost_comments(before: Text, tree: ast.Module, after: str) -> list[str]:
    """The comments that a new text has not any more, in order.

    Args:
      before: the text as it was.
      tree: its syntax tree.
      after: the new text.
    """
    old, new = _changed(before, tree, after)
    return list((_comments(old) - _comments(new)).elements()) if "#" in old.text else []


def _changed(before: Text, tree: ast.Module, after: str) -> tuple[Text, Text]:
    """Both texts without the whole statements of the module that both begin and end with."""
    old = before.text
    edges = [0, *(before.line_starts[line - 1] for line in _firsts(tree)), len(old)]
    same = bisect_left(edges, True, key=lambda edge: not after.startswith(old[:edge]))
    start = edges[same - 1]
    same = bisect_left(edges, True, key=lambda edge: after.endswith(old[edge:]))
    more = len(after) - len(old)
    end = next(e for e in edges[same:] if min(e, e + more) >= start)
    return Text(old[start:end]), Text(after[start : end + more])


def _firsts(tree: ast.Module) -> list[int]:
    """The lines in which the module's own statements begin."""
    return sorted({_first(s) for s in tree.body})


def _first(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _comments(text: Text) -> Counter[str]:
    return Counter(_plain(comment) for comment in text.comments())


def _plain(comment: str) -> str:
    """A comment without the marker of a type comment, which may not stand alone."""
    head, colon, rest = comment.partition(":")
    if colon and not rest.lstrip().startswith("ignore") and head.strip("# ").isidentifier():
        return rest.strip()
    return comment.strip()


def _changed_elsewhere(
    before: Text, tree: ast.Module, after: Text, new_tree: ast.Module, converted: frozenset[int]
) -> int | None:
    """The line of a statement that differs though no loop of it was converted.

    Among the module's own statements a loop may change those around it as well.
    """
    touched = [s for s in tree.body if not converted.isdisjoint(_lines(s))]
    if not all(isinstance(s, _DEFINITION) for s in touched):
        return None
    old, new = list(tree.body), _without_added(before, tree, after, new_tree)
    if len(old) != len(new):
        return _first((old or tree.body)[-1])
    for a, b in zip(old, new, strict=True):
        if a in touched and not converted.isdisjoint(_head_lines(a)):
            continue
        part = _head if a in touched else _whole
        if part(before, a) != part(after, b):
            return _first(a)
    return None


def _head_lines(definition: ast.stmt) -> range:
    assert isinstance(definition, _DEFINITION)
    return range(_first(definition), definition.body[0].lineno)


def _lines(statement: ast.stmt) -> range:
    return range(_first(statement), (statement.end_lineno or statement.lineno) + 1)


def _without_added(
    before: Text, tree: ast.Module, after: Text, new_tree: ast.Module
) -> Sequence[ast.stmt]:
    """The statements of the new text but for the imports that the old one has not."""
    had = Counter(_whole(before, s) for s in tree.body if isinstance(s, _IMPORT))
    kept = []
    for statement in new_tree.body:
        text = _whole(after, statement)
        if not isinstance(statement, _IMPORT) or had[text] > 0:
            kept.append(statement)
            had[text] -= 1
    return kept


def _whole(text: Text, statement: ast.stmt) -> str:
    return text.text[text.line_starts[_first(statement) - 1] : text.end(statement)]


def _head(_: Text, statement: ast.stmt) -> str:
    """A definition without its body, but with its docstring."""
    assert isinstance(statement, _DEFINITION)
    parts = [v for f, v in ast.iter_fields(statement) if f != "body"]
    nodes = [n for v in parts for n in (v if isinstance(v, list) else [v])]
    texts = [ast.dump(n) if isinstance(n, ast.AST) else repr(n) for n in nodes]
    return "\n".join([*texts, ast.get_docstring(statement, clean=False) or ""])
