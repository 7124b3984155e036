"""`strongroom runners`: a fleet's hosts, the policies by which they scale, and its attempts.

Each group of commands has a module of its own; what they decide stands beside them, in functions that ask nothing of
the command line.
"""

from __future__ import annotations

import typer

from strongroom.cli.runners import attempts, host, repo, status

app = typer.Typer(
    name="runners",
    help="Look after a fleet of CI runners: its hosts, scale policies and attempts.\n\n"
    "Example: strongroom runners status --watch",
    no_args_is_help=True,
)
app.command()(status.status)
app.command()(attempts.attempts)
app.add_typer(host.app)
app.add_typer(repo.app)
