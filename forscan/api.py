"""The core: bytes in, bytes and outcomes out. Everything else calls this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from forscan.config import Config
from forscan.facts import NO_FACTS, Facts
from forscan.model import Refusal
from forscan.notebook.module import convert_notebook
from forscan.prefilter import is_quiet
from forscan.rounds import EVERYTHING, Conversion, Unchecked, internal, named_fault
from forscan.suppress import skips_file
from forscan.syntax.source import Source, SourceError
from forscan.types import FileResult, Outcome, Selection

_Made = TypeVar("_Made")


def convert_bytes(
    content: bytes,
    path: Path,
    config: Config,
    *selections: Selection,
    facts: Facts = NO_FACTS,
) -> FileResult:
    """Converts the loops of one file; never raises on what is in it.

    Args:
      content: the file.
      path: its name, for the outcomes.
      config: what to convert to, and how.
      selections: which loops: all that any of them means; all of the file without any.
      facts: what calls have shown; the result is to be verified with the same calls.

    Returns:
      The new bytes and an outcome for each loop. With `check` in mind: the outcome of
      a loop that was converted says `converted` here.
    """
    if path.suffix == ".ipynb":
        try:
            return convert_notebook(
                content,
                path,
                selections,
                lambda m, chosen: _convert_module(m, path, config, chosen, facts),
                lambda m: skips_file(m) or is_quiet(m, path.with_suffix(".py"), config),
            )
        except Exception as e:
            return FileResult(path, content, content, error=internal(named_fault(e)))
    return _convert_module(content, path, config, selections, facts)


@dataclass(frozen=True)
class Tentative:
    """A conversion whose text nobody gets before it has passed the self-check.

    Attributes:
      outcomes: as they are if it does.
    """

    outcomes: tuple[Outcome, ...]
    _checked: Callable[[], FileResult]

    def checked(self) -> FileResult:
        """What `convert_bytes` gives; the check is made now."""
        return self._checked()


def convert_tentatively(
    content: bytes, path: Path, config: Config, *selections: Selection
) -> Tentative:
    """As `convert_bytes`, where most conversions are only offered: the self-check waits.

    It takes more than half of the time that the conversion of one loop takes.
    """
    if path.suffix == ".ipynb":
        result = convert_bytes(content, path, config, *selections)
        return Tentative(result.outcomes, lambda: result)
    made = _guarded(content, path, lambda: _unchecked(content, path, config, selections, NO_FACTS))
    if isinstance(made, FileResult):
        return Tentative(made.outcomes, lambda: made)
    return Tentative(made.result.outcomes, lambda: _guarded(content, path, made.checked))


def _convert_module(
    content: bytes,
    path: Path,
    config: Config,
    selections: tuple[Selection, ...],
    facts: Facts,
) -> FileResult:
    def converted() -> FileResult:
        return _unchecked(content, path, config, selections, facts).checked()

    return _guarded(content, path, converted)


def _unchecked(
    content: bytes,
    path: Path,
    config: Config,
    selections: tuple[Selection, ...],
    facts: Facts,
) -> Unchecked:
    wanted = selections or (EVERYTHING,)
    by_name = any(s != EVERYTHING for s in wanted)
    if skips_file(content) or (not by_name and is_quiet(content, path, config)):
        return Unchecked(FileResult(path, content, content))
    source = Source.decode(content)
    source.parse()
    return Conversion(source, path, config, facts).run(content, wanted)


def _guarded(content: bytes, path: Path, make: Callable[[], _Made]) -> _Made | FileResult:
    """What is made of a file; what is raised on the way is an error of the file."""
    try:
        return make()
    except SourceError as e:
        error = Refusal("FSC901", e.message, "Correct the file.", e.line, e.column)
    except (RecursionError, MemoryError):
        error = Refusal("FSC901", "the code is nested too deeply", "Split it up.", 1, 1)
    except Exception as e:
        error = internal(named_fault(e))
    return FileResult(path, content, content, error=error)
