"""What the commands do; each returns its exit code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from forscan import streams
from forscan.config import Config, ConfigError
from forscan.files import TargetError, parse_target, reason, replace_content
from forscan.jobs import Job, collect
from forscan.options import Options, from_stdin, settings
from forscan.recording import with_traced
from forscan.refusal import Refusal
from forscan.report.summary import summary
from forscan.run import WorkerDied, run
from forscan.run import check as check_files
from forscan.types import FileResult, Selection, Status

Look = Callable[[list[Job], int | None], list[FileResult]]


def convert(options: Options) -> int:
    _check_usage(options)
    if options["calls"] or options["verify"]:
        from forscan.verified import verified

        after = verified(options)
    else:
        after = _same
    dry = options["diff"] or options["check"]
    finish = FileResult.tried if dry else _same if from_stdin(options) else _written
    found = _find(options)
    found.results = [after(r) for r in found.results]  # all of them before one is written
    found.results = [replace(finish(r), unused=()) for r in found.results]  # that is for a check
    for result in found.results if from_stdin(options) and not dry else ():
        # On an error the input comes back, so that an editor's filter loses nothing.
        streams.write_stdout(result.after)
    _show(found, options, apart=options["diff"] or from_stdin(options))
    return _exit_code(found)


def check(options: Options) -> int:
    _check_usage(options)
    found = _find(options, run if options["no_cache"] else check_files)
    found.results = [r.tried().quiet() for r in found.results]
    _show(found, options)
    for result in found.results if options["output_format"] in _LINES else ():
        for comment in result.unused:
            click.echo(_error(result.path, comment))
    return _exit_code(found)


def _check_usage(options: Options) -> None:
    """What no file can make right is said before a file is looked at.

    Raises:
      click.UsageError: with what is wrong.
    """
    targets, since = options["targets"], options["since"] is not None
    if options["stdin_filename"] is not None and "-" not in targets:
        raise click.UsageError("--stdin-filename names the text on stdin, which is the target -")
    if "-" in targets and not from_stdin(options):
        raise click.UsageError("-: stdin can only be the one and only target")
    if since and from_stdin(options):
        raise click.UsageError("--since asks git about files, and stdin is none")
    for text in targets if since else ():
        with contextlib.suppress(TargetError):  # that comes later, and the others are done
            if parse_target(text).selection.line is not None:
                raise click.UsageError(
                    f"--since asks about the loops that have changed, and {text} names one: "
                    "leave out the option or the line"
                )


@dataclass
class _Found:
    """The results of all targets, in the order given, and whether one could not be had."""

    results: list[FileResult]
    failed: bool = False


def _same(result: FileResult) -> FileResult:
    return result


def _find(options: Options, look: Look = run) -> _Found:
    """Looks at all targets; nothing is written here."""

    def for_folder(folder: Path) -> Config:
        return settings(options, folder)

    if from_stdin(options):
        return _find_in_stdin(options)
    jobs = collect(options["targets"], for_folder, force_exclude=options["force_exclude"])
    for message in (*jobs.errors, *jobs.notes):
        _complain(message)
    if options["since"] is not None:
        from forscan.since import SinceError, narrow

        try:
            jobs.files = list(narrow(jobs.files, options["since"]))
        except SinceError as e:
            _complain(str(e))
            return _Found([], failed=True)
    try:
        results = look(jobs.files, options["jobs"])
    except WorkerDied:
        _complain("a worker process has died; -j 1 needs less memory")
        return _Found([], failed=True)
    results = [
        _informed(result, options, job.config, job.selections)
        for result, job in zip(results, jobs.files, strict=True)
    ]
    return _Found(results, bool(jobs.errors))


def _informed(
    result: FileResult, options: Options, config: Config, selections: tuple[Selection, ...]
) -> FileResult:
    """The result with what the calls show about the values, where there are calls."""
    idle = all(o.status is Status.SKIPPED for o in result.outcomes)
    if idle or not (options.get("calls") or options.get("verify")):
        return result
    from forscan.verified import informed

    return informed(result, options, config, selections)


def _find_in_stdin(options: Options) -> _Found:
    from forscan.api import convert_bytes
    from forscan.unparsable import unparsable

    path = Path(options["stdin_filename"] or "<stdin>")
    try:
        config = with_traced(settings(options, path.parent), path)
    except ConfigError as e:
        _complain(str(e))
        return _Found([], failed=True)
    result = convert_bytes(streams.read_stdin(), path, config)
    if not result.outcomes and result.error is None:
        result = replace(result, error=unparsable(result.before, path))
    return _Found([_informed(result, options, config, ())])


def _written(result: FileResult) -> FileResult:
    if not result.changed:
        return result
    try:
        replace_content(result.path, result.before, result.after)
    except OSError as e:
        error = Refusal("FSC902", f"cannot be written: {reason(e)}", "Check its permissions.")
        return replace(result.taken_back(error), error=error)
    return result


_LINES = ("full", "concise")  # the formats for people


def _document(results: list[FileResult], output: str) -> str | None:
    """All results in one text, for the formats that are read as a whole."""
    if output == "json":
        from forscan.report.machine import as_json

        return as_json(results)
    if output == "sarif":
        from forscan.report.sarif import as_sarif

        return as_sarif(results)
    return None


def _show(found: _Found, options: Options, apart: bool = False) -> None:
    """Shows the results on stdout; on stderr where that is for a text or a diff."""
    results, output = found.results, options["output_format"]
    filtered = apart and from_stdin(options)  # an editor shows all that a filter says
    if filtered and output == "full":
        output = "concise"
    document = _document(results, output)
    if document is not None:
        click.echo(document, err=filtered)
    for result in results if document is None else ():
        if options.get("diff") and result.changed:
            _show_diff(result)
        for line in _lines(result, results, output):
            click.echo(line, err=apart)
    _show_errors(results)
    if not filtered:
        click.echo(summary(results), err=True)


def _show_diff(result: FileResult) -> None:
    from forscan.report.diff import unified

    click.echo(unified(result.path, result.before, result.after))


def _lines(result: FileResult, results: list[FileResult], output: str) -> Iterator[str]:
    """The outcomes of a file, line by line; of many files not those that are skipped."""
    if not (result.outcomes or result.unused or result.error):
        return
    if output == "github":
        from forscan.report.github import commands

        yield from commands(result)
        return
    from forscan.report import text

    for outcome in result.outcomes:
        if outcome.status is Status.SKIPPED and len(results) > 1:
            continue
        yield text.full(outcome, result) if output == "full" else text.concise(outcome)


def _show_errors(results: list[FileResult]) -> None:
    for result in results:
        if result.error is not None:
            click.echo(_error(result.path, result.error), err=True)
        for missing in result.missing:
            _complain(missing)


def _error(path: Path, error: Refusal) -> str:
    from forscan.report import text

    return text.error(path, error)


def _complain(message: str) -> None:
    click.echo(f"forscan: {message}", err=True)


def _exit_code(found: _Found) -> int:
    results = found.results
    if found.failed or any(r.error is not None or r.missing for r in results):
        return 2
    outcomes = [o for r in results for o in r.outcomes]
    unequal = any(o.code.startswith("FSC6") for o in outcomes)
    convertible = any(o.status is Status.CONVERTIBLE for o in outcomes)
    refused = any(o.status is Status.REFUSED and o.named for o in outcomes)
    return 1 if unequal or convertible or refused else 0
