"""`strongroom dispatch`: jobs, their runs, the dispatcher that runs them, and the proof of what came of them.

Each group of commands has a module of its own; what they do is the domain's and the dispatcher's.
"""

from __future__ import annotations

import typer

from strongroom.cli.dispatch import chain, job, journal, run, runs, submit

app = typer.Typer(
    name="dispatch",
    help="Queue runs of jobs, run them, and prove what came of them.\n\nExample: strongroom dispatch run --jobs 4",
    no_args_is_help=True,
)
app.add_typer(job.app)
app.command()(submit.submit)
app.command()(run.run)
app.command()(runs.runs)
app.command()(runs.show)
app.command()(journal.journal)
app.command()(journal.audit)
app.add_typer(chain.app)
