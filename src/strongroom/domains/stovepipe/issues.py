"""Issues: what each build showed, which issues are open now, and when each was opened and resolved.

Three memories that never touch one another. Observations and transitions are history and stay; membership is the
present and holds open issues only. Identifiers are compared byte for byte and never cut: a task has 1 to 255 bytes,
a unit 0 to 1,024 (empty: the issue is the whole task's), a build 1 to 1,020. Builds are names, not places in an order.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from strongroom.domains.stovepipe.faults import FAULTS
from strongroom.domains.stovepipe.records import (
    BUILD_ISSUES,
    ISSUE_LOG,
    OPEN_ISSUES,
    BuildIssue,
    IssueLog,
    OpenIssue,
)
from strongroom.domains.stovepipe.words import IssueEvent
from strongroom.engine import Writer
from strongroom.patterns import ScopedTable


class Issue(NamedTuple):
    """An issue as it is detected: of a unit of a task, or (`unit` empty) of the whole task."""

    task: str
    unit: str = ""


class IssueCursor(NamedTuple):
    """The issue that a listing goes on behind; it need not exist. Both empty: from the start.

    It is a place in the order of keys, not in a store, and stays true whatever is written or restored.
    """

    task: str = ""
    unit: str = ""

    @classmethod
    def of(cls, issue: BuildIssue | OpenIssue) -> Self:
        """The cursor that stands at this issue: the last of a page, to get the next one."""
        return cls(issue.task, issue.unit)


START: Final = IssueCursor()


class BuildIssueStore:
    """The issues that each build of the queue showed: immutable observations, one row each."""

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, BUILD_ISSUES, (queue,), FAULTS)
        self._queue = queue

    def create(self, build: str, issue: Issue) -> None:
        """Keep what a build showed.

        Raises `AlreadyExists` for an observation that was kept before, which a caller may take for success, and
        `InvalidArgument`, before the engine is asked, for identifiers over their limits and an empty build or task.
        """
        task, unit = issue
        self._rows.insert(BuildIssue(self._queue, build, task, unit))

    def get(self, build: str, task: str, unit: str = "") -> BuildIssue:
        """The observation; `NotFound` if the build showed no such issue. `InvalidArgument` as `create`."""
        return self._rows.get(build, task, unit)

    def list(self, build: str, *, after: IssueCursor = START, limit: int) -> list[BuildIssue]:
        """What a build showed, bytewise by task and unit, at most `limit` (1 to 10,000), behind `after`.

        An empty page says that nothing was observed in that range, not that the build succeeded or was looked at
        to the end. Pages are not a snapshot across calls (R2). Raises `InvalidArgument`, before the engine is asked,
        for a build, cursor or limit out of range, and for a cursor that has a unit and no task.
        """
        return self._rows.scan(build, after=_rest(after), limit=limit)


class OpenIssueStore:
    """The queue's open issues, and no others: a row is there while its issue is open.

    A row never changes. `first_seen_build` names this opening: when the issue is resolved and comes back, another
    build does. Nothing here looks at observations or history, or decides what is resolved.
    """

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, OPEN_ISSUES, (queue,), FAULTS)
        self._queue = queue

    def create(self, issue: OpenIssue) -> None:
        """Open an issue.

        Raises `AlreadyExists`, the present opening untouched, if it is open; before the engine is asked
        `ScopeMismatch` for another queue's, and `InvalidArgument` for identifiers out of range.
        """
        self._rows.insert(issue)

    def get(self, task: str, unit: str = "") -> OpenIssue:
        """The issue's present opening; `NotFound` if it is not open."""
        return self._rows.get(task, unit)

    def list(self, *, after: IssueCursor = START, limit: int) -> list[OpenIssue]:
        """The open issues, bytewise by task and unit, at most `limit` (1 to 10,000), behind `after`.

        Pages are not a snapshot across calls (R2): issues open and close between them. Raises `InvalidArgument`,
        before the engine is asked, for a cursor or limit out of range, and for a cursor that has a unit and no task.
        """
        return self._rows.scan(after=_rest(after), limit=limit)

    def delete(self, task: str, unit: str, first_seen_build: str) -> bool:
        """Close the opening that `first_seen_build` names: whether there was one to close (W3).

        Safe to repeat. An issue that is not open, and a later opening of the same issue, are left as they are.
        Raises `InvalidArgument`, before the engine is asked, for identifiers out of range.
        """
        return self._rows.delete(task, unit, expect=OpenIssue(self._queue, task, unit, first_seen_build))


class IssueLogStore:
    """When issues were opened and resolved: immutable, and kept when membership changes.

    Whether a transition makes sense beside the others, or beside membership, is not asked here.
    """

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, ISSUE_LOG, (queue,), FAULTS)

    def create(self, transition: IssueLog) -> None:
        """Keep a transition with the time at which it was first recorded.

        Raises `AlreadyExists`, the original time kept, for a replay: a caller may take that for success, or read the
        original; before the engine is asked `ScopeMismatch` for another queue's, and `InvalidArgument` for
        identifiers out of range, an unknown event, and a time that is not positive.
        """
        self._rows.insert(transition)

    def get(self, task: str, unit: str, build: str, event: IssueEvent) -> IssueLog:
        """The transition; `NotFound` if it was never recorded. `InvalidArgument` as `create`."""
        return self._rows.get(task, unit, build, event)


def _rest(cursor: IssueCursor) -> IssueCursor | None:
    return None if cursor == START else cursor
