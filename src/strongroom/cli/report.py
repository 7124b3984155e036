"""`strongroom report`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from strongroom import operations
from strongroom.cli import output
from strongroom.cli.catalogue import known_subjects
from strongroom.cli.commits import commit_object, duration, outcome, short, style
from strongroom.cli.rooms import DEFAULT_ROOM, Room, check_queue, opening
from strongroom.cli.stores import SealKeyFile, open_store
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import Storage
from strongroom.domains.stovepipe.records import QUEUES
from strongroom.engine import Engine
from strongroom.errors import InvalidArgument, MigrationFailed, NotFound
from strongroom.operations import Presence, State
from strongroom.validator import records
from strongroom.validator.history import commit_of
from strongroom.validator.report import Report, ReportedCommit, report_on
from strongroom.validator.runs import Runs

_NAMED: Final = 5


def report(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.", show_default=False)],
    room: Room = DEFAULT_ROOM,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Show at most so many commits, issues and projects each.")
    ] = 20,
    seal_key_file: SealKeyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")] = False,
) -> None:
    """Show what is on record of a queue: commits newest first, the last green one, open issues, broken projects.

    Nothing in the room is changed, and none is made. Issues name the commit that opened them; projects are those
    of the newest commit that was validated to its end, most broken first.

    Example: strongroom report fruit/main
    """
    check_queue(queue)
    with opening(room):
        engine = open_store(room, seal_key_file)
    with engine:
        try:
            with opening(room):
                storage, runs = _stores(engine, queue)
            found = report_on(storage, runs, limit=limit)
        except NotFound as fault:
            raise InvalidArgument(f"{fault}{_there_are(engine)}") from fault
    if as_json:
        output.emit(_object(found))
    else:
        _say(found)


def _stores(engine: Engine, queue: str) -> tuple[Storage, Runs | None]:
    """The queue's stores in a room that is not migrated for it; the runs are None where no validator ever wrote."""
    states = {schema.name: schema for schema in operations.survey(engine, known_subjects()).schemas}
    there = {}
    for name in (stovepipe.SCHEMA.name, records.SCHEMA.name):
        state = states[name]
        state.check()
        if state.state is State.BEHIND:
            raise MigrationFailed(f"schema {name} is at version {state.version}: bring the room up to date first")
        there[name] = state.state is State.CURRENT
    storage = Storage(engine, queue)
    if not there[stovepipe.SCHEMA.name]:
        raise NotFound(f"the store has no queue {queue}")
    return storage, Runs(storage) if there[records.SCHEMA.name] else None


def _there_are(engine: Engine) -> str:
    """The first queues of the room, for whoever named one that is not there; "" if it has none."""
    survey = operations.survey(engine, known_subjects())
    if QUEUES.name not in survey.named(Presence.READABLE):
        return ""
    names = [output.shown(row.name) for row in engine.scan(QUEUES, limit=_NAMED + 1)]
    if not names:
        return ""
    return f"; it has {', '.join(names[:_NAMED])}{' and others' if len(names) > _NAMED else ''}"


def _object(found: Report) -> dict[str, Any]:
    enabled = found.enablement
    return {
        "queue": found.queue,
        "enablement": None
        if enabled is None
        else {
            "enabled": enabled.enabled,
            "sequence": enabled.sequence,
            "since": commit_of(enabled.effective_commit_uri) or None,
            "reason": enabled.reason,
            "occurred_at": enabled.occurred_at_ms,
        },
        "last_green": commit_of(found.last_green_uri) or None,
        "in_flight": found.in_flight,
        "commits": [_commit_object(commit) for commit in found.commits],
        "more_commits": found.more_commits,
        "open_issues": [
            {
                "task": issue.issue.task,
                "unit": issue.issue.unit,
                "build": issue.issue.first_seen_build,
                "commit": commit_of(issue.uri) or None,
                "opened_at": issue.opened_at_ms,
            }
            for issue in found.issues
        ],
        "more_issues": found.more_issues,
        "projects_of": commit_of(found.projects_uri) or None,
        "projects": [{"project": fact.project, "degree": fact.degree} for fact in found.projects],
        "more_projects": found.more_projects,
    }


def _commit_object(commit: ReportedCommit) -> dict[str, Any]:
    summary = commit.summary
    return {
        **commit_object(
            summary.uri, summary.request_id, summary.state, summary.outcome_reason, commit.fact, commit.run
        ),
        "accepted_at": summary.accepted_at_ms,
        "state_at": summary.state_timestamp_ms,
        "tail": None if commit.run is None else commit.run.tail,
    }


def _say(found: Report) -> None:
    enabled = found.enablement
    if enabled is None:
        standing = "never enabled"
    else:
        since = f" since {short(enabled.effective_commit_uri)}" if enabled.effective_commit_uri else ""
        standing = ("enabled" if enabled.enabled else "disabled") + since
    green = f"last green {short(found.last_green_uri)}" if found.last_green_uri else "none is green yet"
    output.say((found.queue, "bold"), f": {standing}, {green}, {found.in_flight} in flight")
    output.say(("commits", "bold"))
    for commit in found.commits:
        _say_commit(commit)
    _say_more(found.more_commits)
    if found.issues:
        output.say(("open issues", "bold"))
        output.say_rows(
            (short(issue.uri), issue.issue.task, issue.issue.unit or "(all of it)") for issue in found.issues
        )
        _say_more(found.more_issues)
    if found.projects:
        output.say((f"projects at {short(found.projects_uri)}", "bold"))
        output.say_rows((_share(fact.degree), fact.project) for fact in found.projects)
        _say_more(found.more_projects)


def _say_commit(commit: ReportedCommit) -> None:
    summary, run = commit.summary, commit.run
    told = outcome(summary.state, summary.outcome_reason, run)
    accepted = output.when(summary.accepted_at_ms, "%Y-%m-%d %H:%M")
    degree = "-" if commit.fact is None else f"{commit.fact.degree:g}"
    output.say(
        "  ",
        (short(summary.uri), "bold"),
        "  ",
        (told.ljust(16), style(summary.state)),
        f"  {degree:>2}  {duration(run):>8}  {accepted}  ",
        "" if run is None else run.subject,
    )


def _say_more(more: bool) -> None:
    if more:
        output.remark(("  there are more: show them with --limit", "dim"))


def _share(degree: float) -> str:
    return f"{degree:7.1%}"
