"""The issue reconciler: which issues are open follows the newest build that was analyzed to its end.

A mark in each queue says whose analysis counts: that of the newest request, in the order of ingest, that has come to
be reconciled; of its builds, that of the first. Only once all that a build showed is kept does the mark move to it,
so anyone who finds the mark can bring membership to what it says. A transition is logged before membership changes:
what is open was logged as opened, and what is gone as resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

from strongroom.domains.stovepipe.faults import FAULTS, AlreadyExists
from strongroom.domains.stovepipe.flows._common import RIVALS, creating, moment
from strongroom.domains.stovepipe.flows.request_ids import is_newer, request_number
from strongroom.domains.stovepipe.issues import START, Issue, IssueCursor
from strongroom.domains.stovepipe.records import (
    BUILD_ISSUES,
    ISSUE_MARKS,
    BuildIssue,
    IssueLog,
    IssueMark,
    OpenIssue,
)
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import IssueEvent
from strongroom.engine import retry
from strongroom.errors import InvalidArgument
from strongroom.patterns import ScopedTable

I = TypeVar("I", BuildIssue, OpenIssue)  # noqa: E741 - an issue, of either kind

_PAGE: Final = 1000


class Reconciled(NamedTuple):
    """What a reconciliation came to."""

    build: str
    """The build that the open issues follow now. Another one than was asked for: that one was stale."""
    opened: tuple[Issue, ...]
    """The issues that this run opened."""
    resolved: tuple[Issue, ...]
    """The issues that this run resolved."""


def reconcile_issues(storage: Storage, build_id: str, issues: Iterable[Issue], *, now: int | None = None) -> Reconciled:
    """Take in one build's complete analysis: open what it shows, keep what is open, resolve what it doesn't show.

    `issues` are all that the build showed, in any order; with what was kept for it before, they become its
    observations. They count if the build's request is newer, in the order of ingest, than every other one that came
    here, and no other build of the same request was first. Otherwise the build is stale: its observations are kept,
    and open issues go by the newest one. An issue that is shown again keeps its opening. Transitions are logged
    with `now` (Unix ms; by default the engine's clock), and with the time of whoever logged them first.

    Safe to stop at every write and to run again, and beside other runs: a newer one is never undone for good. A run
    that is overtaken may have one change of an issue under way, and no more; it sees that before it returns, and
    puts right what the newer one says otherwise. Where it dies just there, its next run does, or any later one.

    Raises `InvalidArgument`, nothing written, for issues or a time out of range; `NotFound` for a build that is not
    there; `Conflict` (retryable) where rivals won every attempt at the mark.
    """
    now = moment(storage, now)
    request_id = storage.builds.get(build_id).request_id
    request_number(request_id)
    shown = list(issues)
    for issue in shown:
        if type(issue) is not Issue:
            raise InvalidArgument(f"an issue is an Issue, not {type(issue).__name__}")
        BUILD_ISSUES.check(BuildIssue(storage.queue, build_id, issue.task, issue.unit))
    for issue in sorted(set(shown)):
        with suppress(AlreadyExists):
            storage.build_issues.create(build_id, issue)
    run = _Run(storage, now)
    retry(lambda: run.advance(IssueMark(storage.queue, request_id, build_id)), backoff=RIVALS)
    return run.follow()


class _Run:
    def __init__(self, storage: Storage, now: int) -> None:
        self._storage = storage
        self._now = now
        self._marks = ScopedTable(storage.engine, ISSUE_MARKS, (storage.queue,), FAULTS)
        self._opened: list[Issue] = []
        self._resolved: list[Issue] = []

    def advance(self, mark: IssueMark) -> None:
        """Move the queue's mark to this one if that is newer; `VersionMismatch` where another came between."""
        stored = self._marks.find()
        if stored is None:
            with creating(ISSUE_MARKS, mark.queue):
                self._marks.insert(mark)
        elif is_newer(mark.request_id, stored.request_id):
            self._marks.update(mark.replace(version=stored.version + 1), expect=stored.version)

    def follow(self) -> Reconciled:
        """Bring the open issues to what the mark says, until it is still there afterwards."""
        mark = self._marks.get()
        while True:
            self._bring_to(mark)
            latest = self._marks.get()
            if latest == mark:
                return Reconciled(mark.build, tuple(self._opened), tuple(self._resolved))
            mark = latest

    def _bring_to(self, mark: IssueMark) -> None:
        """Open and resolve what must be, as long as the mark stands."""
        build_issues, open_issues = self._storage.build_issues, self._storage.open_issues
        observed = _all(lambda after: build_issues.list(mark.build, after=after, limit=_PAGE))
        shown = {Issue(row.task, row.unit) for row in observed}
        openings = {
            Issue(row.task, row.unit): row.first_seen_build
            for row in _all(lambda after: open_issues.list(after=after, limit=_PAGE))
        }
        for issue in sorted(openings.keys() - shown):
            if self._marks.find() != mark:
                return
            self._log(issue, mark, IssueEvent.RESOLVED)
            if open_issues.delete(issue.task, issue.unit, openings[issue]):
                self._resolved.append(issue)
        for issue in sorted(shown - openings.keys()):
            if self._marks.find() != mark:
                return
            self._log(issue, mark, IssueEvent.OPENED)
            with suppress(AlreadyExists):
                open_issues.create(OpenIssue(mark.queue, issue.task, issue.unit, mark.build))
                self._opened.append(issue)

    def _log(self, issue: Issue, mark: IssueMark, event: IssueEvent) -> None:
        with suppress(AlreadyExists):
            self._storage.issue_log.create(IssueLog(mark.queue, issue.task, issue.unit, mark.build, event, self._now))


def _all(page: Callable[[IssueCursor], Sequence[I]]) -> list[I]:
    """All rows of a listing, page by page: no snapshot while others write."""
    rows: list[I] = []
    while True:
        found = page(IssueCursor.of(rows[-1]) if rows else START)
        rows += found
        if len(found) < _PAGE:
            return rows
