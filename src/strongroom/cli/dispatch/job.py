"""`strongroom dispatch job`: what is run, and under which name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from strongroom.cli import output
from strongroom.cli.dispatch.place import WorkspaceName, changing, looking
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.cli.validate import CommandBehindDashes
from strongroom.dispatcher.jobs import NoCommand, command_of, create_job
from strongroom.domains.dispatch import Job, Workspace
from strongroom.errors import InvalidArgument, cut

app = typer.Typer(
    name="job",
    help="Make jobs, and list them.\n\nExample: strongroom dispatch job create nightly -- make test",
    no_args_is_help=True,
)

_SHOWN: int = 100
"""How many characters of a command a list shows."""


class _Create(CommandBehindDashes):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "NAME", "-- COMMAND..."]


@app.command(cls=_Create)
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The job's name.", show_default=False)],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="What each run of it runs.", show_default=False),
    ] = None,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a job: a name under which COMMAND is run. The room is made if it is not there.

    A job never changes. The same name and command again give the job that is there; another command takes another
    name. The program is found by PATH or by its absolute path, on the machine of the dispatcher.

    Example: strongroom dispatch job create nightly -- make -C /srv/app test
    """
    if not command or not ctx.meta["dashes"]:
        raise InvalidArgument("say what is run behind --, as in: strongroom dispatch job create NAME -- make test")
    with changing(room, workspace, seal_key_file, create=True) as found:
        made = create_job(found, name, command)
        if as_json:
            output.emit(_object(found, made.job) | {"replayed": made.replayed})
        else:
            output.say((made.job.id, "bold"), f"  {output.shown(name)}", " (it was there)" if made.replayed else "")


@app.command("list")
def list_(
    q: Annotated[str, typer.Option("--q", metavar="TEXT", help="Only those with this text in their name or id.")] = "",
    after: Annotated[int, typer.Option("--after", metavar="N", help="Go on behind the job of this number.")] = 0,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="List at most so many.")] = 50,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first, with their commands. Nothing in the room is changed.

    Example: strongroom dispatch job list --q nightly
    """
    with looking(room, workspace, seal_key_file) as found:
        page = found.jobs.list(after=after, limit=limit, q=q)
        for job in page.items:
            fields = _object(found, job)
            if as_json:
                output.emit(fields)
                continue
            words = fields["command"]
            shown = "no command" if words is None else cut(" ".join(output.shown(word) for word in words), _SHOWN)
            output.say((job.id, "bold"), f"  {output.shown(job.name)}  ", (shown, "dim"))
    if page.next:
        output.remark(f"there is more: go on with --after={page.next}")
    elif not page.items and not as_json:
        output.remark("no jobs")


def _object(workspace: Workspace, job: Job) -> dict[str, Any]:
    try:
        command: list[str] | None = list(command_of(workspace.releases.get(job.release)))
    except NoCommand:
        command = None
    return {
        "id": job.id,
        "name": job.name,
        "number": job.number,
        "release": job.release,
        "owner": job.owner,
        "created_at_ms": job.created_at_ms,
        "command": command,
    }
