"""`strongroom dispatch run`: the dispatcher."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

import strongroom
from strongroom.cli import output
from strongroom.cli.dispatch.place import WorkspaceName, changing
from strongroom.cli.dispatch.views import state_part
from strongroom.cli.rooms import DEFAULT_ROOM, Room, default_folder
from strongroom.cli.signals import Signals
from strongroom.cli.stores import AsJson, SealKeyFile
from strongroom.dispatcher.attempts import Attempts
from strongroom.dispatcher.crew import (
    MOST_JOBS,
    Began,
    Crew,
    Ended,
    Event,
    Left,
    Lost,
    Orders,
    Started,
    Stopping,
    Troubled,
)
from strongroom.dispatcher.performance import Terms
from strongroom.domains.dispatch import EndState, RunState
from strongroom.errors import InvalidArgument


def run(
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="J", min=1, max=MOST_JOBS, help="Run so many commands at once.")
    ] = 1,
    lease: Annotated[
        float | None,
        typer.Option(
            "--lease",
            metavar="S",
            min=0.001,
            help="Share the workspace: a claim holds for so many seconds, and is renewed while the command runs. "
            "By default this dispatcher has the workspace to itself.",
            show_default=False,
        ),
    ] = None,
    drain: Annotated[bool, typer.Option("--drain", help="End when no run is left.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="S", help="End a command after so many seconds; by default never."),
    ] = None,
    attempts_dir: Annotated[
        Path | None,
        typer.Option(
            "--attempts-dir",
            metavar="DIR",
            help="Where attempts have their folders; by default beside a SQLite room, as FILE.attempts.",
            show_default=False,
        ),
    ] = None,
    room: Room = DEFAULT_ROOM,
    workspace: WorkspaceName = None,
    seal_key_file: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Run what is queued: claim runs, run each one's command in a folder of its own, and keep what came of it.

    COMMAND has the run's input as its standard input, and finds STRONGROOM_RUN, STRONGROOM_ATTEMPT, STRONGROOM_TOKEN,
    STRONGROOM_JOB, STRONGROOM_WORKSPACE, STRONGROOM_INPUT and STRONGROOM_RECORD in its environment. Exit code 0 is a
    completed run, any other a failed one.

    Without --lease a run that was left running is interrupted when the next dispatcher starts. With it any number of
    dispatchers share the workspace, and the runs of one that died are run again by others. Ctrl-C or SIGTERM: nothing
    more is claimed, and the commands that run are let end; once more: they are ended. Exits with 1 if a run that it
    ended did not complete.

    Example: strongroom dispatch run --jobs 4 --lease 30
    """
    if timeout is not None and not 0 < timeout < math.inf:
        raise InvalidArgument("the timeout must be a positive number of seconds")
    if lease is not None and not lease < 1e9:
        raise InvalidArgument("the lease must be a number of seconds")
    folder = default_folder(room, "attempts") if attempts_dir is None else attempts_dir
    holder = f"{platform.node()[:200]}:{os.getpid()}"
    states: Counter[str] = Counter()

    def tell(event: Event) -> None:
        if isinstance(event, Ended):
            states[event.outcome.state.value] += 1
        _tell(event, as_json)

    with changing(room, workspace, seal_key_file) as found, Signals() as signals:
        dispatcher = found.dispatcher(holder, lease_ms=None if lease is None else max(1, round(lease * 1000)))
        crew = Crew(
            found,
            dispatcher,
            Attempts(folder, found.name),
            Terms(found.name, holder, timeout),
            Orders(jobs, drain, signals.received, signals.repeated, f"strongroom {strongroom.__version__}"),
            tell,
        )
        crew.run()
    if not as_json:
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"
        output.say((found.name, "bold"), f": {_runs(states.total())} ended: {counts}")
    if signals.number:
        raise typer.Exit(128 + signals.number)
    if states.total() != states[EndState.COMPLETED.value]:
        raise typer.Exit(output.FOUND)


def _tell(event: Event, as_json: bool) -> None:
    match event:
        case Started(restarted):
            if restarted.interrupted:
                output.remark(f"interrupted {_runs(len(restarted.interrupted))} that were left running")
        case Began():
            pass
        case Ended(claim, outcome):
            if as_json:
                output.emit(
                    {
                        "run": outcome.run,
                        "job": outcome.job,
                        "state": outcome.state.value,
                        "attempt": outcome.attempt,
                        "token": outcome.token,
                        "problem": outcome.problem,
                        "entry": outcome.entry,
                    }
                )
            else:
                again = f"  attempt {outcome.attempt}" if outcome.attempt > 1 else ""
                output.say(
                    (claim.run, "bold"), "  ", state_part(RunState(outcome.state)), again, f"  {outcome.problem or ''}"
                )
            # Whoever follows the answer through a pipe is to see it now.
            sys.stdout.flush()
        case Lost(claim):
            output.remark(("lost: ", "yellow"), f"{claim.run} is another dispatcher's by now")
        case Left(claim):
            output.remark(f"left {claim.run} to be taken over when its lease is over")
        case Troubled(fault):
            output.remark(("waiting: ", "yellow"), str(fault))
        case Stopping(running):
            if running:
                output.remark(f"stopping: {running} still at work; once more ends what is at work")


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
