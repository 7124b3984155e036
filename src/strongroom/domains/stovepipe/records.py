"""The records of Stovepipe and the tables that keep them: trunk validation, one queue at a time.

The queue leads every key, so that no row can be reached from another queue or move to one. Records are plain values:
making one checks nothing, writing it checks everything (K2, K4). Times are Unix milliseconds. Versions are 32-bit,
begin at 1 and belong to the caller (W2).
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from strongroom.domains.stovepipe.words import (
    REASONS,
    BuildStatus,
    BuildStrategy,
    IssueEvent,
    OutcomeReason,
    RequestEvent,
    RequestState,
)
from strongroom.records import (
    MEMBERSHIP,
    NEVER,
    VERSIONED,
    Blob,
    Identifier,
    Integer,
    Millis,
    Real,
    Record,
    Schema,
    Table,
    Text,
    desc,
)

QueueName = Annotated[str, Identifier(255)]
Uri = Annotated[str, Identifier(255)]
MaybeUri = Annotated[str, Identifier(255, empty=True)]
RequestId = Annotated[str, Identifier(255)]
MaybeRequestId = Annotated[str, Identifier(255, empty=True)]
Version = Annotated[int, Integer(1, 2**31 - 1)]

# The issue stores' own limits, in bytes of UTF-8: the longest of their keys is 2,586 bytes long.
IssueBuild = Annotated[str, Identifier(1020)]
IssueTask = Annotated[str, Identifier(255)]
IssueUnit = Annotated[str, Identifier(1024, empty=True)]

# Requests


class Request(Record):
    """One commit to validate. Its id and uri never change; strategy and base are set once, when processing begins."""

    queue: QueueName
    id: RequestId
    uri: MaybeUri
    """The commit, as its source control names it."""
    state: RequestState = RequestState.ACCEPTED
    build_strategy: BuildStrategy | None = None
    """None until processing begins."""
    base_uri: MaybeUri = ""
    """The green commit that an incremental build starts from; empty for a full one."""
    version: Version = 1


class RequestNumber(Record):
    """A number given to a commit, to be the id of its request: from 1 without gaps, each once."""

    queue: QueueName
    number: Annotated[int, Integer(1)]
    uri: Uri


class RequestUri(Record):
    """Which request owns a commit. Written before the request itself, and never again."""

    queue: QueueName
    uri: Uri
    request_id: RequestId


class RequestLog(Record):
    """One occurrence in a request's life: either a state that it came into, or an event that changed none."""

    queue: QueueName
    request_id: RequestId
    id: Annotated[str, Identifier(255)]
    """Names the occurrence within its request, the same on every retry: ``state/2``, ``event/build_triggered/b-1``."""
    timestamp_ms: Annotated[int, Millis(positive=True)]
    state: RequestState | None = None
    event: RequestEvent | None = None
    request_version: Annotated[int, Integer(0, 2**31 - 1)] = 0
    """The version of the request that came into `state`; 0 for an event."""
    outcome_reason: OutcomeReason | None = None
    """Given for a terminal state, and for nothing else."""
    metadata: dict[str, str] = msgspec.field(default_factory=dict)


class RequestSummary(Record):
    """How a request is shown. Projected from its log; `version` counts the projection, not the request."""

    queue: QueueName
    request_id: RequestId
    uri: Uri
    state: RequestState
    request_version: Version
    """Which version of the request is shown."""
    state_timestamp_ms: Annotated[int, Millis()]
    accepted_at_ms: Annotated[int, Millis()] = 0
    """0 while unknown; never changes once it is known."""
    base_uri: MaybeUri = ""
    outcome_reason: OutcomeReason | None = None
    version: Version = 1


class RequestAcceptance(Record):
    """An entry of the list of requests by the time that they were accepted."""

    queue: QueueName
    accepted_at_ms: Annotated[int, Millis(positive=True)]
    request_id: Annotated[str, Identifier(1020)]


# Builds and what they prove


class Build(Record):
    """One build of a request. Only `status` and `version` ever change."""

    queue: QueueName
    id: Annotated[str, Identifier(255)]
    """As its runner names it; another queue may have a build of the same name."""
    request_id: RequestId
    status: BuildStatus = BuildStatus.ACCEPTED
    version: Version = 1


