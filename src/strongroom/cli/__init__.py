"""The command line: `strongroom COMMAND ...`.

Each command is one function in a module of its own; the line that registers it here is all that it needs beside. A
command answers through `output`, raises a `StrongroomError` for whatever goes wrong, and `typer.Exit` with
`output.FOUND` where it found something bad.
"""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import strongroom
from strongroom.cli import dispatch, output, runners
from strongroom.cli.conform import conform
from strongroom.cli.inspect import inspect
from strongroom.cli.listing import get, ls
from strongroom.cli.migrate import migrate
from strongroom.cli.mutants import mutants
from strongroom.cli.report import report
from strongroom.cli.scope import scope
from strongroom.cli.validate import CommandBehindDashes, validate
from strongroom.cli.verify import verify
from strongroom.errors import StrongroomError


class _Commands(TyperGroup):
    """The commands, with an end to every fault: one line and an exit code, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except StrongroomError as fault:
            raise typer.Exit(output.fail(fault)) from fault
        except KeyboardInterrupt as stopped:
            raise typer.Exit(output.INTERRUPTED) from stopped
        except BrokenPipeError as gone:
            raise typer.Exit(output.close_broken_pipe()) from gone


app = typer.Typer(
    name="strongroom",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    # A crash shows an ordinary traceback: the decorated one would show the values of variables, keys among them.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        output.say(f"strongroom {strongroom.__version__}")
        raise typer.Exit


@app.callback()
def _strongroom(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Validate a branch, and look after stores of control-plane state: verify, inspect, list, migrate.

    A store is named by a URL, such as sqlite:///strongroom.db (in this folder) or sqlite:////var/lib/strongroom.db.
    Answers go to standard output, remarks and progress to standard error. Exit codes: 0 all is well, 1 something
    bad was found, 2 the call is wrong, 3 the store can't be reached or is held by another, 130 stopped by Ctrl-C.
    """


_VALIDATE = "Validate a branch"
_LOOK = "Look at a store"
_CHANGE = "Change a store"
_OPERATE = "Look after a domain"
_PROVE = "Prove an engine"

app.command(rich_help_panel=_VALIDATE, cls=CommandBehindDashes)(validate)
app.command(rich_help_panel=_VALIDATE)(report)
app.command(rich_help_panel=_LOOK)(inspect)
app.command(rich_help_panel=_LOOK)(verify)
app.command(rich_help_panel=_LOOK)(ls)
app.command(rich_help_panel=_LOOK)(get)
app.command(rich_help_panel=_CHANGE)(migrate)
app.add_typer(scope, rich_help_panel=_CHANGE)
app.add_typer(runners.app, rich_help_panel=_OPERATE)
app.add_typer(dispatch.app, rich_help_panel=_OPERATE)
app.command(rich_help_panel=_PROVE)(conform)
app.command(rich_help_panel=_PROVE)(mutants)


def main() -> None:
    """Run the command that the process was called with, and exit."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(io.UnsupportedOperation):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that can't show a character gets its number instead of a crash.
                stream.reconfigure(errors="backslashreplace")
    app(prog_name="strongroom")
