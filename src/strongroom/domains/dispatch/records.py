"""The records of Dispatch that runs are made of, and the tables that keep them.

A run is told by what was asked (`Submission`), by where it is (`Queued`, then `Running`), and by what came of it
(`Outcome`). Only the place changes, by rows that come and go; what was asked and what came of it are written once, and
no engine that guards immutable rows lets anyone change them. The workspace leads every key. Times are Unix
milliseconds of the engine's clock.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from strongroom.domains.dispatch.words import ActorKind, EndState, JournalKind
from strongroom.records import (
    MEMBERSHIP,
    NEVER,
    REPLACEABLE,
    Blob,
    Identifier,
    Integer,
    Json,
    Millis,
    Record,
    Table,
    Text,
)

WorkspaceName = Annotated[str, Identifier(255)]
Id = Annotated[str, Identifier(255)]
MaybeId = Annotated[str, Identifier(255, empty=True)]
Digest = Annotated[str, Identifier(71)]
MaybeDigest = Annotated[str, Identifier(71, empty=True)]
Position = Annotated[int, Integer(1)]
Revision = Annotated[int, Integer(1, 2**31 - 1)]
Time = Annotated[int, Millis()]

REASON_BYTES: Final = 1024
"""The most bytes of a reason or problem: a journal is read in pages, and no page should be an outage."""


class Workspace(Record):
    """Whose the workspace is, written with its first journal entry."""

    workspace: WorkspaceName
    owner: Id


# What runs are made from


class Release(Record):
    """What jobs run: a pack at a version, and all that was found out about it. Written once.

    The JSON columns are the caller's documents, kept to the byte.
    """

    workspace: WorkspaceName
    id: Id
    title: Annotated[str, Text(1024)]
    pack: Annotated[str, Text(1024)] = ""
    pack_digest: MaybeDigest = ""
    pack_id: MaybeId = ""
    pack_version: MaybeId = ""
    runtime_digest: MaybeDigest = ""
    created_at_ms: Time = 0
    """0, in a release that is about to be saved, stands for the time of that."""
    config: Annotated[str, Json()] = "{}"
    lock: Annotated[str, Json()] = "{}"
    validation: Annotated[str, Json()] = "{}"
    sample: Annotated[str, Json()] = "{}"
    preview: Annotated[str, Json()] = "{}"
    tests: Id = "not-run"
    test_evidence: Annotated[str, Json()] | None = None
    input_mapping: Annotated[str, Json()] | None = None


class Job(Record):
    """A name under which one release is run. Written once; a release has one job at most."""

    workspace: WorkspaceName
    id: Id
    name: Id
    release: Id
    owner: Id
    created_at_ms: Time
    number: Position
    """The place in the order of creation: the sequence of the journal entry that tells of it."""
    revision: Revision = 1


class JobRelease(Record):
    """Which job a release is used by."""

    workspace: WorkspaceName
    release: Id
    job: Id


class JobPlace(Record):
    """The jobs in the order of their creation."""

    workspace: WorkspaceName
    number: Position
    job: Id


# Runs


class Submission(Record):
    """What was asked: run this job with this input. Written once."""

    workspace: WorkspaceName
    id: Id
    number: Position
    """The place in the queue: the sequence of the journal entry that tells of it."""
    job: Id
    release: Id
    revision: Revision
    caller: Id
    key: Id
    created_at_ms: Time
    input: Annotated[str, Json()]
    requested_by: MaybeId = ""
    occurrence: MaybeId = ""
    """The occurrence that asked; the three that follow are then its trigger's."""
    trigger: MaybeId = ""
    trigger_revision: Revision | None = None
    trigger_kind: MaybeId = ""
    expires_at_ms: Time = 0
    """When a run that still waits is not to be started any more; 0 for never."""


class Request(Record):
    """Which run a request key stands for, and the digest of what was asked under it. Written once."""

    workspace: WorkspaceName
    job: Id
    caller: Id
    key: Id
    digest: Digest
    run: Id


class JobRun(Record):
    """The runs of one job in the order of the queue."""

    workspace: WorkspaceName
    job: Id
    number: Position
    run: Id


class Queued(Record):
    """A run that waits. The row goes when it is claimed, or ended where it stands."""

    workspace: WorkspaceName
    number: Position
    run: Id
    job: Id
    release: Id
    revision: Revision
    trigger: MaybeId = ""
    occurrence: MaybeId = ""
    expires_at_ms: Time = 0


class Running(Record):
    """A run that somebody works on. The row is replaced when its lease is, and goes when the run ends."""

    workspace: WorkspaceName
    number: Position
    run: Id
    job: Id
    release: Id
    revision: Revision
    trigger: MaybeId
    occurrence: MaybeId
    token: Position
    """The fencing token: the sequence of the journal entry that tells of the claim. A later claim has a higher one."""
    attempt: Annotated[int, Integer(1)]
    holder: MaybeId
    started_at_ms: Time
    until_ms: Time
    """When others may take the run over; 0 for a claim without a lease."""


