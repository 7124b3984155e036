"""`strongroom dispatch runs` and `strongroom dispatch show`."""

from __future__ import annotations

from typing import Annotated

import typer

from strongroom.cli import output
from strongroom.cli.dispatch.place import WorkspaceName, looking
from strongroom.cli.dispatch.views import entry_object, entry_parts, run_object, state_part, took
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.dispatcher.jobs import find_job
from strongroom.domains.dispatch import JournalEntry, RunState, Workspace


def runs(
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="Only this job's, by name or id.", show_default=False)
    ] = None,
    state: Annotated[
        RunState | None, typer.Option("--state", help="Only those in this state.", show_default=False)
    ] = None,
    q: Annotated[
        str,
        typer.Option("--q", metavar="TEXT", help="Only those with this text in their id, job's id or job's name."),
    ] = "",
    after: Annotated[int, typer.Option("--after", metavar="N", help="Go on behind the run of this number.")] = 0,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="List at most so many.")] = 50,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first. Nothing in the room is changed.

    Where there is more, the last line says how to go on.

    Example: strongroom dispatch runs --state failed
    """
    with looking(room, workspace, seal_key_file) as found:
        job_id = "" if job is None else find_job(found, job).id
        page = found.runs.list(job=job_id, state=state, q=q, after=after, limit=limit)
    for run in page.items:
        if as_json:
            output.emit(run_object(run))
        else:
            output.say(
                (run.id, "bold"),
                "  ",
                state_part(run.state),
                f"  {output.when(run.created_at_ms)}  {took(run):>8}",
                f"  {run.problem or ''}",
            )
    if page.next:
        output.remark(f"there is more: go on with --after={page.next}")
    elif not page.items and not as_json:
        output.remark("no runs")


def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", show_default=False)],
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Show one run: what was asked, where it stands, its record line, and what the journal tells of it.

    Nothing in the room is changed. Exits with 1 if there is no such run.

    Example: strongroom dispatch show run_5f0c6d2e9b1a4f7788c3d2e1f0a9b8c7
    """
    with looking(room, workspace, seal_key_file) as found:
        run = found.runs.get(run_id)
        entries = _entries(found, run.job, run.id, run.number)
    if as_json:
        output.emit(run_object(run) | {"journal": [entry_object(entry) for entry in entries]})
        return
    output.say_rows([(name, output.shown(value)) for name, value in run_object(run).items()], indent="")
    output.say("journal")
    for entry in entries:
        output.say(*entry_parts(entry))


def _entries(workspace: Workspace, job: str, run: str, number: int) -> list[JournalEntry]:
    """The journal's entries about a run: the first is at its number."""
    found: list[JournalEntry] = []
    after, more = number - 1, True
    while more and not (found and RunState(found[-1].to_state).is_terminal):
        page = workspace.journal.page(after=after, job=job, limit=1000)
        found += [entry for entry in page.items if entry.run == run]
        after, more = page.next, page.more
    return found
