"""A run as it is read: what was asked, where it stands and what came of it, put together from one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from strongroom.domains.dispatch.faults import Absent, Unreadable
from strongroom.domains.dispatch.port import ReadPort
from strongroom.domains.dispatch.records import (
    OUTCOMES,
    QUEUED,
    RUNNING,
    SUBMISSIONS,
    Outcome,
    Queued,
    Running,
    Submission,
)
from strongroom.domains.dispatch.words import RunState
from strongroom.records import Table

Place = Queued | Running | Outcome
"""Where a run stands: exactly one of these is held for each."""

TRIMMED: Final = 256
"""How many characters of a result a summary shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run as listings show it: without its input and its record line, and with the beginning of its result."""

    id: str
    number: int
    """The place in the queue, which is the order of listings."""
    job: str
    release: str
    revision: int
    state: RunState
    caller: str
    requested_by: str
    occurrence: str
    trigger: str
    trigger_revision: int | None
    trigger_kind: str
    created_at_ms: int
    expires_at_ms: int
    """When a run that waits is not to be started any more; 0 for never."""
    attempt: int
    """0 until it was started, then 1, and one more each time that it was taken over."""
    token: int
    """The fencing token of its last claim; 0 for none."""
    holder: str
    """Who works on it; empty where nobody does."""
    until_ms: int
    """When its lease is over; 0 for none."""
    started_at_ms: int | None
    finished_at_ms: int | None
    interrupted_at_ms: int | None
    problem: str | None
    result: str | None
    entry: int | None
    """The sequence of its entry in the run chain."""
    review: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(RunSummary):
    """A run, whole."""

    key: str
    input: str
    """Canonical JSON."""
    record: bytes | None
    """The exact bytes of its record line, without a line feed."""
    signatures: str | None


def find_place(reader: ReadPort, workspace: str, number: int) -> Place:
    """Where the run of that number stands; `Unreadable` where it stands nowhere."""
    place = (
        reader.get(OUTCOMES, workspace, number)
        or reader.get(RUNNING, workspace, number)
        or reader.get(QUEUED, workspace, number)
    )
    if place is None:
        raise _nowhere(workspace, number)
    return place


def find_places(reader: ReadPort, workspace: str, numbers: list[int]) -> list[Place]:
    """Where the runs of these numbers stand, in their order; raises as `find_place`."""
    found: dict[int, Place] = {}
    left = numbers
    tables: tuple[Table[Any], ...] = (OUTCOMES, RUNNING, QUEUED)
    for table in tables:
        if left:
            rows = reader.get_many(table, [(workspace, number) for number in left])
            found.update((row.number, row) for row in rows if row is not None)
            left = [number for number in left if number not in found]
    if left:
        raise _nowhere(workspace, left[0])
    return [found[number] for number in numbers]


def read_run(reader: ReadPort, workspace: str, run_id: str) -> Run:
    """The run, whole; `Absent` if there is none of that id, `Unreadable` if its parts don't fit together."""
    submission = reader.get(SUBMISSIONS, workspace, run_id)
    if submission is None:
        raise Absent(f"nothing is stored as {SUBMISSIONS.show((workspace, run_id))}")
    place = find_place(reader, workspace, submission.number)
    outcome = place if isinstance(place, Outcome) else None
    return Run(
        **_told(submission, place, None),
        key=submission.key,
        input=submission.input,
        record=outcome.record if outcome else None,
        signatures=outcome.signatures if outcome else None,
    )


def summarize(reader: ReadPort, workspace: str, places: list[Place]) -> list[RunSummary]:
    """The runs that stand in these places, as listings show them."""
    submissions = reader.get_many(SUBMISSIONS, [(workspace, place.run) for place in places])
    found = []
    for place, submission in zip(places, submissions, strict=True):
        if submission is None:
            raise Unreadable(
                f"{SUBMISSIONS.show((workspace, place.run))} is missing, but the run has a place",
                table=SUBMISSIONS.name,
                key=(workspace, place.run),
            )
        found.append(RunSummary(**_told(submission, place, TRIMMED)))
    return found


def state_of(place: Place) -> RunState:
    """The state that a run in this place is in."""
    match place:
        case Queued():
            return RunState.QUEUED
        case Running():
            return RunState.RUNNING
        case Outcome():
            return RunState(place.state)


def _told(submission: Submission, place: Place, trimmed: int | None) -> dict[str, Any]:
    """What submission and place tell; `Unreadable` where one is not the other's."""
    if (place.run, place.number, place.job) != (submission.id, submission.number, submission.job):
        key = (submission.workspace, submission.id)
        raise Unreadable(
            f"{SUBMISSIONS.show(key)} is not the run that stands in its place", table=SUBMISSIONS.name, key=key
        )
    running = place if isinstance(place, Running) else None
    outcome = place if isinstance(place, Outcome) else None
    started = running or outcome
    return {
        "id": submission.id,
        "number": submission.number,
        "job": submission.job,
        "release": submission.release,
        "revision": submission.revision,
        "state": state_of(place),
        "caller": submission.caller,
        "requested_by": submission.requested_by,
        "occurrence": submission.occurrence,
        "trigger": submission.trigger,
        "trigger_revision": submission.trigger_revision,
        "trigger_kind": submission.trigger_kind,
        "created_at_ms": submission.created_at_ms,
        "expires_at_ms": submission.expires_at_ms,
        "attempt": started.attempt if started else 0,
        "token": started.token if started else 0,
        "holder": running.holder if running else "",
        "until_ms": running.until_ms if running else 0,
        "started_at_ms": started.started_at_ms if started else None,
        "finished_at_ms": outcome.finished_at_ms if outcome else None,
        "interrupted_at_ms": outcome.interrupted_at_ms if outcome else None,
        "problem": outcome.problem if outcome else None,
        "result": outcome.result[:trimmed] if outcome and outcome.result is not None else None,
        "entry": outcome.entry if outcome else None,
        "review": outcome.review if outcome else False,
    }


def _nowhere(workspace: str, number: int) -> Unreadable:
    key = (workspace, number)
    return Unreadable(
        f"the run of number {number} neither waits, nor runs, nor has ended", table=OUTCOMES.name, key=key
    )
