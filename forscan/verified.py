"""Conversion and verification together: what is written was seen to be equal."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forscan.api import convert_bytes
from forscan.config import Config, ConfigError
from forscan.files import TargetError, parse_target, reason
from forscan.model import Refusal
from forscan.options import Options, from_stdin, settings
from forscan.progress import Progress
from forscan.recording import recorded_calls, with_traced
from forscan.types import FileResult, Outcome, Selection

if TYPE_CHECKING:
    from forscan.verify import Verification


_NOTEBOOK = Refusal(
    "FSC602",
    "not verified: the cells of a notebook run one by one",
    "Move the function to a module, or convert without verifying.",
)
_NO_CALL = Refusal(
    "FSC602",
    "not verified: no call for this file is given, configured or recorded",
    "Give --call, name calls under [tool.forscan.calls], or record a run.",
)


_NOT_RUN = "not verified: no call ran this loop"
NO_CALLS = "give --call, name calls under [tool.forscan.calls], or record a run of the program"


def verified(options: Options) -> Callable[[FileResult], FileResult]:
    """A step behind the conversion that takes back what is not equal.

    The verdict of each call is shown on stdout, but on stderr where that holds something
    else: the new text, a diff, json.
    """
    from forscan.report.verification import format_verification
    from forscan.verify import verify_sources

    taken = options["diff"] or from_stdin(options) or options["output_format"] in ("json", "sarif")

    def step(result: FileResult) -> FileResult:
        if not result.changed:
            return result
        calls = calls_for(options, result.path, result.outcomes)
        if not calls or result.texts:
            return result.taken_back(_NOTEBOOK if result.texts else _NO_CALL)
        with _needing_jax(), Progress() as progress:
            found = verify_sources(
                result.before,
                result.after,
                result.path,
                calls,
                python=options["python"],
                loops=_places(result.converted),
                platform=options["platform"],
                timeout=options["timeout"],
                progress=progress,
            )
        for verification in found:
            click.echo(format_verification(verification), err=taken)
        bad = [v for v in found if (v.status != "equal" and not v.says_nothing) or v.raises]
        if bad:
            return _taken_back(result, bad[0])
        return result.noted({n for v in found for n in v.reached or ()}, _NOT_RUN)

    return step


def _places(outcomes: Iterable[Outcome]) -> list[tuple[int, int]]:
    return [(o.span.line, o.span.column) for o in outcomes]


@contextlib.contextmanager
def _needing_jax() -> Iterator[None]:
    """Ends the command where there is no interpreter with jax."""
    from forscan.verify import VerifyUnavailable

    try:
        yield
    except VerifyUnavailable as e:
        click.echo(f"forscan: {e}", err=True)
        raise click.exceptions.Exit(2) from None


def calls_for(options: Options, path: Path, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """The calls that verify a file: of the command line, else configured, else recorded.

    Args:
      outcomes: of the loops that it is about; calls of their functions may be recorded.

    Raises:
      ConfigError: the configuration cannot be used.
    """
    said = tuple(options["calls"]) or settings(options, path.parent).calls_of(path)
    return said or recorded_calls(path, [o.function for o in outcomes])


def informed(
    result: FileResult, options: Options, config: Config, selections: tuple[Selection, ...]
) -> FileResult:
    """The file converted again with what its calls show about its values."""
    from forscan.verify import observe_source

    calls = calls_for(options, result.path, result.outcomes)
    where = {name: options[name] for name in ("python", "platform", "timeout")}
    if not calls or result.texts:
        return result
    with _needing_jax():
        facts, failed = observe_source(result.before, result.path, calls, **where)
    for message in failed:
        click.echo(f"forscan: nothing was learnt from {message}", err=True)
    if not facts:
        return result
    return convert_bytes(result.before, result.path, config, *selections, facts=facts)


def _taken_back(result: FileResult, found: Verification) -> FileResult:
    code = "FSC601" if found.status == "different" else "FSC602"
    what = "the two versions differ" if found.status == "different" else "not verified"
    refusal = Refusal(
        code,
        f"{what} for {found.call}: {found.reason}",
        "The file is left as it was.",
    )
    return result.taken_back(refusal)


def verify_command(options: Options) -> int:
    """`forscan verify`: shows verdicts and costs, writes nothing."""
    from forscan.report.diff import unified
    from forscan.verify import verify_sources

    if options["markdown"] and options["output_format"] != "full":
        raise click.UsageError("--markdown is a format of its own: leave out --output-format")
    try:
        path, before, after, outcomes = _versions(options)
        calls = calls_for(options, path, outcomes)
    except (TargetError, ConfigError) as e:
        click.echo(f"forscan: {e}", err=True)
        return 2
    if after is None:
        return 1
    if not calls:
        click.echo(f"forscan: {NO_CALLS}", err=True)
        return 2
    converted = len(options["targets"]) == 1
    with _needing_jax(), Progress() as progress:
        found = verify_sources(
            before,
            after,
            path,
            calls,
            loops=_places(outcomes) if converted else (),  # of two files nobody says which
            python=options["python"],
            platform=options["platform"],
            timeout=options["timeout"],
            progress=progress,
        )
    _show_verdicts(found, options, unified(path, before, after) if converted else None)
    reached = {n for v in found for n in v.reached or ()}
    for outcome in outcomes if reached else ():
        if outcome.span.line not in reached:
            click.echo(f"forscan: {outcome.place}: no call ran this loop", err=True)
    return 0 if all(v.status == "equal" for v in found) else 1


def _show_verdicts(found: list[Verification], options: Options, diff: str | None) -> None:
    """Shows the verdicts in the format that is asked for; for people below the diff."""
    from forscan.report.verification import format_markdown, format_verification, verdict

    if options["output_format"] == "json":
        click.echo(json.dumps([v.as_json() for v in found], indent=2))
    elif options["output_format"] == "concise":
        click.echo("\n".join(map(verdict, found)))
    elif options["markdown"]:
        click.echo("\n\n".join(map(format_markdown, found)))
    else:
        for text in (*([diff] if diff is not None else []), *map(format_verification, found)):
            click.echo(text)


def _versions(options: Options) -> tuple[Path, bytes, bytes | None, tuple[Outcome, ...]]:
    """The file, the bytes of both versions, None where nothing was converted, and the loops."""
    from forscan.report.text import concise, error

    targets = [parse_target(t) for t in options["targets"]]
    if len(targets) > 2 or any(t.path.is_dir() for t in targets):
        raise TargetError("verify takes one target, or two files")
    if any(t.path.suffix == ".ipynb" for t in targets):
        raise TargetError(
            "verify takes no notebooks, whose cells run one by one: "
            "move the function to a module and verify that"
        )
    try:
        contents = [t.path.read_bytes() for t in targets]
    except OSError as e:
        raise TargetError(f"{e.filename}: cannot be read: {reason(e)}") from None
    if len(targets) == 2:
        target = targets[0]
        everything = replace(settings(options, target.path.parent), everything=True)
        found = convert_bytes(contents[0], target.path, everything)
        return target.path, contents[0], contents[1], found.outcomes
    target = targets[0]
    config = with_traced(settings(options, target.path.parent), target.path)
    result = convert_bytes(contents[0], target.path, config, target.selection)
    if result.error is not None:
        raise TargetError(error(target.path, result.error))
    if result.missing:
        raise TargetError("; ".join(result.missing))
    if not result.changed:
        for outcome in result.outcomes:
            click.echo(concise(outcome), err=True)
        said = "nothing was converted, so there is nothing to verify"
        click.echo(f"forscan: {said}; give two files to compare two versions", err=True)
        return target.path, contents[0], None, ()
    return target.path, result.before, result.after, result.converted
