"""The moves of a run: into the queue, to a dispatcher, from one to another, and to its end.

Each of them writes all that it changes and the journal's entry of it in one transaction, and there is no other way to
change where a run stands: so no state is ever kept without its entry, nor an entry without its state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from strongroom.domains.dispatch.faults import READ_FAULTS, Conflict, Refused, Taken
from strongroom.domains.dispatch.journal import RUNNER, Actor, Concerns, Moment
from strongroom.domains.dispatch.records import (
    JOB_RUNS,
    OUTCOMES,
    QUEUED,
    REASON_BYTES,
    REQUESTS,
    RUNNING,
    SUBMISSIONS,
    Job,
    JobRun,
    Outcome,
    Queued,
    Request,
    Running,
    Submission,
)
from strongroom.domains.dispatch.run_chain import RUN_CHAIN, RunEntry, is_record_line
from strongroom.domains.dispatch.texts import cut_bytes
from strongroom.domains.dispatch.words import EndState, JournalKind, RefusalCode, RunState
from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.patterns import EntryUnreadable, Link, digest
from strongroom.records import MAX_INTEGER

EXPIRED: Final = "it expired before it was started"
_GIVEN: Final = ("state", "result", "record", "signatures", "review")
LEFT_RUNNING: Final = "its dispatcher stopped before it was finished"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: run a job with an input, which is canonical JSON, under a caller's key."""

    job: Job
    caller: str
    key: str
    digest: str
    input: str
    requested_by: str = ""
    occurrence: str = ""
    trigger: str = ""
    trigger_revision: int | None = None
    trigger_kind: str = ""
    expires_at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends.

    A completed run has a record line: exactly one line, neither empty nor with a line feed or carriage return. A
    problem of more than 1,024 bytes is cut. `result` and `signatures` are JSON texts, kept to the byte.
    """

    state: EndState
    problem: str | None = None
    result: str | None = None
    record: bytes | None = None
    signatures: str | None = None
    review: bool = False


@dataclass(frozen=True, slots=True)
class Interruption:
    """How an interruption came to be known: by a dispatcher that saw it, or later, by a restart (its journal place)."""

    restart: int | None = None


def concerns_of(place: Queued | Running) -> Concerns:
    """What an entry about a run's place is about."""
    return Concerns(place.job, place.release, place.trigger, place.occurrence, place.run)


