"""Dispatch: a job runner's store. Releases, jobs, runs, the queue, the journal and the run chain of each workspace.

``dispatch.open(engine).for_workspace("build")`` gives one workspace. Everything that takes several records is one
transaction, so it needs an engine with multi-record ones; a change of state and the journal entry that tells of it can
never be parted. Several dispatchers may share a workspace, also from several processes.
"""

from strongroom.domains.dispatch.catalog import CreatedJob, JobStore, ReleaseStore
from strongroom.domains.dispatch.chain_store import ChainPage, ChainStore, RunProof
from strongroom.domains.dispatch.contract import Reads, Requested, Update
from strongroom.domains.dispatch.dispatcher import BITE, Claim, Dispatcher, Restarted
from strongroom.domains.dispatch.faults import (
    Absent,
    Conflict,
    Durability,
    NotKept,
    OutcomeUnknown,
    Refused,
    RequestConflict,
    Taken,
    Unreadable,
)
from strongroom.domains.dispatch.journal import RUNNER, Actor, Concerns, Journal, JournalPage
from strongroom.domains.dispatch.listings import Listing
from strongroom.domains.dispatch.occurrences import OccurrenceStore, Received, credential_actor, trigger_actor
from strongroom.domains.dispatch.records import Job, JournalEntry, Outcome, Queued, Release, Running, Submission
from strongroom.domains.dispatch.run_chain import (
    RUN_LINES,
    RunEntry,
    checkpoint_line,
    finding_name,
    is_record_line,
    read_checkpoints,
)
from strongroom.domains.dispatch.run_store import RunStore
from strongroom.domains.dispatch.runs import Run, RunSummary
from strongroom.domains.dispatch.storage import SUBJECT, Dispatch, Workspace, open
from strongroom.domains.dispatch.submissions import QUEUE_LIMIT, Submitted
from strongroom.domains.dispatch.texts import canonical_json, new_id
from strongroom.domains.dispatch.transitions import Asked, Ending
from strongroom.domains.dispatch.trigger_records import SCHEMA, Occurrence, Trigger, TriggerRevision
from strongroom.domains.dispatch.triggers import NewKey, TriggerStore
from strongroom.domains.dispatch.words import (
    ActorKind,
    EndState,
    JournalKind,
    OccurrenceState,
    RefusalCode,
    RunState,
    TriggerState,
)

__all__ = [
    "BITE",
    "QUEUE_LIMIT",
    "RUNNER",
    "RUN_LINES",
    "SCHEMA",
    "SUBJECT",
    "Absent",
    "Actor",
    "ActorKind",
    "Asked",
    "ChainPage",
    "ChainStore",
    "Claim",
    "Concerns",
    "Conflict",
    "CreatedJob",
    "Dispatch",
    "Dispatcher",
    "Durability",
    "EndState",
    "Ending",
    "Job",
    "JobStore",
    "Journal",
    "JournalEntry",
    "JournalKind",
    "JournalPage",
    "Listing",
    "NewKey",
    "NotKept",
    "Occurrence",
    "OccurrenceState",
    "OccurrenceStore",
    "Outcome",
    "OutcomeUnknown",
    "Queued",
    "Reads",
    "Received",
    "RefusalCode",
    "Refused",
    "Release",
    "ReleaseStore",
    "RequestConflict",
    "Requested",
    "Restarted",
    "Run",
    "RunEntry",
    "RunProof",
    "RunState",
    "RunStore",
    "RunSummary",
    "Running",
    "Submission",
    "Submitted",
    "Taken",
    "Trigger",
    "TriggerRevision",
    "TriggerState",
    "TriggerStore",
    "Unreadable",
    "Update",
    "Workspace",
    "canonical_json",
    "checkpoint_line",
    "credential_actor",
    "finding_name",
    "is_record_line",
    "new_id",
    "open",
    "read_checkpoints",
    "trigger_actor",
]
