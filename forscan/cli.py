"""The command line: options in, exit code out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import click

from forscan import __version__, streams
from forscan.memory import collect_rarely

OUTPUT = click.Choice(["full", "concise", "json", "github", "sarif"])
VERDICTS = click.Choice(["full", "concise", "json"])
TABLES = click.Choice(["full", "json"])
COLOR = click.Choice(["auto", "always", "never"])


def _color(choice: str) -> bool | None:
    """Whether to colour: the option, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    import os

    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return None


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Turns what goes wrong around the program into one line and exit code 2."""
    try:
        yield
        return
    except BrokenPipeError:
        pass  # whoever reads has had enough
    except OSError as e:
        _complain(f"{e.filename}: {e.strerror}" if e.filename else e.strerror or str(e))
    except KeyboardInterrupt:
        _complain("interrupted")
    streams.abandon()
    raise click.exceptions.Exit(2)


def _complain(message: str) -> None:
    with contextlib.suppress(OSError):  # stderr may be what does not work
        click.echo(f"forscan: {message}", err=True)


class _Main(click.Group):
    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _one_line():  # --help is printed here
            streams.prepare()
            collect_rarely()
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line():
            return super().invoke(ctx)


@click.group(
    cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, prog_name="forscan")
@click.option(
    "--color",
    type=COLOR,
    default="auto",
    help="Whether the output is coloured; auto: on a terminal.",
)
@click.pass_context
def main(ctx: click.Context, color: str) -> None:
    """Rewrites loops in JAX code between `for`, lax.scan and lax.fori_loop.

    Exit codes: 0 clean or done; 1 something was found (check, --check, --diff), a loop
    named by its line was refused, or a verification did not end in equal; 2 usage,
    configuration, or a file that could not be read, parsed or written.
    """
    ctx.color = _color(color)


def _common(command: Any) -> Any:
    options = [
        click.option(
            "--output-format",
            type=OUTPUT,
            default="full",
            help="The format in which outcomes are shown.",
        ),
        click.option(
            "--stdin-filename",
            show_default="<stdin>",
            help="The name of the file that stdin is the text of.",
        ),
        click.option(
            "--all", "everything", is_flag=True, help="Treat all functions as traced by JAX."
        ),
        click.option(
            "--since",
            metavar="REV",
            help="Look only at loops with lines that git says have changed since REV.",
        ),
        click.option(
            "--force-exclude",
            is_flag=True,
            help="Treat files that are named like those of a folder: exclude them, too.",
        ),
        click.option(
            "-j",
            "--jobs",
            type=click.IntRange(1),
            default=None,
            show_default="as many as processors, up to 8",
            help="The number of processes that look at many files.",
        ),
        click.argument("targets", nargs=-1, required=True, metavar="TARGET..."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _unroll(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    if value.lower() == "true":
        return "True"
    if value.isdecimal() and len(value) < 10 and int(value) > 0:
        return str(int(value))
    raise click.BadParameter("must be a positive number or `true`")


_TO = click.Choice(["scan", "fori", "for"])
_TARGET = click.option(
    "--to",
    type=_TO,
    default=None,
    show_default="as configured, else scan",
    help="The form that loops are converted to.",
)
_PLATFORM = click.option(
    "--platform",
    metavar="NAME",
    show_default="as JAX chooses",
    help="The platform that JAX runs on: cpu, gpu or tpu.",
)
_PYTHON = click.option(
    "--python",
    metavar="PATH",
    default=sys.executable,
    show_default="the one that runs forscan",
    help="The interpreter that runs your code.",
)
_UNROLL = click.option(
    "--unroll", callback=_unroll, metavar="N|true", help="The unroll= that scans are written with."
)


@main.command()
@_TARGET
@_UNROLL
@click.option(
    "--body",
    type=click.Choice(["def", "lambda"]),
    show_default="def, and bodies that exist stay",
    help="The kind of function that the body of a scan becomes.",
)
@click.option(
    "--params",
    type=click.Choice(["closure", "carry"]),
    show_default="closure, and scans that exist stay",
    help="The way in which the body gets values that do not change.",
)
@click.option(
    "--call",
    "calls",
    multiple=True,
    metavar="EXPR",
    help="A call to verify with, such as 'f(jnp.zeros(3), 5)'; only what is equal is written.",
)
@click.option(
    "--verify", is_flag=True, help="Verify with the calls that are configured or recorded."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    help="The number of seconds that the verification of a file may take.",
)
@_PLATFORM
@_PYTHON
@click.option("--diff", is_flag=True, help="Show what would change; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if something would change.")
@_common
@click.pass_context
def convert(ctx: click.Context, /, **options: Any) -> None:
    """Rewrites the loops of the targets in place.

    TARGET is file.py, a directory, file.py::function, file.py:LINE, or - for stdin. A
    place may be given as it is reported: file.py:LINE:COLUMN, 'file.ipynb:cell 3:LINE'.
    """
    from forscan.commands import convert as run

    ctx.exit(run(options))


@main.command()
@click.option(
    "--to",
    type=_TO,
    default=None,
    show_default="as configured, else scan",
    help="The form that is asked about.",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep earlier answers.")
@_common
@click.pass_context
def check(ctx: click.Context, /, **options: Any) -> None:
    """Says which loops could be converted, and why the others could not."""
    from forscan.commands import check as run

    ctx.exit(run(options))


@main.command()
@_TARGET
@_UNROLL
@click.option(
    "--call",
    "calls",
    multiple=True,
    metavar="EXPR",
    show_default="those that are configured, else recorded",
    help="A call to compare, such as 'f(jnp.zeros(3), 5)'; may be repeated.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    help="The number of seconds that all calls together may take.",
)
@_PLATFORM
@_PYTHON
@click.option(
    "--markdown", is_flag=True, help="Show verdicts and tables as Markdown, for a pull request."
)
@click.option(
    "--output-format", type=VERDICTS, default="full", help="The format in which results are shown."
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET | BEFORE.py AFTER.py")
@click.pass_context
def verify(ctx: click.Context, /, **options: Any) -> None:
    """Runs two versions and shows whether they are equal and what each costs.

    With one target: the file against its conversion, which is not written. With two
    files: the first against the second.
    """
    from forscan.verified import verify_command as run

    ctx.exit(run(options))


@main.command()
@click.option(
    "--call",
    metavar="EXPR",
    show_default="a recorded one",
    help="The call to measure, such as 'f(jnp.ones(3))'.",
)
@click.option(
    "--calls",
    multiple=True,
    type=click.IntRange(1),
    metavar="N",
    show_default="1, 100, 1000 and 10000",
    help="The number of times that the call is made; may be repeated.",
)
@click.option("--grad", is_flag=True, help="Measure value and gradient together.")
@click.option(
    "--plot",
    metavar="FILE",
    help="The picture to draw of what compiling and running cost (PNG or SVG).",
)
@click.option("--write", is_flag=True, help="Give the file the best form, for one --calls N.")
@click.option("--all", "everything", is_flag=True, help="Treat all functions as traced by JAX.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600.0,
    help="The number of seconds that all of it may take.",
)
@_PLATFORM
@_PYTHON
@click.option(
    "--output-format", type=TABLES, default="full", help="The format in which results are shown."
)
@click.argument("target", metavar="TARGET")
@click.pass_context
def tune(ctx: click.Context, /, **options: Any) -> None:
    """Measures `for`, lax.scan with every unrolling and lax.fori_loop for one call.

    TARGET is file.py, file.py::function or file.py:LINE. What compiling would take too
    long for the time limit is extrapolated and left out.
    """
    from forscan.tuned import tune_command as run

    ctx.exit(run(options))


@main.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.pass_context
def record(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Runs a program as it is, and notes what its functions with loops were called with.

    `verify`, `tune` and `convert --verify` then use these calls, and `check` and `convert`
    know which functions ran under a trace. The recording is the folder `.forscan` of the
    project, and can be deleted. The exit code is that of the program.
    """
    from forscan.record import record_command as run

    ctx.exit(run(command))


@main.command()
@click.argument("code")
@click.pass_context
def explain(ctx: click.Context, code: str) -> None:
    """Says what a code means, and how to revise."""
    from forscan.diagnostics.explain import explain as text

    shown = text(code)
    if shown is None:
        raise click.UsageError(f"there is no code {code!r}; codes look like FSC301")
    click.echo(shown)
    ctx.exit(0)


@main.command()
@click.argument("path", default=".", type=click.Path(exists=True))
@click.pass_context
def config(ctx: click.Context, path: str) -> None:
    """Shows the settings for a file or a folder, and where they come from."""
    from pathlib import Path

    from forscan.config import ConfigError
    from forscan.report.settings import settings_text

    try:
        click.echo(settings_text(Path(path)))
    except ConfigError as e:
        _complain(str(e))
        ctx.exit(2)


@main.command()
@click.pass_context
def lsp(ctx: click.Context) -> None:
    """Serves editors over stdin and stdout, by the Language Server Protocol."""
    from forscan.lsp import INSTALL

    try:
        from forscan.lsp.serve import serve
    except ModuleNotFoundError as e:
        _complain(f"the language server needs {e.name}: {INSTALL}")
        ctx.exit(2)
    serve()
