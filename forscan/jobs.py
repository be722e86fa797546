"""From targets to files, each with its loops and its configuration, and their results."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from forscan.config import Config, ConfigError
from forscan.files import Target, TargetError, parse_target, python_files, reason
from forscan.memory import collect_rarely
from forscan.prefilter import is_quiet
from forscan.refusal import Refusal
from forscan.types import FileResult, Selection

if TYPE_CHECKING:
    from forscan.find.project import Summary

Looked = tuple[FileResult, "Summary | None"]
_NOT_TRACED = "FSC103"
_MANY = 16  # files from which on a pool of processes pays


class WorkerDied(Exception):
    """One of the processes that look at the files is gone."""


@dataclass(frozen=True)
class Job:
    """One file: how it was named first, which loops are meant, and what to do."""

    path: Path
    selections: tuple[Selection, ...]
    config: Config


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
      force_exclude: whether files that are named can be excluded as well.
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
                self._add(target)
        return Jobs(list(self.found.values()), list(self.errors), self.notes)

    def _walk(self, target: Target) -> None:
        before = len(self.errors)
        empty = True
        for path in python_files(target.path, self._excluded, self._unreadable):
            empty = False
            self._add(Target(path, target.selection))
        if empty and len(self.errors) == before:
            self.notes.append(f"{target.path}: no Python files")

    def _add(self, target: Target) -> None:
        config = self.config(target.path.parent)
        if config is None or (self.force_exclude and config.excludes_named(target.path)):
            return
        file = os.path.realpath(target.path)
        job = self.found.get(file) or Job(target.path, (), config)
        self.found[file] = replace(job, selections=(*job.selections, target.selection))

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


def run(jobs: list[Job], workers: int | None) -> list[FileResult]:
    """The results of all jobs, in their order; nothing is written."""
    looked = _all(jobs, workers)
    results = [result for result, _ in looked]
    sums = {job.path: s for job, (_, s) in zip(jobs, looked, strict=True) if s is not None}
    again = _traced_elsewhere(jobs, results, sums)
    for k, (result, _) in zip(again, _all([jobs[k] for k in again], workers), strict=True):
        results[k] = result
    return results


def _traced_elsewhere(
    jobs: list[Job], results: list[FileResult], sums: dict[Path, Summary]
) -> list[int]:
    """The jobs, now with what other files show to be traced, that are to be done again.

    The files are looked at together only where a loop was passed over as not traced.
    """
    passed = [_passed_over(result) for result in results]
    if len(jobs) < 2 or not any(passed):
        return []
    from forscan.find.project import traced_across

    found = traced_across(sums)
    again = [
        k for k, job in enumerate(jobs) if job.path in found and passed[k] & found[job.path].reached
    ]
    for k in again:
        config = jobs[k].config
        names = (*config.traced, *sorted(found[jobs[k].path].used))
        jobs[k] = replace(jobs[k], config=replace(config, traced=names))
    return again


def _passed_over(result: FileResult) -> set[str]:
    """The functions with loops that nothing in their own file shows to be traced."""
    return {o.function for o in result.outcomes if any(r.code == _NOT_TRACED for r in o.reasons)}


def _all(jobs: list[Job], workers: int | None) -> list[Looked]:
    workers = workers or min(os.cpu_count() or 1, 8)
    summed = len(jobs) > 1
    if workers == 1 or len(jobs) < _MANY:
        return [_one(job, summed) for job in jobs]
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=collect_rarely
    ) as pool:
        with _undisturbed():
            results = pool.map(_one, jobs, repeat(summed), chunksize=8)
        try:
            return list(results)
        except BrokenProcessPool:
            raise WorkerDied from None


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes started in here leave it to their parent to be interrupted, and to end them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _one(job: Job, summed: bool) -> Looked:
    """The result of a job, and where that is asked for what the file tells the others."""
    try:
        content = job.path.read_bytes()
    except OSError as e:
        error = Refusal("FSC902", f"cannot be read: {e.strerror}", "Check the path.")
        return FileResult(job.path, b"", b"", error=error), None
    sum_ = _summary(job, content) if summed else None
    if set(job.selections) <= {Selection()} and is_quiet(content, job.path, job.config):
        return FileResult(job.path, content, content), sum_
    from forscan.api import convert_bytes  # and with it all the rest

    result = convert_bytes(content, job.path, job.config, *job.selections)
    return result, sum_


def _summary(job: Job, content: bytes) -> Summary | None:
    """The sum of a file that may hold traced code; None where it holds none."""
    from forscan.find.context import parse_module
    from forscan.find.project import summary
    from forscan.syntax.source import Source, SourceError

    if b"jax" not in content and job.path.name != "__init__.py":  # that hands names on
        return None
    try:
        source = Source.decode(content)
        module = parse_module(source, job.config.traced, job.config.everything)
        return summary(job.path, module)
    except (SourceError, RecursionError, MemoryError):
        return None