class ValidationFact(Record):
    """What is known of one project at one commit, or (`project` empty) of the whole repository. Never changes."""

    queue: QueueName
    uri: Uri
    project: Annotated[str, Identifier(255, empty=True)]
    degree: Annotated[float, Real(0.0, 1.0)]
    """From 0 (green) to 1 (broken); the whole repository is one or the other."""
    request_id: RequestId
    created_at: Annotated[int, Millis()]

    @property
    def is_green(self) -> bool:
        """Whether nothing at all was found broken."""
        return self.degree == 0


class ProjectFactByDegree(Record):
    """An entry of the list of a commit's project facts, most broken first. Holds nothing but its own key."""

    queue: QueueName
    uri: Uri
    degree: Annotated[float, Real(0.0, 1.0)]
    project: Annotated[str, Identifier(255)]


# Issues


class BuildIssue(Record):
    """An issue that one build showed; task-wide where `unit` is empty. Says nothing of whether it is open."""

    queue: QueueName
    build: IssueBuild
    task: IssueTask
    unit: IssueUnit


class OpenIssue(Record):
    """An issue that is open: a resolved one has no row. `first_seen_build` tells this opening from every other."""

    queue: QueueName
    task: IssueTask
    unit: IssueUnit
    first_seen_build: IssueBuild


class IssueMark(Record):
    """The newest request whose issues were reconciled in this queue, and the build whose issues those are."""

    queue: QueueName
    request_id: RequestId
    build: IssueBuild
    version: Version = 1


class IssueLog(Record):
    """An issue's transition in the build where it was first seen, or was confirmed resolved."""

    queue: QueueName
    task: IssueTask
    unit: IssueUnit
    build: IssueBuild
    event: IssueEvent
    timestamp_ms: Annotated[int, Millis(positive=True)]
    """When the transition was first recorded, not when the build finished."""


# Queues. Three counters that are never mixed: `enablement_sequence` counts occurrences in the log, `Queue.version`
# the writes of the operational row, `QueueSummary.version` those of the projection.


class Queue(Record):
    """A queue's coordination state. Each writer changes its own fields, under compare-and-set, and keeps the others."""

    name: QueueName
    last_green_uri: MaybeUri = ""
    last_green_request_id: MaybeRequestId = ""
    in_flight_count: Annotated[int, Integer(0, 2**31 - 1)] = 0
    slot_holders: tuple[str, ...] = ()
    """The requests that hold the slots counted, so that none is ever claimed or released twice; 64 KiB in all."""
    latest_request_id: MaybeRequestId = ""
    admission_state: Annotated[bytes, Blob()] = b""
    """The admission gate's own bytes, never looked into here."""
    enabled: bool = False
    enablement_sequence: Annotated[int, Integer(0)] = 0
    """The occurrence in the queue's log that `enabled` is taken from; 0 before the first."""
    version: Version = 1


class QueueLog(Record):
    """One change of a queue's enablement, numbered from 1 without gaps."""

    queue: QueueName
    sequence: Annotated[int, Integer(1)]
    operation_id: Annotated[str, Identifier(255)]
    """The caller's own name for the change; a replay has the same."""
    enabled: bool
    effective_commit_uri: MaybeUri
    """The first commit that the change applies to; empty where it has no boundary."""
    reason: Annotated[str, Text(4096)]
    occurred_at_ms: Annotated[int, Millis(positive=True)]


class EnablementOperation(Record):
    """Where in the queue's log an operation is. Written after the occurrence itself, and never again."""

    queue: QueueName
    operation_id: Annotated[str, Identifier(255)]
    sequence: Annotated[int, Integer(1)]


class QueueSummary(Record):
    """How a queue's enablement is shown: the last occurrence that was projected from its log."""

    queue: QueueName
    enabled: bool
    enablement_sequence: Annotated[int, Integer(1)]
    effective_commit_uri: MaybeUri
    reason: Annotated[str, Text(4096)]
    occurred_at_ms: Annotated[int, Millis(positive=True)]
    version: Version = 1


# What holds over several columns of one record


def _log_rule(log: RequestLog) -> str | None:
    if (log.state is None) == (log.event is None):
        return "a log has a state or an event, not both and not neither"
    if (log.state is None) != (log.request_version == 0):
        return "a state has the request's version, an event has version 0"
    reasons = REASONS[log.state] if log.state is not None else frozenset()
    if log.outcome_reason is None and reasons:
        return f"{log.state} needs a reason"
    if log.outcome_reason is not None and log.outcome_reason not in reasons:
        return f"{log.outcome_reason} is no reason for {log.state or log.event}"
    return None


