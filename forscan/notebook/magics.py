"""What a notebook takes beside Python: magics, shell commands, questions, `await` at the top.

A line that only IPython understands acts on the host, and so does what stands for it while the
cell is a piece of a module. Which lines those are Python itself says: each is one at which the
parser gives up, so that a `% b` that goes on with the line above stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from forscan.syntax.parsing import check_compiles
from forscan.syntax.source import SourceError

MARK = "forscan-cell"
_MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?:"
    r"[%!?,;/]"  # %magic, !command, ?name, and the signs that call a function
    r"|(?P<bound>[^#=!]+=)[ \t]*[%!]"  # names = !command
    r"|[^#]*(?!\d)[\w*]+(?:\.\w+|\[-?\d+\])*\?{1,2}\s*$"  # name?
    r")"
)
_FUTURE = re.compile(r"from[ \t]+__future__[ \t]+import\b[^(\\]*$")


@dataclass(frozen=True)
class Part:
    """A cell as Python.

    Attributes:
      text: with as many lines as the cell; empty where nothing of it is Python.
      stand_ins: what stands for a line, and the line itself.
      error: why the cell cannot be parsed.
    """

    text: str
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    error: SourceError | None = None

    def restored(self, new: str) -> str:
        """A new text of the part with the lines that only IPython understands.

        Raises:
          ValueError: one of them is lost, or there twice.
        """
        lines = new.split("\n")
        if sorted(line for line in lines if MARK in line) != sorted(self.stand_ins):
            raise ValueError("a line that only IPython understands would change")
        return "\n".join(self.stand_ins.get(line, line) for line in lines)


def as_python(text: str, *, later: bool = False) -> Part:
    """A cell as Python; one that is the text of a `%%magic` holds none.

    Args:
      text: the cell.
      later: whether another one is above it, where a module has its imports of `__future__`.
    """
    if text.lstrip().startswith("%%"):
        return Part("")
    if MARK in text:
        return Part("", error=SourceError(f"{MARK!r} is a name of forscan's own"))
    lines = text.split("\n")
    stand_ins: dict[str, str] = {}
    for number in [n for n, line in enumerate(lines) if later and _FUTURE.match(line)]:
        stand_in = f'exec("{MARK} {len(stand_ins)}")'
        stand_ins[stand_in] = lines[number]
        lines[number] = stand_in
    while (error := _error("\n".join(lines))) is not None:
        masked = _masked(lines, error.line - 1, len(stand_ins))
        if not masked:
            return Part("", error=error)
        for number, stand_in in masked.items():
            stand_ins[stand_in] = lines[number]
            lines[number] = stand_in
    return Part("\n".join(lines), stand_ins)


def _masked(lines: list[str], first: int, count: int) -> dict[int, str]:
    """What is to stand for a line, and for those that it goes on with; nothing for Python."""
    match = _MAGIC.match(lines[first]) if first < len(lines) else None
    if match is None or MARK in lines[first]:
        return {}
    last = first
    while lines[last].rstrip("\r").endswith("\\") and last + 1 < len(lines):
        last += 1
    bound = match["bound"]
    head = match["indent"] + (f"{bound} " if bound else "")
    found = {first: f'{head}exec("{MARK} {count}")'}
    for number in range(first + 1, last + 1):
        found[number] = f'{match["indent"]}exec("{MARK} {count + number - first}")'
    return found


def _error(text: str) -> SourceError | None:
    try:
        check_compiles(text, interactive=True)
    except SyntaxError as e:
        return SourceError(f"syntax error: {e.msg}", e.lineno or 1, e.offset or 1)
    except (RecursionError, MemoryError):
        return SourceError("the code is nested too deeply")
    except ValueError as e:
        return SourceError(str(e))
    return None
