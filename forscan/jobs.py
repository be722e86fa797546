"""From targets to files, each with its loops and its configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from forscan.config import Config, ConfigError
from forscan.files import Target, TargetError, parse_target, python_files, reason
from forscan.recording import with_traced
from forscan.types import Selection


@dataclass(frozen=True)
class Job:
    """One file: how it was named first, which loops are meant, and what to do.

    Attributes:
      named: whether somebody has named it, who wants to hear that it is no Python.
    """

    path: Path
    selections: tuple[Selection, ...]
    config: Config
    named: bool = False


@dataclass
class Jobs:
    """What the targets come to.

    Attributes:
      files: the jobs, in the order in which their files were named first.
      errors: what could not be had, each said once.
      notes: what may be a slip, but is no error.
    """

    files: list[Job] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def collect(
    targets: Iterable[str], settings: Callable[[Path], Config], *, force_exclude: bool = False
) -> Jobs:
    """The files of all targets, each once, however often and by whatever name it is meant.

    Args:
      targets: as they stand on the command line.
      settings: the configuration that holds in a folder; may raise ConfigError.
      force_exclude: whether a program names the files: then they are treated like those
        that are found in folders.
    """
    return _Collector(settings, force_exclude).run(targets)


class _Collector:
    def __init__(self, settings: Callable[[Path], Config], force_exclude: bool) -> None:
        self.settings = settings
        self.force_exclude = force_exclude
        self.found: dict[str, Job] = {}
        self.errors: dict[str, None] = {}
        self.notes: list[str] = []
        self.config = cache(self._config)

    def run(self, targets: Iterable[str]) -> Jobs:
        for text in targets:
            try:
                target = parse_target(text)
            except TargetError as e:
                self._failed(str(e))
                continue
            if target.path.is_dir():
                self._walk(target)
            else:
                self._add(target, named=not self.force_exclude)
        return Jobs(list(self.found.values()), list(self.errors), self.notes)

    def _walk(self, target: Target) -> None:
        before = len(self.errors)
        empty = True
        for path in python_files(target.path, self._excluded, self._unreadable):
            empty = False
            self._add(Target(path, target.selection))
        if empty and len(self.errors) == before:
            self.notes.append(f"{target.path}: no Python files")

    def _add(self, target: Target, named: bool = False) -> None:
        config = self.config(target.path.parent)
        if config is None or (self.force_exclude and config.excludes_named(target.path)):
            return
        file = os.path.realpath(target.path)
        job = self.found.get(file) or Job(target.path, (), with_traced(config, target.path))
        selections = (*job.selections, target.selection)
        self.found[file] = replace(job, selections=selections, named=job.named or named)

    def _config(self, folder: Path) -> Config | None:
        try:
            return self.settings(folder)
        except ConfigError as e:
            self._failed(str(e))
            return None

    def _excluded(self, path: Path) -> bool:
        """Whether the configuration of the folder that holds a path passes over it."""
        config = self.config(path.parent)
        return config is not None and config.excludes(path)

    def _unreadable(self, error: OSError) -> None:
        self._failed(f"{error.filename}: cannot be read: {reason(error)}")

    def _failed(self, message: str) -> None:
        self.errors[message] = None
