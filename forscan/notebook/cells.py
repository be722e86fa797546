"""The code cells of a notebook, and where their texts stand in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Cell:
    """One code cell.

    Attributes:
      number: its place among all cells, from 1.
      text: its source.
      start, end: where the JSON of its source stands in the file's text.
    """

    number: int
    text: str
    start: int
    end: int


def code_cells(text: str) -> list[Cell]:
    """The code cells of a notebook in Python; none in other languages, or of other formats.

    Raises:
      JSONDecodeError: the text is no JSON object.
    """
    whole = json.loads(text)
    if not isinstance(whole, dict):
        raise JSONDecodeError("a notebook is an object", text, 0)
    if not _is_python(whole.get("metadata")) or not isinstance(whole.get("cells"), list):
        return []
    *_, start = (begin for key, begin, _ in _members(text, 0) if key == "cells")
    return [
        cell
        for number, (begin, _) in enumerate(_items(text, start), 1)
        if text[begin] == "{"
        for cell in _code(text, begin, number)
    ]


def _is_python(metadata: Any) -> bool:
    found = metadata if isinstance(metadata, dict) else {}
    spec, info = found.get("kernelspec"), found.get("language_info")
    said = spec.get("language") if isinstance(spec, dict) else None
    said = info.get("name", said) if isinstance(info, dict) else said
    return said in (None, "python")


def _code(text: str, start: int, number: int) -> Iterator[Cell]:
    """The cell whose JSON begins at an offset, if it is one of code."""
    places = {key: (begin, end) for key, begin, end in _members(text, start)}
    values = {k: _DECODER.raw_decode(text, places[k][0])[0] for k in places.keys() & _KEYS}
    source = values.get("source")
    if values.get("cell_type") != "code":
        return
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if isinstance(source, str):
        yield Cell(number, source, *places["source"])


_KEYS = {"cell_type", "source"}


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    assert match is not None
    return match.end()


def _members(text: str, offset: int) -> Iterator[tuple[str, int, int]]:
    """Key, start and end of the value for each member of the object at an offset."""
    offset = _skip(text, _skip(text, offset) + 1)
    while text[offset] != "}":
        key, offset = _DECODER.raw_decode(text, offset)
        start = _skip(text, _skip(text, offset) + 1)  # behind the colon
        _, offset = _DECODER.raw_decode(text, start)
        yield key, start, offset
        offset = _next(text, offset)


def _items(text: str, offset: int) -> Iterator[tuple[int, int]]:
    """Start and end of each item of the array at an offset."""
    offset = _skip(text, offset + 1)
    while text[offset] != "]":
        start = offset
        _, offset = _DECODER.raw_decode(text, start)
        yield start, offset
        offset = _next(text, offset)


def _next(text: str, offset: int) -> int:
    """Where the next member or item begins, or the end of its object or array."""
    offset = _skip(text, offset)
    return _skip(text, offset + 1) if text[offset] == "," else offset


def lines_in_file(text: str, cell: Cell) -> Iterator[tuple[int, int]]:
    """Lines of a notebook, and those of a cell that stand on them; all count from 1.

    The head of the list goes with its first line, which may have been taken out.
    """
    items = [(cell.start, cell.end)]
    if text[cell.start] == "[":
        items = list(_items(text, cell.start))
    yield text.count("\n", 0, cell.start) + 1, 1
    line = 1
    for start, end in items:
        for _ in _lines(json.loads(text[start:end])):
            yield text.count("\n", 0, start) + 1, line
            line += 1


def written(text: str, cell: Cell, source: str) -> str:
    """The JSON for a new source of a cell, in the style of the old one.

    Lines that stay are written as they were, escapes and all.
    """
    old = text[cell.start : cell.end]
    plain = text.isascii()
    items = list(_items(text, cell.start)) if old.startswith("[") else []
    if not items:
        return json.dumps(source if old.startswith('"') else _lines(source), ensure_ascii=plain)
    known = {json.loads(text[a:b]): text[a:b] for a, b in items}
    lines = [known.get(line) or json.dumps(line, ensure_ascii=plain) for line in _lines(source)]
    first, last = items[0][0] - cell.start, items[-1][1] - cell.start
    between = ","
    if len(items) > 1:
        between = text[items[0][1] : items[1][0]]
    elif "\n" in old[:first]:
        between = "," + old[1:first]
    return old[:first] + between.join(lines) + old[last:]


def _lines(source: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+$", source)
