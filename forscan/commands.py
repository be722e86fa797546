"""What the commands do; each returns its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from forscan import config as configuration
from forscan.config import Config, ConfigError
from forscan.files import Target, TargetError, expand, parse_target, write_atomically
from forscan.model import Refusal
from forscan.report import machine, text
from forscan.types import FileResult, Status

Options = dict[str, Any]
_MANY = 16  # files from which on a pool of processes pays


def convert(options: Options) -> int:
    if options["calls"]:
        from forscan.verified import verified

        after = verified(options)
    else:
        after = _same
    try:
        if tuple(options["targets"]) == ("-",):
            return _convert_stdin(options, after)
        results = _results(options, quiet=False)
    except _Stop as stop:
        return stop.code
    results = [after(r) for r in results]
    dry = options["diff"] or options["check"]
    if not dry:
        results = [_written(r) for r in results]
    _show(results, options, "would convert" if dry else "converted")
    return _exit_code(results, options, dry)


def _same(result: FileResult) -> FileResult:
    return result


def check(options: Options) -> int:
    try:
        results = _results(options, quiet=True)
    except _Stop as stop:
        return stop.code
    results = [_as_check(r) for r in results]
    _show(results, options, "found")
    return _exit_code(results, options, dry=True)


def _as_check(result: FileResult) -> FileResult:
    """Nothing was written: what could be converted is convertible."""
    outcomes = tuple(
        replace(o, status=Status.CONVERTIBLE) if o.status is Status.CONVERTED else o
        for o in result.outcomes
    )
    return replace(result, outcomes=outcomes)


def verify(options: Options) -> int:
    from forscan.verified import verify_command

    return verify_command(options)


class _Stop(Exception):
    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        click.echo(f"forscan: {message}", err=True)
        self.code = code


def settings(options: Options, folder: Path) -> Config:
    """The configuration of a folder under the options of the command line.

    Raises:
      ConfigError: the configuration cannot be used.
    """
    config = configuration.load(folder.resolve())
    changes: dict[str, object] = {
        key: options[key]
        for key in ("to", "unroll", "body", "params")
        if options.get(key) is not None
    }
    if options.get("everything"):
        changes["everything"] = True
    return replace(config, **changes)  # type: ignore[arg-type]


def _results(options: Options, *, quiet: bool) -> list[FileResult]:
    """The results of all targets, in the order given; nothing is written here."""
    bad = False
    targets: list[tuple[Target, Config]] = []
    known: dict[Path, Config] = {}
    for given in options["targets"]:
        try:
            target = parse_target(given)
            folder = target.path if target.path.is_dir() else target.path.parent
            if folder not in known:
                known[folder] = settings(options, folder)
            found = list(expand(target, known[folder].exclude))
        except (TargetError, ConfigError) as e:
            click.echo(f"forscan: {e}", err=True)
            bad = True
            continue
        if not found:
            click.echo(f"forscan: {given}: no Python files", err=True)
        targets += [(t, known[folder]) for t in found]
    results = _run(targets, options.get("jobs"))
    if bad:
        missing = Refusal("FSC902", "a target could not be read", "Check the path.")
        results.append(FileResult(Path(), b"", b"", error=missing))
    return results


def _run(targets: list[tuple[Target, Config]], jobs: int | None) -> list[FileResult]:
    workers = jobs or min(os.cpu_count() or 1, 8)
    if workers == 1 or len(targets) < _MANY:
        return [_one(t) for t in targets]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_one, targets, chunksize=8))


def _one(job: tuple[Target, Config]) -> FileResult:
    target, config = job
    try:
        content = target.path.read_bytes()
    except OSError as e:
        reason = Refusal("FSC902", f"cannot be read: {e.strerror}", "Check the path.")
        return FileResult(target.path, b"", b"", error=reason)
    from forscan.api import convert_bytes

    return convert_bytes(content, target.path, config, target.selection)


def _convert_stdin(options: Options, after: Any) -> int:
    content = sys.stdin.buffer.read()
    path = Path(options["stdin_filename"])
    from forscan.api import convert_bytes

    try:
        config = settings(options, path.parent)
    except ConfigError as e:
        raise _Stop(str(e)) from None
    result = after(convert_bytes(content, path, config))
    dry = options["diff"] or options["check"]
    if options["diff"]:
        click.echo(text.diff(result.path, result.before, result.after)) if result.changed else None
    elif not dry:
        # On an error the input comes back, so that an editor's filter loses nothing.
        sys.stdout.buffer.write(result.after)
        sys.stdout.flush()
    _errors([result])
    for outcome in result.outcomes:
        click.echo(text.concise(outcome), err=True)
    return _exit_code([result], options, dry)


def _written(result: FileResult) -> FileResult:
    if not result.changed:
        return result
    try:
        if result.path.read_bytes() != result.before:
            raise OSError(0, "the file has changed in the meantime")
        write_atomically(result.path, result.after)
    except OSError as e:
        reason = Refusal("FSC902", f"cannot be written: {e.strerror}", "Check its permissions.")
        outcomes = tuple(
            (
                replace(o, status=Status.REFUSED, reasons=(reason,))
                if o.status is Status.CONVERTED
                else o
            )
            for o in result.outcomes
        )
        return replace(result, after=result.before, error=reason, outcomes=outcomes)
    return result


def _show(results: list[FileResult], options: Options, verb: str) -> None:
    output = options["output_format"]
    if output == "json":
        click.echo(machine.as_json(results))
    else:
        for result in results:
            if options.get("diff") and result.changed:
                click.echo(text.diff(result.path, result.before, result.after))
            for outcome in result.outcomes:
                if outcome.status is Status.SKIPPED and len(results) > 1:
                    continue
                shown = text.full(outcome, result) if output == "full" else text.concise(outcome)
                click.echo(shown, err=bool(options.get("diff")))
    _errors(results)
    readable = [r for r in results if r.path != Path()]
    click.echo(text.summary(readable, verb), err=True)


def _errors(results: Iterable[FileResult]) -> None:
    for result in results:
        if result.error is not None and result.path != Path():
            e = result.error
            place = f"{result.path}:{e.line or 1}:{e.column or 1}"
            click.echo(f"{place}: {e.code} {e.message}", err=True)


def _exit_code(results: list[FileResult], options: Options, dry: bool) -> int:
    if any(r.error is not None for r in results):
        return 2
    if any(o.code.startswith("FSC6") for r in results for o in r.outcomes):
        return 1
    if dry and any(
        o.status in (Status.CONVERTED, Status.CONVERTIBLE) for r in results for o in r.outcomes
    ):
        return 1
    by_line = [t for t in options["targets"] if t.rpartition(":")[2].isdigit()]
    if by_line and any(o.status is Status.REFUSED for r in results for o in r.outcomes):
        return 1
    return 0
