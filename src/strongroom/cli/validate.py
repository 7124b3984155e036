"""`strongroom validate`."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from strongroom.cli import output
from strongroom.cli.commits import commit_object, duration, outcome, short, style
from strongroom.cli.rooms import DEFAULT_ROOM, Room, check_queue, default_logs, opening
from strongroom.cli.signals import Signals
from strongroom.cli.stores import SealKeyFile, open_store
from strongroom.cli.validation_progress import Display
from strongroom.domains.stovepipe import RequestState
from strongroom.errors import InvalidArgument
from strongroom.validator.crew import Elsewhere, Ended, Event, Planned
from strongroom.validator.history import commit_of
from strongroom.validator.pipeline import Validated
from strongroom.validator.projects import parse_rule
from strongroom.validator.recipe import Recipe
from strongroom.validator.repository import Commit, Repository
from strongroom.validator.trunk import MAX_COMMITS, Outcome, Trunk, check_jobs


class CommandBehindDashes(TyperCommand):
    """A command whose last argument is whatever stands behind ``--``, and nothing that stands before it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["dashes"] = "--" in args
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "REPO", "-- COMMAND..."]


def validate(
    ctx: typer.Context,
    repository: Annotated[
        Path, typer.Argument(metavar="REPO", help="A folder of the git repository.", show_default=False)
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND...", help="What to run in a clean worktree of each commit.", show_default=False
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="NAME", help="The queue to record in; by default REPO's name/BRANCH."),
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="B", help="The branch; by default the one checked out in REPO.")
    ] = None,
    last: Annotated[int, typer.Option("--last", metavar="N", help="Look at the N newest commits of the branch.")] = 10,
    jobs: Annotated[int, typer.Option("--jobs", metavar="J", help="Validate so many commits at once.")] = 1,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="S", help="End COMMAND after so many seconds; by default never."),
    ] = None,
    junit: Annotated[
        str | None,
        typer.Option(
            "--junit", metavar="PATH", help="The JUnit XML that COMMAND leaves: a path or glob in the worktree."
        ),
    ] = None,
    project_from: Annotated[
        str | None,
        typer.Option(
            "--project-from",
            metavar="RULE",
            help="A regular expression whose group is a test's project, as '^services/([^/]+)/'; "
            "by default its top-level folder.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Build every commit in full, not incrementally since the last green one.")
    ] = False,
    room: Room = DEFAULT_ROOM,
    logs: Annotated[
        Path | None,
        typer.Option(
            "--logs",
            metavar="DIR",
            help="Where the output of each run is kept; by default beside a SQLite room, as FILE.logs.",
            show_default=False,
        ),
    ] = None,
    seal_key_file: SealKeyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON object at the end.")] = False,
) -> None:
    """Validate the commits of a branch, oldest first: run COMMAND for each one that is not on record yet.

    Exit code 0 of COMMAND is a green commit, any other a broken one. What came of each is kept in the room: its
    state and history, the last green commit, and from test reports how broken each project is and which issues are
    open. COMMAND finds STRONGROOM_COMMIT, STRONGROOM_BASE, STRONGROOM_STRATEGY, STRONGROOM_QUEUE and
    STRONGROOM_REQUEST in its environment.

    Whatever stops this, the same call goes on where it stood, and several at once share the work. Exits with 0 if
    every commit that came on record now is green, with 1 if one is not.

    Example: strongroom validate . --last 5 -- make test
    """
    if not command or not ctx.meta["dashes"]:
        raise InvalidArgument("say what to run for each commit behind --, as in: strongroom validate . -- make test")
    check_jobs(jobs)
    if not 1 <= last <= MAX_COMMITS:
        raise InvalidArgument(f"the number of commits must be 1 to {MAX_COMMITS}, not {last}")
    recipe = Recipe(
        command=tuple(command),
        logs=(default_logs(room) if logs is None else logs).absolute(),
        timeout_s=timeout,
        junit=_path("--junit", junit),
        rule=None if project_from is None else parse_rule(project_from),
        full=full,
    )
    source = Repository.open(repository, branch)
    name = source.default_queue if queue is None else queue
    check_queue(name)
    commits = source.first_parent(source.branch, last)
    recipe.check(source, commits)
    with opening(room):
        engine = open_store(room, seal_key_file, create=True)
    with engine, Signals() as signals:
        with opening(room):
            trunk = Trunk(engine, source, name, recipe, jobs=jobs)
        if queue is None:
            trunk.refuse_foreign()
        with Display(name, as_json=as_json) as display:
            came_to = trunk.validate(commits, lambda event: _tell(event, display, as_json), stop=signals.received)
        _answer(trunk, recipe, name, source.branch, commits, came_to, as_json)
    if came_to.interrupted:
        raise typer.Exit(128 + (signals.number or signal.SIGINT))
    if any(one.request.state is not RequestState.SUCCEEDED for one in (*came_to.validated, *came_to.elsewhere)):
        raise typer.Exit(output.FOUND)


