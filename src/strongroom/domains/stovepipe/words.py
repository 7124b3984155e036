"""The words of Stovepipe: states, strategies, statuses, events and reasons, spelled as they are stored.

Where the source writes "" for "not known (yet)", a record's field is None: none of these words is ever empty.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class RequestState(StrEnum):
    """Where the validation of one commit stands."""

    ACCEPTED = "accepted"
    PROCESSING = "processing"
    SUPERSEDED = "superseded"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether the request has ended."""
        return self not in (RequestState.ACCEPTED, RequestState.PROCESSING)

    @property
    def has_build_outcome(self) -> bool:
        """Whether the request ended with its build, rather than by being superseded."""
        return self in (RequestState.SUCCEEDED, RequestState.FAILED, RequestState.CANCELLED)


class BuildStrategy(StrEnum):
    """What a request's build starts from."""

    INCREMENTAL_SINCE_GREEN = "incremental_since_green"
    FULL = "full"


class BuildStatus(StrEnum):
    """What a build's runner last said of it."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether the build has ended."""
        return self not in (BuildStatus.ACCEPTED, BuildStatus.RUNNING)


class RequestEvent(StrEnum):
    """What can happen to a request without changing its state."""

    BUILD_TRIGGERED = "build_triggered"
    BUILD_FINISHED = "build_finished"
    VALIDATION_FACT_RECORDED = "validation_fact_recorded"
    PROMOTION_FAILED = "promotion_failed"


class OutcomeReason(StrEnum):
    """Why a request ended as it did."""

    SUPERSEDED_BY_NEWER_HEAD = "superseded_by_newer_head"
    BUILD_SUCCEEDED = "build_succeeded"
    BUILD_CANCELLED = "build_cancelled"
    BUILD_FAILED = "build_failed"
    PROCESSING_FAILED = "processing_failed"
    BUILD_POLLING_EXHAUSTED = "build_polling_exhausted"
    VALIDATION_TIMEOUT = "validation_timeout"


class IssueEvent(StrEnum):
    """The two transitions of an issue."""

    OPENED = "opened"
    RESOLVED = "resolved"


class MetadataKey(StrEnum):
    """The keys that a request log's metadata is written with; the stores never read them."""

    BASE_URI = "base_uri"
    BUILD_ID = "build_id"
    FACT_DEGREE = "fact_degree"


REASONS: Final[dict[RequestState, frozenset[OutcomeReason]]] = {
    RequestState.ACCEPTED: frozenset(),
    RequestState.PROCESSING: frozenset(),
    RequestState.SUPERSEDED: frozenset({OutcomeReason.SUPERSEDED_BY_NEWER_HEAD}),
    RequestState.SUCCEEDED: frozenset({OutcomeReason.BUILD_SUCCEEDED}),
    RequestState.CANCELLED: frozenset({OutcomeReason.BUILD_CANCELLED}),
    RequestState.FAILED: frozenset(
        {
            OutcomeReason.BUILD_FAILED,
            OutcomeReason.PROCESSING_FAILED,
            OutcomeReason.BUILD_POLLING_EXHAUSTED,
            OutcomeReason.VALIDATION_TIMEOUT,
        }
    ),
}
"""The reasons that each state can have: none before the end, and one of these with it."""
