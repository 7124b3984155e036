"""The records of triggers and of what they heard of, and the schema of the whole domain."""

from __future__ import annotations

from typing import Annotated, Final

from strongroom.domains.dispatch.records import (
    CHAIN_LINES,
    CHAIN_RUNS,
    JOB_PLACES,
    JOB_RELEASES,
    JOB_RUNS,
    JOBS,
    JOURNAL,
    OUTCOMES,
    QUEUED,
    REASON_BYTES,
    REFUSALS,
    RELEASES,
    REQUESTS,
    RUNNING,
    SUBMISSIONS,
    WORKSPACES,
    Id,
    MaybeId,
    Position,
    Revision,
    Time,
    WorkspaceName,
)
from strongroom.domains.dispatch.words import OccurrenceState, TriggerState
from strongroom.records import MEMBERSHIP, NEVER, VERSIONED, Identifier, Integer, Json, Record, Schema, Table, Text


class Trigger(Record):
    """Something outside that asks for runs of a job, as it is configured now."""

    workspace: WorkspaceName
    id: Id
    job: Id
    kind: Id
    """What the trigger listens to, such as ``schedule`` or ``webhook``: the caller's word."""
    state: TriggerState
    revision: Revision
    """That of the configuration."""
    config: Annotated[str, Json()]
    key_digest: Annotated[str, Identifier(71, empty=True, sensitive=True)]
    """The digest of the trigger's key; empty for a trigger that has none."""
    key_revision: Annotated[int, Integer(0, 2**31 - 1)]
    """Which of its keys it is; 0 for none."""
    version: Position


class TriggerRevision(Record):
    """What a trigger's configuration was. Written once."""

    workspace: WorkspaceName
    trigger: Id
    revision: Revision
    config: Annotated[str, Json()]
    at_ms: Time


class Occurrence(Record):
    """One thing that a trigger heard of, and what became of it."""

    workspace: WorkspaceName
    id: Id
    number: Position
    """The place in the order of arrival: the sequence of the journal entry that tells of it."""
    trigger: Id
    identity: Id
    """What tells it from every other occurrence of its trigger."""
    trigger_revision: Revision
    job: Id
    state: OccurrenceState
    received_at_ms: Time
    changed_at_ms: Time
    expires_at_ms: Time
    """When it is of no interest any more; 0 for never."""
    run: MaybeId = ""
    reason: Annotated[str, Text(REASON_BYTES)] = ""
    version: Position = 1


class OccurrenceIdentity(Record):
    """Which occurrence a trigger's identity stands for: each is received once."""

    workspace: WorkspaceName
    trigger: Id
    identity: Id
    occurrence: Id


class OccurrencePlace(Record):
    """The occurrences of a trigger in the order of their arrival."""

    workspace: WorkspaceName
    trigger: Id
    number: Position
    occurrence: Id


class Preparing(Record):
    """An occurrence that somebody prepares: what a restart has to end."""

    workspace: WorkspaceName
    occurrence: Id


TRIGGERS: Final = Table("dispatch_triggers", Trigger, key=("workspace", "id"), scope=1, changes=VERSIONED("version"))
TRIGGER_REVISIONS: Final = Table(
    "dispatch_trigger_revisions", TriggerRevision, key=("workspace", "trigger", "revision"), scope=1, changes=NEVER
)
OCCURRENCES: Final = Table(
    "dispatch_occurrences", Occurrence, key=("workspace", "id"), scope=1, changes=VERSIONED("version")
)
OCCURRENCE_IDENTITIES: Final = Table(
    "dispatch_occurrence_identities",
    OccurrenceIdentity,
    key=("workspace", "trigger", "identity"),
    scope=1,
    changes=NEVER,
)
OCCURRENCE_PLACES: Final = Table(
    "dispatch_occurrence_places", OccurrencePlace, key=("workspace", "trigger", "number"), scope=1, changes=NEVER
)
PREPARING: Final = Table("dispatch_preparing", Preparing, key=("workspace", "occurrence"), scope=1, changes=MEMBERSHIP)

SCHEMA: Final = Schema(
    "dispatch",
    WORKSPACES,
    RELEASES,
    JOBS,
    JOB_RELEASES,
    JOB_PLACES,
    SUBMISSIONS,
    REQUESTS,
    JOB_RUNS,
    QUEUED,
    RUNNING,
    OUTCOMES,
    CHAIN_LINES,
    CHAIN_RUNS,
    JOURNAL,
    REFUSALS,
    TRIGGERS,
    TRIGGER_REVISIONS,
    OCCURRENCES,
    OCCURRENCE_IDENTITIES,
    OCCURRENCE_PLACES,
    PREPARING,
)
"""All tables of the domain."""
