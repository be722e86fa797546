"""`forscan tune`: measures, shows, and writes the best where that is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from forscan.api import convert_bytes
from forscan.config import Config, ConfigError
from forscan.files import Target, TargetError, parse_target, reason, replace_content
from forscan.options import Options, settings
from forscan.progress import Progress
from forscan.recording import recorded_calls, with_traced
from forscan.report import plot
from forscan.report.tuning import format_tuning
from forscan.suppress import skips_file
from forscan.tune import Tuning, tune_source
from forscan.types import Status
from forscan.verify import VerifyUnavailable

# As in the articles that ask which form of a loop pays for how many calls.
CALLS = (1, 100, 1000, 10000)


def tune_command(options: Options) -> int:
    """Returns the exit code: 1 where nothing was measured."""
    picture = Path(options["plot"]) if options["plot"] else None
    calls = tuple(sorted(set(options["calls"]))) or CALLS
    try:
        if options["write"] and len(calls) != 1:
            raise TargetError("--write needs one --calls N: the best depends on it")
        if picture is not None:
            plot.check(picture)
        path, content, found = _tuned(options, calls)
        if picture is not None and not found.why:
            plot.draw(found, picture)
    except (TargetError, ConfigError, VerifyUnavailable, plot.PlotUnavailable) as e:
        click.echo(f"forscan: {e}", err=True)
        return 2
    if options["output_format"] == "json":
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        click.echo(format_tuning(found))
    best = found.best(calls[-1])
    if best is None:
        return 1
    if options["write"] and best.source != content:
        return _write(path, content, best.source, best.label)
    return 0


def _tuned(options: Options, calls: tuple[int, ...]) -> tuple[Path, bytes, Tuning]:
    target = parse_target(options["target"])
    if target.path.is_dir():
        raise TargetError("tune takes one file, file.py::function or file.py:LINE")
    if target.path.suffix == ".ipynb":
        raise TargetError(
            f"{target.path}: tune takes no notebooks, whose cells run one by one: "
            "move the function to a module and tune that"
        )
    try:
        content = target.path.read_bytes()
    except OSError as e:
        raise TargetError(f"{target.path}: cannot be read: {reason(e)}") from None
    if skips_file(content):
        raise TargetError(f"{target.path}: a comment says to skip the file")
    config = with_traced(settings(options, target.path.parent), target.path)
    config = replace(config, unroll=None)
    call = options["call"] or _recorded(content, target, config)
    with Progress() as progress:
        found = tune_source(
            content,
            target.path,
            call,
            calls,
            config,
            target.selection,
            gradient=options["grad"],
            python=options["python"],
            platform=options["platform"],
            timeout=options["timeout"],
            progress=progress,
        )
    return target.path, content, found


def _recorded(content: bytes, target: Target, config: Config) -> str:
    """The one recorded call of the functions that are meant; the first of several is said."""
    found = convert_bytes(content, target.path, config, target.selection)
    loops = [o.function for o in found.outcomes if o.status is not Status.SKIPPED]
    calls = recorded_calls(target.path, loops)
    if not calls:
        raise TargetError(f"{target.path}: no call is recorded for these loops, so give --call")
    if len(calls) > 1:
        click.echo(f"forscan: of {len(calls)} recorded calls this is {calls[0]}", err=True)
    return calls[0]


def _write(path: Path, before: bytes, after: bytes, label: str) -> int:
    try:
        replace_content(path, before, after)
    except OSError as e:
        click.echo(f"forscan: {path}: cannot be written: {reason(e)}", err=True)
        return 2
    click.echo(f"forscan: {path}: written as {label}", err=True)
    return 0
