"""What is on record of a queue: its newest commits, its open issues, its projects, and whether it is enabled.

Reads only, and no git repository: what a report says of a commit was kept when that was validated. It is put together
from several reads, so a queue that is at work may show a commit a moment further on than an issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from strongroom.domains.stovepipe import (
    IssueEvent,
    NotFound,
    OpenIssue,
    QueueLog,
    RequestSummary,
    Storage,
    ValidationFact,
)
from strongroom.domains.stovepipe.flows import list_requests
from strongroom.errors import InvalidArgument
from strongroom.records import MAX_INTEGER
from strongroom.validator.records import Run, RunState
from strongroom.validator.runs import Runs

MAX_REPORT: Final = 1_000
"""The most commits, issues and projects that one report has of each."""

_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class ReportedCommit:
    """One commit of the queue."""

    summary: RequestSummary
    fact: ValidationFact | None
    """The whole repository's; None where nothing is proved (yet)."""
    run: Run | None
    """The execution that decided, else the last one there was; None where there was none."""


@dataclass(frozen=True, slots=True)
class ReportedIssue:
    """One open issue."""

    issue: OpenIssue
    uri: str
    """The commit whose build opened it."""
    opened_at_ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """What is on record of one queue. Every list is cut at the report's limit."""

    queue: str
    enablement: QueueLog | None
    """The last change of it, None before the first."""
    last_green_uri: str
    in_flight: int
    commits: tuple[ReportedCommit, ...]
    """Newest first, in the order in which they were taken in."""
    more_commits: bool
    issues: tuple[ReportedIssue, ...]
    """By task and unit."""
    more_issues: bool
    projects_uri: str
    """The newest of the commits of which anything is proved; empty for none."""
    projects: tuple[ValidationFact, ...]
    """That one's projects, most broken first."""
    more_projects: bool


def report_on(storage: Storage, runs: Runs | None, *, limit: int = 20) -> Report:
    """A queue's report, with at most `limit` (1 to `MAX_REPORT`) of its commits, issues and projects each.

    `runs` is None for a store that no validator ever wrote to. Raises `NotFound` for a queue that is not there,
    `InvalidArgument` for a limit out of range, and `Corrupt` as the stores do.
    """
    if not 1 <= limit <= MAX_REPORT:
        raise InvalidArgument(f"the limit must be 1 to {MAX_REPORT}, not {limit}")
    try:
        queue = storage.queues.get(storage.queue)
    except NotFound:
        raise NotFound(f"the store has no queue {storage.queue}") from None
    enablement = None
    with suppress(NotFound):
        enablement = storage.queue_log.latest()
    summaries = list(_newest(storage, limit + 1))
    commits = [_commit(storage, runs, summary) for summary in summaries[:limit]]
    issues = storage.open_issues.list(limit=limit + 1)
    proved = next((commit.summary.uri for commit in commits if commit.fact is not None), "")
    projects = storage.facts_by_degree.list(proved, limit=limit + 1) if proved else []
    return Report(
        storage.queue,
        enablement,
        queue.last_green_uri,
        queue.in_flight_count,
        tuple(commits),
        len(summaries) > limit,
        tuple(_issue(storage, issue) for issue in issues[:limit]),
        len(issues) > limit,
        proved,
        tuple(projects[:limit]),
        len(projects) > limit,
    )


def _newest(storage: Storage, limit: int) -> Iterator[RequestSummary]:
    token = ""
    while limit > 0:
        page = list_requests(storage, accepted_before_ms=MAX_INTEGER, limit=min(limit, _PAGE), token=token)
        yield from page.summaries
        limit -= len(page.summaries)
        token = page.token
        if not token:
            return


def _commit(storage: Storage, runs: Runs | None, summary: RequestSummary) -> ReportedCommit:
    fact = None
    with suppress(NotFound):
        fact = storage.facts.get(summary.uri)
    of_request = runs.of(summary.request_id) if runs else []
    ended = [run for run in of_request if run.state is RunState.ENDED]
    return ReportedCommit(summary, fact, next(iter(ended or reversed(of_request)), None))


def _issue(storage: Storage, issue: OpenIssue) -> ReportedIssue:
    request_id = storage.builds.get(issue.first_seen_build).request_id
    opened = storage.issue_log.get(issue.task, issue.unit, issue.first_seen_build, IssueEvent.OPENED)
    return ReportedIssue(issue, storage.requests.get(request_id).uri, opened.timestamp_ms)
