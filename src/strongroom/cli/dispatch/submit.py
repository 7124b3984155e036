"""`strongroom dispatch submit`: ask for runs of a job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from strongroom.cli import output
from strongroom.cli.dispatch.place import WorkspaceName, changing
from strongroom.cli.rooms import DEFAULT_ROOM, Room
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.dispatcher.jobs import find_job
from strongroom.domains.dispatch import QUEUE_LIMIT, new_id
from strongroom.errors import InvalidArgument
from strongroom.records import MAX_LIMIT

_MOST_BYTES: Final = 2**20
"""The most bytes of an input as it is written: blanks count here, and not in what is kept of it."""


def submit(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job, by name or id.", show_default=False)],
    input: Annotated[
        str,
        typer.Option("--input", metavar="JSON|@FILE|-", help="One JSON value: itself, a file's, or standard input's."),
    ] = "{}",
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="What tells this request from others: the same again gives the run that is there. By default new.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option("--count", metavar="N", min=1, max=MAX_LIMIT, help="Ask for so many runs, as KEY-1 to KEY-N."),
    ] = 1,
    queue_limit: Annotated[
        int,
        typer.Option(
            "--queue-limit",
            metavar="N",
            min=1,
            max=MAX_LIMIT,
            help="Refuse it where so many runs wait or run already.",
        ),
    ] = QUEUE_LIMIT,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask for runs of a job, and say their ids, one a line.

    Whatever stops this, the same call with the same --key goes on, and asks for nothing twice. Exits with 3 where the
    queue is full: the same call may succeed later.

    Example: strongroom dispatch submit nightly --input '{"commit": "1f3a"}' --key 2024-05-01
    """
    text = _input(input)
    prefix = new_id("request_") if key is None else key
    keys = [prefix] if count == 1 else [f"{prefix}-{number}" for number in range(1, count + 1)]
    with changing(room, workspace, seal_key_file, queue_limit=queue_limit) as found:
        wanted = find_job(found, job)
        for one in keys:
            submitted = found.submit(wanted.id, one, text)
            if as_json:
                output.emit({"run": submitted.run, "job": wanted.id, "key": one, "replayed": submitted.replayed})
            else:
                output.say((submitted.run, "bold"), " (it was there)" if submitted.replayed else "")


def _input(given: str) -> str:
    try:
        if given == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        elif given.startswith("@"):
            with Path(given[1:]).open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
        else:
            return given
        if len(data) > _MOST_BYTES:
            raise InvalidArgument(f"an input has at most {_MOST_BYTES} bytes")
        return data.decode()
    except OSError as fault:
        raise InvalidArgument(f"the input {given[1:]} can't be read: {fault.strerror}") from fault
    except UnicodeDecodeError:
        raise InvalidArgument("the input is no UTF-8") from None
