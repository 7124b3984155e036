"""One record of each kind, to be varied by keyword."""

from __future__ import annotations

from typing import Any

from strongroom.domains.stovepipe import (
    Build,
    BuildIssue,
    BuildStatus,
    BuildStrategy,
    IssueEvent,
    IssueLog,
    OpenIssue,
    Queue,
    QueueLog,
    QueueSummary,
    Request,
    RequestAcceptance,
    RequestEvent,
    RequestLog,
    RequestState,
    RequestSummary,
    ValidationFact,
)

QUEUE = "monorepo/main"
OTHER = "monorepo/release"
NOON = 1_790_000_000_000

ALIKE = ["a", "A", "a ", "\u00e1", "a\u0301", "🎩", "💥"]
"""Names that a database with opinions would take for each other: case, trailing space, composition, plane."""


def a_request(**changes: Any) -> Request:
    return Request(QUEUE, "request/monorepo/main/7", "git://monorepo/7").replace(**changes)


def a_processing_request(**changes: Any) -> Request:
    return a_request(
        state=RequestState.PROCESSING,
        build_strategy=BuildStrategy.INCREMENTAL_SINCE_GREEN,
        base_uri="git://monorepo/5",
        **changes,
    )


def a_log(**changes: Any) -> RequestLog:
    return RequestLog(
        QUEUE,
        "r-7",
        "event/build_triggered/b-1",
        NOON,
        event=RequestEvent.BUILD_TRIGGERED,
        metadata={"build_id": "b-1"},
    ).replace(**changes)


def a_state_log(state: RequestState = RequestState.ACCEPTED, version: int = 1, **changes: Any) -> RequestLog:
    return RequestLog(QUEUE, "r-7", f"state/{version}", NOON, state=state, request_version=version).replace(**changes)


def a_summary(**changes: Any) -> RequestSummary:
    return RequestSummary(QUEUE, "r-7", "git://monorepo/7", RequestState.ACCEPTED, 1, NOON, NOON).replace(**changes)


def an_acceptance(at: int = NOON, request_id: str = "r-7", **changes: Any) -> RequestAcceptance:
    return RequestAcceptance(QUEUE, at, request_id).replace(**changes)


def a_build(**changes: Any) -> Build:
    return Build(QUEUE, "b-1", "r-7", BuildStatus.ACCEPTED).replace(**changes)


def a_fact(**changes: Any) -> ValidationFact:
    return ValidationFact(QUEUE, "git://monorepo/7", "billing", 0.25, "r-7", NOON).replace(**changes)


def a_build_issue(**changes: Any) -> BuildIssue:
    return BuildIssue(QUEUE, "b-1", "//billing:test", "Invoice.rounds").replace(**changes)


def an_open_issue(**changes: Any) -> OpenIssue:
    return OpenIssue(QUEUE, "//billing:test", "Invoice.rounds", "b-1").replace(**changes)


def a_transition(**changes: Any) -> IssueLog:
    return IssueLog(QUEUE, "//billing:test", "Invoice.rounds", "b-1", IssueEvent.OPENED, NOON).replace(**changes)


def a_queue(**changes: Any) -> Queue:
    return Queue(
        QUEUE,
        last_green_uri="git://monorepo/5",
        last_green_request_id="r-5",
        in_flight_count=2,
        latest_request_id="r-7",
        admission_state=b"\x00\xff gate",
        enabled=True,
        enablement_sequence=3,
    ).replace(**changes)


def an_occurrence(sequence: int = 1, **changes: Any) -> QueueLog:
    return QueueLog(QUEUE, sequence, f"op-{sequence}", True, "git://monorepo/5", "first rollout", NOON).replace(
        **changes
    )


def a_queue_summary(**changes: Any) -> QueueSummary:
    return QueueSummary(QUEUE, True, 1, "git://monorepo/5", "first rollout", NOON).replace(**changes)
