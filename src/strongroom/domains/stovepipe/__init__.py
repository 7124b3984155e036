"""Stovepipe: trunk validation. Requests, builds, facts, issues and enablement of each queue, one record at a time.

``stovepipe.open(engine).for_queue("monorepo/main")`` gives the stores of one queue; there is no way across queues.
Every store gets, puts, conditionally updates and scans by primary key alone, so that any key-value backend can keep
it; what takes several of them is business logic, written so that it can stop at every write and run again.
"""

from strongroom.domains.stovepipe.builds import (
    BuildStore,
    DegreeCursor,
    ProjectFactByDegreeStore,
    ValidationFactStore,
)
from strongroom.domains.stovepipe.faults import AlreadyExists, NotFound, VersionMismatch
from strongroom.domains.stovepipe.issues import BuildIssueStore, Issue, IssueCursor, IssueLogStore, OpenIssueStore
from strongroom.domains.stovepipe.queues import QueueLogStore, QueueStore, QueueSummaryStore
from strongroom.domains.stovepipe.records import (
    SCHEMA,
    Build,
    BuildIssue,
    IssueLog,
    OpenIssue,
    ProjectFactByDegree,
    Queue,
    QueueLog,
    QueueSummary,
    Request,
    RequestAcceptance,
    RequestLog,
    RequestSummary,
    RequestUri,
    ValidationFact,
)
from strongroom.domains.stovepipe.requests import (
    AcceptanceCursor,
    AcceptanceRange,
    RequestAcceptanceStore,
    RequestLogStore,
    RequestStore,
    RequestSummaryStore,
    RequestUriStore,
)
from strongroom.domains.stovepipe.storage import SUBJECT, Storage, Stovepipe, open
from strongroom.domains.stovepipe.words import (
    REASONS,
    BuildStatus,
    BuildStrategy,
    IssueEvent,
    MetadataKey,
    OutcomeReason,
    RequestEvent,
    RequestState,
)

__all__ = [
    "REASONS",
    "SCHEMA",
    "SUBJECT",
    "AcceptanceCursor",
    "AcceptanceRange",
    "AlreadyExists",
    "Build",
    "BuildIssue",
    "BuildIssueStore",
    "BuildStatus",
    "BuildStore",
    "BuildStrategy",
    "DegreeCursor",
    "Issue",
    "IssueCursor",
    "IssueEvent",
    "IssueLog",
    "IssueLogStore",
    "MetadataKey",
    "NotFound",
    "OpenIssue",
    "OpenIssueStore",
    "OutcomeReason",
    "ProjectFactByDegree",
    "ProjectFactByDegreeStore",
    "Queue",
    "QueueLog",
    "QueueLogStore",
    "QueueStore",
    "QueueSummary",
    "QueueSummaryStore",
    "Request",
    "RequestAcceptance",
    "RequestAcceptanceStore",
    "RequestEvent",
    "RequestLog",
    "RequestLogStore",
    "RequestState",
    "RequestStore",
    "RequestSummary",
    "RequestSummaryStore",
    "RequestUri",
    "RequestUriStore",
    "Storage",
    "Stovepipe",
    "ValidationFact",
    "ValidationFactStore",
    "VersionMismatch",
    "open",
]