def check_claim(holder: str, lease_ms: int | None) -> None:
    """Raises `InvalidArgument` for a holder, or a lease, that no claim can have."""
    RUNNING.check_value("holder", holder)
    if lease_ms is not None and (type(lease_ms) is not int or not 1 <= lease_ms <= MAX_INTEGER // 2):
        raise InvalidArgument("a lease is a number of milliseconds from 1, or None")


def submission_of(moment: Moment, run_id: str, asked: Asked) -> Submission:
    """What is kept of a request that is queued next."""
    return Submission(
        moment.workspace,
        run_id,
        moment.next_sequence,
        asked.job.id,
        asked.job.release,
        asked.job.revision,
        asked.caller,
        asked.key,
        moment.now,
        asked.input,
        asked.requested_by,
        asked.occurrence,
        asked.trigger,
        asked.trigger_revision,
        asked.trigger_kind,
        asked.expires_at_ms,
    )


def queue_run(moment: Moment, asked: Asked, submission: Submission, by: Actor) -> Queued:
    """(none) -> queued. `Taken`, nothing written, if the request key stands for a run.

    That the submission is in order, and its id new, is for the caller to know, or to fail with the whole transaction.
    """
    number, job, workspace, run_id = submission.number, asked.job, moment.workspace, submission.id
    port = moment.port
    try:
        port.insert(REQUESTS, Request(workspace, job.id, asked.caller, asked.key, asked.digest, run_id))
    except AlreadyExists as fault:
        raise Taken(str(fault)) from fault
    port.insert(SUBMISSIONS, submission)
    port.insert(JOB_RUNS, JobRun(workspace, job.id, number, run_id))
    queued = Queued(
        workspace,
        number,
        run_id,
        job.id,
        job.release,
        job.revision,
        asked.trigger,
        asked.occurrence,
        asked.expires_at_ms,
    )
    port.insert(QUEUED, queued)
    moment.record(JournalKind.RUN_QUEUED, by, concerns_of(queued), revision=job.revision, states=("", RunState.QUEUED))
    return queued


def start_run(moment: Moment, queued: Queued, holder: str, lease_ms: int | None) -> Running:
    """queued -> running: the claim. `Conflict`, nothing written, unless exactly `queued` stands in the queue."""
    if not moment.port.delete(QUEUED, moment.workspace, queued.number, expect=queued):
        raise Conflict(f"{queued.run} does not wait any more", expected=RunState.QUEUED)
    token = moment.next_sequence
    running = Running(
        queued.workspace,
        queued.number,
        queued.run,
        queued.job,
        queued.release,
        queued.revision,
        queued.trigger,
        queued.occurrence,
        token,
        1,
        holder,
        moment.now,
        moment.now + lease_ms if lease_ms else 0,
    )
    moment.port.insert(RUNNING, running)
    _record_start(moment, running, RunState.QUEUED)
    return running


def take_over_run(moment: Moment, running: Running, holder: str, lease_ms: int) -> Running:
    """running -> running, under a higher token. `Conflict`, nothing written, while its lease lasts or if it moved."""
    if not running.until_ms or moment.now < running.until_ms:
        raise Conflict(f"{running.run} is somebody's", expected="a lease that is over", found=RunState.RUNNING)
    taken = running.replace(
        token=moment.next_sequence,
        attempt=running.attempt + 1,
        holder=holder,
        started_at_ms=moment.now,
        until_ms=moment.now + lease_ms,
    )
    _replace(moment, running, taken)
    _record_start(
        moment, taken, RunState.RUNNING, {"takenOver": {"attempt": running.attempt, "until": running.until_ms}}
    )
    return taken


def extend_lease(moment: Moment, running: Running, lease_ms: int) -> Running:
    """The same claim with a lease from now on; never a shorter one. A run's state is unchanged: no entry."""
    extended = running.replace(until_ms=max(running.until_ms, moment.now + lease_ms))
    _replace(moment, running, extended)
    return extended


def end_run(
    moment: Moment, place: Queued | Running, ending: Ending, interruption: Interruption | None = None
) -> Outcome:
    """To the end, from wherever it stands. `place` was read in this very transaction.

    Raises, nothing written, `Refused` for a completion without its record line, for a run that the chain can't name,
    and for one that waits and does not fail; `Unreadable` where nothing can follow the chain's last line; `Taken`
    where the run has an entry; `InvalidArgument` for an ending that can't be kept.
    """
    for name in _GIVEN:
        OUTCOMES.check_value(name, getattr(ending, name))
    problem = None if ending.problem is None else cut_bytes(ending.problem, REASON_BYTES)
    OUTCOMES.check_value("problem", problem)
    state = EndState(ending.state)
    completed = state is EndState.COMPLETED
    if isinstance(place, Queued) and state is not EndState.FAILED:
        raise Refused(RefusalCode.ILLEGAL_TRANSITION, f"{place.run} waits: it can only fail")
    if completed and not is_record_line(ending.record):
        raise Refused(RefusalCode.RECORD_LINE_REQUIRED, f"{place.run} has not exactly one record line")
    running = place if isinstance(place, Running) else None
    entry = _append_entry(moment, place.run, ending.record or b"") if completed else None
    _leave(moment, place)
    seen = interruption is not None and interruption.restart is None
    outcome = Outcome(
        moment.workspace,
        place.number,
        place.run,
        place.job,
        state,
        running.attempt if running else 0,
        running.token if running else 0,
        running.started_at_ms if running else None,
        moment.now,
        moment.now if seen else None,
        problem,
        ending.result,
        ending.record,
        ending.signatures,
        entry,
        ending.review,
    )
    moment.port.insert(OUTCOMES, outcome)
    detail: dict[str, object] = {}
    if entry is not None:
        detail["chainSequence"] = entry
    if interruption is not None:
        detail["interruption"] = (
            {"seen": True, "at": moment.now}
            if seen
            else {
                "seen": False,
                "lastKnownRunning": outcome.started_at_ms,
                "restart": interruption.restart,
            }
        )
    kind = JournalKind.RUN_EXPIRED if running is None else JournalKind(f"run.{state}")
    moment.record(
        kind,
        RUNNER,
        concerns_of(place),
        revision=place.revision,
        states=(_state_of(place), state),
        reason=problem or "",
        detail=detail,
    )
    return outcome


def _append_entry(moment: Moment, run: str, record: bytes) -> int:
    def make(link: Link) -> RunEntry:
        return RunEntry("1", link.trail, link.sequence, link.previous, "run", run, digest(record))

    try:
        with READ_FAULTS:
            return RUN_CHAIN.append_in(moment.port, moment.workspace, make=make).entry.sequence
    except EntryUnreadable as fault:
        raise Refused(RefusalCode.ENTRY_UNREADABLE, str(fault)) from fault
    except AlreadyExists as fault:
        raise Taken(str(fault)) from fault


def _record_start(moment: Moment, running: Running, before: RunState, more: dict[str, object] | None = None) -> None:
    moment.record(
        JournalKind.RUN_STARTED,
        RUNNER,
        concerns_of(running),
        revision=running.revision,
        states=(before, RunState.RUNNING),
        detail={"attempt": running.attempt, **(more or {})},
    )


def _replace(moment: Moment, old: Running, new: Running) -> None:
    if not moment.port.delete(RUNNING, moment.workspace, old.number, expect=old):
        raise Conflict(f"{old.run} is not as it was", expected=RunState.RUNNING)
    moment.port.insert(RUNNING, new)


def _leave(moment: Moment, place: Queued | Running) -> None:
    if isinstance(place, Running):
        left = moment.port.delete(RUNNING, moment.workspace, place.number, expect=place)
    else:
        left = moment.port.delete(QUEUED, moment.workspace, place.number, expect=place)
    if not left:
        raise Conflict(f"{place.run} is not where it was", expected=_state_of(place))


def _state_of(place: Queued | Running) -> RunState:
    return RunState.RUNNING if isinstance(place, Running) else RunState.QUEUED
