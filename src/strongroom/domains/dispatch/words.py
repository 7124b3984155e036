"""The words of Dispatch as they are stored: states, kinds of journal entries, actors, reasons to refuse a request."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """Where a run stands. It leaves `QUEUED` once, and nothing comes back to it."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def is_terminal(self) -> bool:
        """Whether the run has ended."""
        return self not in (RunState.QUEUED, RunState.RUNNING)


class EndState(StrEnum):
    """The states that a run can end in; `RunState` has the same texts."""

    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class TriggerState(StrEnum):
    """Whether a trigger lets what happens come through."""

    ACTIVE = "active"
    PAUSED = "paused"


class OccurrenceState(StrEnum):
    """Where an occurrence, one thing that a trigger heard of, stands."""

    RECEIVED = "received"
    SKIPPED = "skipped"
    PREPARING = "preparing"
    READY = "ready"
    SUBMITTED = "submitted"
    FAILED = "failed"
    EXPIRED = "expired"
    NEEDS_ATTENTION = "needs-attention"
    CANCELLED = "cancelled"
    RECONCILED = "reconciled"

    @property
    def next_states(self) -> frozenset[OccurrenceState]:
        """The states that may follow this one; none behind the end."""
        return _NEXT[self]


_NEXT: Final[dict[OccurrenceState, frozenset[OccurrenceState]]] = {state: frozenset() for state in OccurrenceState} | {
    OccurrenceState.RECEIVED: frozenset(
        {
            OccurrenceState.SKIPPED,
            OccurrenceState.PREPARING,
            OccurrenceState.READY,
            OccurrenceState.FAILED,
            OccurrenceState.EXPIRED,
            OccurrenceState.CANCELLED,
        }
    ),
    OccurrenceState.PREPARING: frozenset(
        {
            OccurrenceState.READY,
            OccurrenceState.FAILED,
            OccurrenceState.EXPIRED,
            OccurrenceState.NEEDS_ATTENTION,
            OccurrenceState.CANCELLED,
        }
    ),
    OccurrenceState.READY: frozenset(
        {OccurrenceState.SUBMITTED, OccurrenceState.FAILED, OccurrenceState.EXPIRED, OccurrenceState.CANCELLED}
    ),
    OccurrenceState.NEEDS_ATTENTION: frozenset({OccurrenceState.RECONCILED, OccurrenceState.CANCELLED}),
}


class JournalKind(StrEnum):
    """What an entry of the journal tells. A kind's first word names what changed, its second what became of it."""

    TRIGGER_CONFIGURED = "trigger.configured"
    TRIGGER_PAUSED = "trigger.paused"
    TRIGGER_RESUMED = "trigger.resumed"
    TRIGGER_KEY_ROTATED = "trigger.key-rotated"
    OCCURRENCE_RECEIVED = "occurrence.received"
    OCCURRENCE_SKIPPED = "occurrence.skipped"
    OCCURRENCE_PREPARING = "occurrence.preparing"
    OCCURRENCE_READY = "occurrence.ready"
    OCCURRENCE_SUBMITTED = "occurrence.submitted"
    OCCURRENCE_FAILED = "occurrence.failed"
    OCCURRENCE_EXPIRED = "occurrence.expired"
    OCCURRENCE_NEEDS_ATTENTION = "occurrence.needs-attention"
    OCCURRENCE_CANCELLED = "occurrence.cancelled"
    OCCURRENCE_RECONCILED = "occurrence.reconciled"
    RUN_QUEUED = "run.queued"
    RUN_STARTED = "run.started"
    RUN_EXPIRED = "run.expired"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_INTERRUPTED = "run.interrupted"
    RELEASE_PREVIEWED = "release.previewed"
    JOB_CREATED = "job.created"
    ADMISSION_REFUSED = "admission.refused"
    JOURNAL_BEGAN = "journal.began"
    RUNNER_STARTED = "runner.started"
    RUNNER_STOPPED = "runner.stopped"


class ActorKind(StrEnum):
    """What kind of actor made a change; never a person."""

    INSTALLATION = "installation"
    TRIGGER = "trigger"
    TRIGGER_CREDENTIAL = "trigger-credential"
    CLOUD_CONNECTION = "cloud-connection"
    RUNNER = "runner"


class RefusalCode(StrEnum):
    """Why a well-formed request was refused."""

    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    QUEUE_FULL = "queue_full"
    RELEASE_ALREADY_USED = "release_already_used"
    OTHER_OWNER = "other_owner"
    RECORD_LINE_REQUIRED = "record_line_required"
    ENTRY_UNREADABLE = "entry_unreadable"
    ILLEGAL_TRANSITION = "illegal_transition"