def _path(option: str, given: str | None) -> str:
    if given == "":
        raise InvalidArgument(f"{option} is a path in the worktree, and can't be empty")
    return given or ""


def _tell(event: Event, display: Display, as_json: bool) -> None:
    display.show(event)
    match event:
        case Planned(pending, skipped) if pending and skipped and not as_json:
            output.remark((f"{_commits(skipped)} on record already, {pending} to validate", "dim"))
        case Ended(_, Validated() as validated):
            if not as_json:
                _say_line(validated)
            _warn(validated)
        case Elsewhere(validated):
            if not as_json:
                _say_line(validated, " (by another process)")


def _say_line(validated: Validated, beside: str = "") -> None:
    state, run = validated.request.state, validated.run
    told = outcome(state, validated.reason, run)
    output.say(
        (short(validated.request.uri), "bold"),
        "  ",
        (told.ljust(16), style(state)),
        f"  {duration(run):>8}  {validated.commit.subject}",
        (beside, "dim"),
    )


def _warn(validated: Validated) -> None:
    run = validated.run
    if run is None:
        return
    name = short(run.uri)
    if run.report_fault:
        output.remark(("warning: ", "yellow"), f"{name}: the test report says nothing: {run.report_fault}")
    elif run.exit_code == 0 and run.failures:
        output.remark(("warning: ", "yellow"), f"{name}: the command succeeded, but its report has failed tests")
    if validated.unplaced:
        tests = "its one test" if validated.unplaced == 1 else f"its {validated.unplaced} tests"
        output.remark(("warning: ", "yellow"), f"{name}: the rule of --project-from matches none of {tests}")
    if run.reason:
        output.remark(("warning: ", "yellow"), f"{name}: {run.reason}")
    if validated.request.state is RequestState.FAILED:
        output.remark((f"the output of {name} is in {run.log_path}", "dim"))


def _answer(
    trunk: Trunk,
    recipe: Recipe,
    queue: str,
    branch: str,
    commits: Sequence[Commit],
    came_to: Outcome,
    as_json: bool,
) -> None:
    now = (*came_to.validated, *came_to.elsewhere)
    states = Counter(one.request.state.value for one in now)
    if as_json:
        here = {one.request.id for one in came_to.validated}
        output.emit(
            {
                "queue": queue,
                "branch": branch,
                "validated": len(came_to.validated),
                "elsewhere": len(came_to.elsewhere),
                "skipped": came_to.skipped,
                "states": dict(sorted(states.items())),
                "last_green": commit_of(came_to.last_green) or None,
                "interrupted": came_to.interrupted,
                "commits": [_object(one, one.request.id in here) for one in _oldest_first(now, commits)],
            }
        )
    elif now or came_to.interrupted:
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"
        output.say((queue, "bold"), f": {_commits(len(now))} validated: {counts}; {_last_green(came_to)}")
    else:
        output.say("nothing to do: ", f"{_commits(came_to.skipped)} on record in ", (queue, "bold"))
        _say_if_other_command(trunk, recipe, commits[-1])
    if came_to.interrupted:
        left = len(commits) - came_to.skipped - len(now)
        output.remark(f"stopped with {_commits(left)} to go: the same command goes on from here")


def _object(one: Validated, here: bool) -> dict[str, Any]:
    request = one.request
    return {
        **commit_object(request.uri, request.id, request.state, one.reason, one.fact, one.run),
        "subject": one.commit.subject,
        "issues_opened": one.opened,
        "issues_resolved": one.resolved,
        "here": here,
    }


def _oldest_first(some: Sequence[Validated], commits: Sequence[Commit]) -> list[Validated]:
    place = {commit.id: index for index, commit in enumerate(commits)}
    return sorted(some, key=lambda one: place[one.commit.id])


def _say_if_other_command(trunk: Trunk, recipe: Recipe, newest: Commit) -> None:
    found = trunk.find(newest)
    if found is not None and found.run is not None and found.run.command_digest != recipe.digest:
        output.remark(
            ("the newest was validated by another command; to validate with this one, name a queue for it: ", "dim"),
            "--queue NAME",
        )


def _last_green(came_to: Outcome) -> str:
    return f"last green {short(came_to.last_green)}" if came_to.last_green else "none is green yet"


def _commits(count: int) -> str:
    return f"{count} commit" if count == 1 else f"{count} commits"