def _summary_rule(summary: RequestSummary) -> str | None:
    if summary.outcome_reason is not None and summary.outcome_reason not in REASONS[summary.state]:
        return f"{summary.outcome_reason} is no reason for {summary.state}"
    return None


def _fact_rule(fact: ValidationFact) -> str | None:
    if not fact.project and fact.degree not in (0, 1):
        return "the whole repository is green (0) or broken (1)"
    return None


# Tables

REQUESTS: Final = Table("stovepipe_requests", Request, key=("queue", "id"), scope=1, changes=VERSIONED("version"))
REQUEST_NUMBERS: Final = Table(
    "stovepipe_request_numbers", RequestNumber, key=("queue", "number"), scope=1, changes=NEVER
)
REQUEST_URIS: Final = Table("stovepipe_request_uris", RequestUri, key=("queue", "uri"), scope=1, changes=NEVER)
REQUEST_LOG: Final = Table(
    "stovepipe_request_log", RequestLog, key=("queue", "request_id", "id"), scope=1, changes=NEVER, rule=_log_rule
)
REQUEST_SUMMARIES: Final = Table(
    "stovepipe_request_summaries",
    RequestSummary,
    key=("queue", "request_id"),
    scope=1,
    changes=VERSIONED("version"),
    rule=_summary_rule,
)
ACCEPTANCES: Final = Table(
    "stovepipe_request_acceptances",
    RequestAcceptance,
    key=("queue", "accepted_at_ms", "request_id"),
    scope=1,
    changes=NEVER,
)
BUILDS: Final = Table("stovepipe_builds", Build, key=("queue", "id"), scope=1, changes=VERSIONED("version"))
FACTS: Final = Table(
    "stovepipe_facts", ValidationFact, key=("queue", "uri", "project"), scope=1, changes=NEVER, rule=_fact_rule
)
FACTS_BY_DEGREE: Final = Table(
    "stovepipe_facts_by_degree",
    ProjectFactByDegree,
    key=("queue", "uri", desc("degree"), "project"),
    scope=1,
    changes=NEVER,
)
BUILD_ISSUES: Final = Table(
    "stovepipe_build_issues", BuildIssue, key=("queue", "build", "task", "unit"), scope=1, changes=NEVER
)
OPEN_ISSUES: Final = Table(
    "stovepipe_open_issues", OpenIssue, key=("queue", "task", "unit"), scope=1, changes=MEMBERSHIP
)
ISSUE_LOG: Final = Table(
    "stovepipe_issue_log", IssueLog, key=("queue", "task", "unit", "build", "event"), scope=1, changes=NEVER
)
ISSUE_MARKS: Final = Table("stovepipe_issue_marks", IssueMark, key=("queue",), scope=1, changes=VERSIONED("version"))
QUEUES: Final = Table("stovepipe_queues", Queue, key=("name",), scope=1, changes=VERSIONED("version"))
QUEUE_LOG: Final = Table("stovepipe_queue_log", QueueLog, key=("queue", "sequence"), scope=1, changes=NEVER)
ENABLEMENT_OPERATIONS: Final = Table(
    "stovepipe_enablement_operations", EnablementOperation, key=("queue", "operation_id"), scope=1, changes=NEVER
)
QUEUE_SUMMARIES: Final = Table(
    "stovepipe_queue_summaries", QueueSummary, key=("queue",), scope=1, changes=VERSIONED("version")
)

SCHEMA: Final = Schema(
    "stovepipe",
    REQUESTS,
    REQUEST_NUMBERS,
    REQUEST_URIS,
    REQUEST_LOG,
    REQUEST_SUMMARIES,
    ACCEPTANCES,
    BUILDS,
    FACTS,
    FACTS_BY_DEGREE,
    BUILD_ISSUES,
    OPEN_ISSUES,
    ISSUE_LOG,
    ISSUE_MARKS,
    QUEUES,
    QUEUE_LOG,
    ENABLEMENT_OPERATIONS,
    QUEUE_SUMMARIES,
)
"""All tables of the domain."""
