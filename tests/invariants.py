"""What holds for every file and every setting, checked without believing forscan."""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import decode_source
from io import BytesIO
from itertools import pairwise
from pathlib import Path

from forscan.api import convert_bytes
from forscan.config import Config
from forscan.types import FileResult, Status
from tests.distort import comments

_OURS = {"FSC904", "FSC905"}
_BOM = b"\xef\xbb\xbf"
_ADDED = re.compile(r"(?:import jax(?:\.numpy)?|from jax import lax)(?: as \w+)?")


def compiles(content: bytes) -> bool:
    """Whether Python takes a file; in one that is handed over as bytes it would not look at
    what stands in a comment, in a file it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            decode_source(content)
            compile(content, "<file>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def faults(content: bytes, path: Path, config: Config, sound: bool) -> Iterator[str]:
    """What is wrong with a conversion.

    Args:
      content: the file; anything.
      path: its name.
      config: what is asked for.
      sound: whether Python takes the file.
    """
    try:
        result = convert_bytes(content, path, config)
        again = convert_bytes(result.after, path, config) if result.changed else result
    except Exception as e:  # it never raises
        yield f"{type(e).__name__}: {e}"
        return
    yield from said(result, sound)
    if not result.changed:
        return
    yield from said(again, True)
    if again.after != result.after:
        lines = [o.span.line for o in again.outcomes if o.status is Status.CONVERTED]
        yield f"a second run changes something (lines {lines})"
    if not compiles(result.after):
        yield "the output does not compile"
        return
    yield from lost(result)


def said(result: FileResult, sound: bool) -> Iterator[str]:
    """Errors that are ours, and files that are refused though Python takes them."""
    if result.error is not None:
        if result.error.code in _OURS or sound:
            yield f"{result.error.code} {result.error.message}"
        if "\n" in result.error.message:
            yield "an error of several lines"
        if result.changed:
            yield "an error, and a change"
    for outcome in result.outcomes:
        yield from (f"{r.code} {r.message}" for r in outcome.reasons if r.code in _OURS)


def lost(result: FileResult) -> Iterator[str]:
    """What a conversion may not touch."""
    before, after = result.before, result.after
    if before.startswith(_BOM) is not after.startswith(_BOM):
        yield "the BOM is not kept"
    encodings = [tokenize.detect_encoding(BytesIO(c).readline)[0] for c in (before, after)]
    if encodings[0] != encodings[1]:
        yield f"the encoding changes: {encodings}"
    old, new = (c.removeprefix(_BOM).decode(encodings[0]) for c in (before, after))
    kinds = [set(re.findall(r"\r\n|\r|\n", text)) for text in (old, new)]
    if {"\r", "\n"} <= kinds[0]:  # one behind the other is the third
        kinds[0].add("\r\n")
    if not kinds[1] <= (kinds[0] or {"\n"}):
        yield f"new kinds of ends of lines: {kinds}"
    gone = Counter(map(_plain, comments(old))) - Counter(map(_plain, comments(new)))
    if gone:
        yield f"lost comments: {list(gone)}"
    yield from _moved(old, new, result)


def _plain(comment: str) -> str:
    """A comment of the type of a name that is no more says it in plain words."""
    return re.sub(r"^#\s*\w+:\s*(?!ignore)", "", comment).strip()


def _moved(old: str, new: str, result: FileResult) -> Iterator[str]:
    """Statements of the module that hold no loop that was converted stay, byte for byte."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", new)
    had = re.split(r"(?<=\n)|(?<=\r)(?!\n)", old)
    added = Counter(line for line in lines if _ADDED.fullmatch(line.strip())) - Counter(had)
    kept = []
    for line in lines:  # without the imports that were needed
        if added[line] > 0:
            added[line] -= 1
        else:
            kept.append(line)
    rest = "".join(kept)
    converted = [o.span.line for o in result.outcomes if o.status is Status.CONVERTED]
    runs = _stays(old, had, converted)
    if not rest.startswith(runs[0]):
        yield f"changed outside of the loops: {runs[0]!r}"
    elif not rest.endswith(runs[-1]):
        yield f"changed outside of the loops: {runs[-1]!r}"
    else:
        place = len(runs[0])
        for run in runs[1:-1]:
            found = rest.find(run, place)
            if found < 0:
                yield f"changed outside of the loops: {run!r}"
                return
            place = found + len(run)


def _stays(old: str, lines: list[str], converted: list[int]) -> list[str]:
    """What stands before, between and behind the statements with converted loops."""
    tree = ast.parse(old)
    firsts = [
        min(s.lineno, *(d.lineno for d in getattr(s, "decorator_list", ())), s.lineno)
        for s in tree.body
    ]
    edges = sorted({1, *firsts, len(lines) + 1})
    runs = [""]
    for start, end in pairwise(edges):
        if any(start <= line < end for line in converted):
            runs.append("")
        else:
            runs[-1] += "".join(lines[start - 1 : end - 1])
    return runs