class Outcome(Record):
    """What came of a run. Written once."""

    workspace: WorkspaceName
    number: Position
    run: Id
    job: Id
    state: EndState
    attempt: Annotated[int, Integer(0)]
    """0 for a run that was never started."""
    token: Annotated[int, Integer(0)]
    """That of the claim which ended it; 0 where it ended in the queue."""
    started_at_ms: Time | None
    finished_at_ms: Time
    interrupted_at_ms: Time | None = None
    """When the interruption was seen; None where it was found out later."""
    problem: Annotated[str, Text(REASON_BYTES)] | None = None
    result: Annotated[str, Json()] | None = None
    record: Annotated[bytes, Blob()] | None = None
    """The exact bytes of the run's one record line, without its line feed."""
    signatures: Annotated[str, Json()] | None = None
    entry: Position | None = None
    """The sequence of the run's entry in the run chain."""
    review: bool = False
    """Whether somebody is to look at it."""


def _outcome_rule(outcome: Outcome) -> str | None:
    if (outcome.state is EndState.COMPLETED) != (outcome.entry is not None):
        return "a completed run, and no other, has an entry in the run chain"
    if outcome.entry is not None and not outcome.record:
        return "a completed run has a record line"
    return None


# Chain and journal


class ChainLine(Record):
    """A line of the run chain, to the byte, without its line feed."""

    workspace: WorkspaceName
    sequence: Position
    line: Annotated[bytes, Blob(1024)]


class ChainRun(Record):
    """Which entry of the run chain a run has: each has one at most."""

    workspace: WorkspaceName
    run: Id
    sequence: Position


class JournalEntry(Record):
    """Something that changed in the workspace. Written once, in the transaction of the change."""

    workspace: WorkspaceName
    sequence: Position
    kind: JournalKind
    at_ms: Time
    """For people: the order of entries is that of their sequences, never that of times."""
    by: ActorKind
    by_name: MaybeId
    """The installation's owner, or the trigger or connection; empty for the runner."""
    by_revision: Revision | None = None
    """The trigger's revision, or that of its key."""
    job: MaybeId = ""
    release: MaybeId = ""
    trigger: MaybeId = ""
    occurrence: MaybeId = ""
    run: MaybeId = ""
    revision: Revision | None = None
    from_state: MaybeId = ""
    """Empty where the entry tells of something new, or of no state at all."""
    to_state: MaybeId = ""
    reason: Annotated[str, Text(REASON_BYTES)] = ""
    detail: Annotated[str, Text(4096)] = ""
    """One JSON object with what this kind tells besides; empty for nothing."""


class RefusalMark(Record):
    """When a refusal was last written to the journal, so that one repeated in a row is written once."""

    workspace: WorkspaceName
    fingerprint: Digest
    at_ms: Time


def _journal_rule(entry: JournalEntry) -> str | None:
    if entry.detail:
        try:
            msgspec.json.decode(entry.detail, type=dict)
        except msgspec.DecodeError:
            return "detail is not the text of a JSON object"
    return None


# Tables

WORKSPACES: Final = Table("dispatch_workspaces", Workspace, key=("workspace",), scope=1, changes=NEVER)
RELEASES: Final = Table("dispatch_releases", Release, key=("workspace", "id"), scope=1, changes=NEVER)
JOBS: Final = Table("dispatch_jobs", Job, key=("workspace", "id"), scope=1, changes=NEVER)
JOB_RELEASES: Final = Table("dispatch_job_releases", JobRelease, key=("workspace", "release"), scope=1, changes=NEVER)
JOB_PLACES: Final = Table("dispatch_job_places", JobPlace, key=("workspace", "number"), scope=1, changes=NEVER)
SUBMISSIONS: Final = Table("dispatch_submissions", Submission, key=("workspace", "id"), scope=1, changes=NEVER)
REQUESTS: Final = Table("dispatch_requests", Request, key=("workspace", "job", "caller", "key"), scope=1, changes=NEVER)
JOB_RUNS: Final = Table("dispatch_job_runs", JobRun, key=("workspace", "job", "number"), scope=1, changes=NEVER)
QUEUED: Final = Table("dispatch_queued", Queued, key=("workspace", "number"), scope=1, changes=MEMBERSHIP)
RUNNING: Final = Table("dispatch_running", Running, key=("workspace", "number"), scope=1, changes=MEMBERSHIP)
OUTCOMES: Final = Table(
    "dispatch_outcomes", Outcome, key=("workspace", "number"), scope=1, changes=NEVER, rule=_outcome_rule
)
CHAIN_LINES: Final = Table("dispatch_chain", ChainLine, key=("workspace", "sequence"), scope=1, changes=NEVER)
CHAIN_RUNS: Final = Table("dispatch_chain_runs", ChainRun, key=("workspace", "run"), scope=1, changes=NEVER)
JOURNAL: Final = Table(
    "dispatch_journal", JournalEntry, key=("workspace", "sequence"), scope=1, changes=NEVER, rule=_journal_rule
)
REFUSALS: Final = Table(
    "dispatch_refusals", RefusalMark, key=("workspace", "fingerprint"), scope=1, changes=REPLACEABLE
)
