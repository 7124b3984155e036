"""`strongroom dispatch journal` and `strongroom dispatch audit`."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from strongroom.cli import output
from strongroom.cli.dispatch.place import WorkspaceName, looking
from strongroom.cli.dispatch.views import entry_object, entry_parts
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.dispatcher import audit as auditing
from strongroom.dispatcher.holds import TROUBLE
from strongroom.dispatcher.jobs import find_job
from strongroom.errors import CommitUnknown

_PAGE = 500


def journal(
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Begin behind this place.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="List at most so many; by default all.", show_default=False),
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="Only this job's, by name or id.", show_default=False)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with every new entry, until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="S", min=0.05, help="With --follow: look every so many seconds.")
    ] = 0.5,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List the journal: an entry for everything that changed, oldest first, at places without a gap.

    Nothing in the room is changed. With --follow a store that can't be reached for a while is waited for.

    Example: strongroom dispatch journal --after 120 --follow
    """
    left = sys.maxsize if limit is None else limit
    with looking(room, workspace, seal_key_file) as found:
        job_id = "" if job is None else find_job(found, job).id
        place, reached, more = after, True, True
        while left and (more or follow):
            if not more:
                time.sleep(interval)
            try:
                page = found.journal.page(after=place, job=job_id, limit=min(_PAGE, left))
            except TROUBLE as fault:
                if not follow or isinstance(fault, CommitUnknown):
                    raise
                if reached:
                    output.remark(("waiting: ", "yellow"), str(fault))
                reached, more = False, False
                continue
            for entry in page.items:
                if as_json:
                    output.emit(entry_object(entry))
                else:
                    output.say(*entry_parts(entry))
            if follow and page.items:
                sys.stdout.flush()
            place, more, reached = page.next, page.more, True
            left -= len(page.items)
    if not left and more:
        output.remark(f"there is more: go on with --after={place}")


def audit(
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Hold every run's state, attempt, token and place in the run chain to what the journal tells of it.

    Nothing in the room is changed, and others may be at work. Exits with 1 if a run is not where the journal has it,
    or if the journal has a gap.

    Example: strongroom dispatch audit
    """
    with looking(room, workspace, seal_key_file) as found:
        report = auditing.audit(found)
    if as_json:
        output.emit(
            {
                "valid": report.valid,
                "entries": report.entries,
                "runs": report.runs,
                "findings": list(report.findings),
            }
        )
    else:
        for finding in report.findings:
            output.say((finding, "red"))
        found_bad = f"{len(report.findings)} bad" if report.findings else "all explained"
        output.say(f"{report.runs} runs held to {report.entries} entries of the journal: {found_bad}")
    if not report.valid:
        raise typer.Exit(output.FOUND)
