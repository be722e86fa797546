"""From files to their results: in several processes, and from the cache where it has them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forscan.cache import Cache, packed, unpacked
from forscan.jobs import Job
from forscan.memory import collect_rarely
from forscan.prefilter import is_quiet
from forscan.refusal import Refusal
from forscan.types import FileResult, Selection

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from forscan.find.project import Summary

_NOT_TRACED = "FSC103"
_MANY = 16  # files from which on a pool of processes pays, and a cache


class WorkerDied(Exception):
    """One of the processes that look at the files is gone."""


@dataclass(frozen=True)
class _Looked:
    """What one file came to, and what it tells the others, where that is asked for."""

    result: FileResult
    sum: Summary | None = None


def run(jobs: list[Job], workers: int | None) -> list[FileResult]:
    """The results of all jobs, in their order; nothing is written."""
    return _Run(workers).all(jobs)


def check(jobs: list[Job], workers: int | None) -> list[FileResult]:
    """The results of all jobs for a check, those that are known taken from the cache."""
    if len(jobs) < _MANY:
        return [result.tried() for result in run(jobs, workers)]
    return _KeptRun(workers, Cache(job.path for job in jobs)).all(jobs)


class _Run:
    """Looks at files."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers or min(os.cpu_count() or 1, 8)

    def all(self, jobs: list[Job]) -> list[FileResult]:
        with contextlib.ExitStack() as self.started:
            looked = self.look(jobs, summed=len(jobs) > 1)
            results = [one.result for one in looked]
            sums = {job.path: one.sum for job, one in zip(jobs, looked, strict=True) if one.sum}
            again = _traced_elsewhere(jobs, results, sums)
            new = self.look([jobs[k] for k in again], summed=False)
            for k, one in zip(again, new, strict=True):
                results[k] = one.result
            return results

    def look(self, jobs: list[Job], summed: bool) -> list[_Looked]:
        if self.workers == 1 or len(jobs) < _MANY:
            return [_one(job, summed) for job in jobs]
        from concurrent.futures.process import BrokenProcessPool

        # The largest first: nobody waits for a portion of them that came last.
        turns = sorted(range(len(jobs)), key=lambda k: -_size(jobs[k].path))
        portion = max(1, min(8, len(jobs) // (8 * self.workers)))
        pool = self._pool
        with _undisturbed():
            in_turn = (jobs[k] for k in turns)
            looked = pool.map(_one, in_turn, repeat(summed), chunksize=portion)
        try:
            found = dict(zip(turns, looked, strict=True))
        except BrokenProcessPool:
            raise WorkerDied from None
        return [found[k] for k in range(len(jobs))]

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        """Processes that stay until all is done."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        self.started.enter_context(_safe_path())
        spawn = get_context("spawn")
        # The pool first starts a process of its own, which lifts the ban on signals.
        pool = ProcessPoolExecutor(self.workers, spawn, initializer=collect_rarely)
        return self.started.enter_context(pool)


class _KeptRun(_Run):
    """Looks at files for a check, but not twice at one that is the same.

    The cache has two parts: what each file came to by itself, and what all came to together.
    """

    def __init__(self, workers: int | None, cache: Cache) -> None:
        super().__init__(workers)
        self.cache = cache
        self.known: dict[str, Any] = {}
        self.used: dict[str, Any] = {}

    def all(self, jobs: list[Job]) -> list[FileResult]:
        contents = [_content(job.path) for job in jobs]
        key = "".join(self._key(j, c, False) for j, c in zip(jobs, contents, strict=True))
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return self._unpacked(self.cache.load("all")[key], jobs, contents)
        self.known = self.cache.load("each")
        results = super().all(jobs)
        self.cache.save("each", self.used)
        same = all(r.before == c for r, c in zip(results, contents, strict=True))
        kept = [packed(r) for r in results]
        self.cache.save("all", {key: kept} if same and None not in kept else {})
        return results

    def _unpacked(
        self, kept: Any, jobs: list[Job], contents: list[bytes | None]
    ) -> list[FileResult]:
        return [unpacked(k, j.path, c or b"") for k, j, c in zip(kept, jobs, contents, strict=True)]

    def look(self, jobs: list[Job], summed: bool) -> list[_Looked]:
        found = [self._recalled(job, summed) for job in jobs]
        missing = [job for job, one in zip(jobs, found, strict=True) if one is None]
        new = iter(super().look(missing, summed))
        return [
            one if one is not None else self._kept(job, next(new), summed)
            for job, one in zip(jobs, found, strict=True)
        ]

    def _key(self, job: Job, content: bytes | None, summed: bool) -> str:
        asked = (job.config, job.selections, job.named, summed)
        return self.cache.key(job.path, content or b"", *asked)

    def _recalled(self, job: Job, summed: bool) -> _Looked | None:
        content = _content(job.path)
        if content is None:
            return None
        key = self._key(job, content, summed)
        with contextlib.suppress(KeyError, TypeError, ValueError):
            result, sum_ = self.known[key]
            looked = _Looked(unpacked(result, job.path, content), _sum(sum_))
            self.used[key] = self.known[key]
            return looked
        return None

    def _kept(self, job: Job, looked: _Looked, summed: bool) -> _Looked:
        looked = replace(looked, result=looked.result.tried())
        result = packed(looked.result)
        if result is not None and (looked.result.error is None or looked.result.before):
            key = self._key(job, looked.result.before, summed)
            self.used[key] = [result, looked.sum.packed() if looked.sum else None]
        return looked


def _sum(kept: Any) -> Summary | None:
    from forscan.find.project import Summary

    return Summary.unpacked(kept) if kept is not None else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


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


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Processes started in here import nothing from the folder that one stands in.

    It may hold a `pickle.py`, and the files that are looked at are never run.
    """
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _one(job: Job, summed: bool) -> _Looked:
    content = _content_or_error(job.path)
    if isinstance(content, FileResult):
        return _Looked(content)
    sum_ = _summary(job, content) if summed else None
    if set(job.selections) <= {Selection()} and is_quiet(content, job.path, job.config):
        return _Looked(_heard(FileResult(job.path, content, content), job), sum_)
    from forscan.api import convert_bytes  # and with it all the rest

    result = convert_bytes(content, job.path, job.config, *job.selections)
    return _Looked(_heard(result, job), sum_)


def _heard(result: FileResult, job: Job) -> FileResult:
    """The result, with what is wrong with a file that was named and that holds no loop."""
    if not job.named or result.outcomes or result.error is not None:
        return result
    from forscan.unparsable import unparsable

    return replace(result, error=unparsable(result.before, job.path))


def _content_or_error(path: Path) -> bytes | FileResult:
    try:
        return path.read_bytes()
    except OSError as e:
        error = Refusal("FSC902", f"cannot be read: {e.strerror}", "Check the path.")
        return FileResult(path, b"", b"", error=error)


def _summary(job: Job, content: bytes) -> Summary | None:
    """The sum of a file that may hold traced code; None where it holds none."""
    if b"jax" not in content and job.path.name != "__init__.py":  # that hands names on
        return None
    from forscan.find.module import parse_module
    from forscan.find.project import summary
    from forscan.syntax.source import Source

    try:
        source = Source.decode(content)
        return summary(job.path, parse_module(source, job.config.traced, job.config.everything))
    except Exception:  # what is wrong with it is said where it is converted
        return None
