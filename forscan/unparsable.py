"""What is wrong with a file that somebody has named, though nothing in it is of interest."""

from __future__ import annotations

from pathlib import Path

from forscan.notebook.module import fault_of
from forscan.refusal import Refusal
from forscan.suppress import skips_file
from forscan.syntax.source import Source, SourceError, compiled


def unparsable(content: bytes, path: Path) -> Refusal | None:
    """Why a file is no Python that can be parsed; None where it is, or is to be skipped.

    Of a folder most files are passed over after a look at their words, and nobody wants to
    hear of the others. Who names a file is told.
    """
    if skips_file(content):
        return None
    if path.suffix == ".ipynb":
        return fault_of(content)
    try:
        compiled(Source.decode(content))
    except SourceError as e:
        return Refusal("FSC901", e.message, "Correct the file.", e.line, e.column)
    except (RecursionError, MemoryError):
        return Refusal("FSC901", "the code is nested too deeply", "Split it up.", 1, 1)
    return None
