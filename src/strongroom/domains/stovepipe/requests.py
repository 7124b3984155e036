"""Requests: the commits to validate, which of them owns a commit, their logs, summaries and order of acceptance.

Five tables that no transaction joins: each write is one row, and business logic writes them in an order that any
retry can go on from (mapping before request, log before summary, summary before acceptance).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Self

from strongroom.domains.stovepipe.faults import FAULTS, NotFound
from strongroom.domains.stovepipe.records import (
    ACCEPTANCES,
    REQUEST_LOG,
    REQUEST_SUMMARIES,
    REQUEST_URIS,
    REQUESTS,
    Request,
    RequestAcceptance,
    RequestLog,
    RequestSummary,
    RequestUri,
)
from strongroom.domains.stovepipe.versioned import VersionedStore
from strongroom.engine import Writer
from strongroom.errors import InvalidArgument, ScopeMismatch
from strongroom.patterns import ScopedTable
from strongroom.records import MAX_INTEGER


class RequestStore(VersionedStore[Request]):
    """The queue's requests, by id."""

    def __init__(self, port: Writer, queue: str) -> None:
        super().__init__(port, REQUESTS, queue)

    def get(self, request_id: str) -> Request:
        """The request; `NotFound` if the queue has none of that id. Ids are opaque, at most 255 bytes."""
        return self._rows.get(request_id)


class RequestUriStore:
    """Which request owns a commit, decided once: the gate that keeps a commit from being accepted twice."""

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, REQUEST_URIS, (queue,), FAULTS)
        self._queue = queue

    def create(self, uri: str, request_id: str) -> None:
        """Give the commit to the request, both at most 255 bytes.

        Raises `AlreadyExists` if it has an owner, even this very request; the loser of a race reads the winner.
        """
        self._rows.insert(RequestUri(self._queue, uri, request_id))

    def get_id_by_uri(self, uri: str) -> str:
        """The id of the request that owns the commit; `NotFound` if none does."""
        return self._rows.get(uri).request_id


class RequestLogStore:
    """What happened to each request: immutable occurrences, each named once and for all within its request."""

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, REQUEST_LOG, (queue,), FAULTS)

    def create(self, log: RequestLog) -> None:
        """Keep a new occurrence.

        Raises, before the engine is asked, `InvalidArgument` for a log that says nothing or too much (not exactly
        one of state and event, a version or reason that does not go with it, an empty id, a time that is not
        positive), and only then `ScopeMismatch` for another queue's; `AlreadyExists`, the original kept, if the
        occurrence has been logged.
        """
        try:
            self._rows.insert(log)
        except ScopeMismatch:
            # A log that is wrong in itself is refused as such, whosever it is.
            REQUEST_LOG.check(log)
            raise

    def get(self, request_id: str, log_id: str) -> RequestLog:
        """The occurrence; `NotFound` if the queue's request has none of that id."""
        return self._rows.get(request_id, log_id)

    def list(self, request_id: str) -> list[RequestLog]:
        """All occurrences of one request, by time, and bytewise by id where times are equal; `NotFound` if none.

        They are sorted here, after one bounded read of the request's own key range: a request comes into a handful
        of states and has a few events for each of its builds. Keeping them in the order of time would take a
        second row for each, which no single-record write could keep in step with the first.
        """
        logs = sorted(self._rows.walk(request_id), key=lambda log: (log.timestamp_ms, log.id))
        if not logs:
            raise NotFound(f"{REQUEST_LOG.name}: nothing is logged for this request of the queue")
        return logs


class RequestSummaryStore(VersionedStore[RequestSummary]):
    """How the queue's requests are shown. An update leaves the uri alone, and so reads before it writes."""

    retained: ClassVar[Collection[str]] = ("uri",)

    def __init__(self, port: Writer, queue: str) -> None:
        super().__init__(port, REQUEST_SUMMARIES, queue)

    def get(self, request_id: str) -> RequestSummary:
        """The request's summary; `NotFound` if there is none (yet)."""
        return self._rows.get(request_id)


class AcceptanceCursor(NamedTuple):
    """The acceptance that a listing goes on behind; it need not exist. Both empty: from the start.

    It is a place in the order of keys, not in a store, and stays true whatever is written or restored.
    """

    accepted_at_ms: int = 0
    request_id: str = ""

    @classmethod
    def of(cls, acceptance: RequestAcceptance) -> Self:
        """The cursor that stands at this acceptance: the last of a page, to get the next one."""
        return cls(acceptance.accepted_at_ms, acceptance.request_id)


NEWEST: Final = AcceptanceCursor()


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceRange:
    """Which acceptances to list: those of a window in time, older than the cursor, at most `limit` of them."""

    accepted_at_or_after_ms: int = 0
    """Included; 0 or more."""
    accepted_before_ms: int
    """Excluded; more than the lower bound."""
    before: AcceptanceCursor = NEWEST
    """Excluded."""
    limit: int
    """From 1 to 10,000."""


class RequestAcceptanceStore:
    """The queue's requests by the time that they were accepted: an ordered mapping that holds only its own keys."""

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, ACCEPTANCES, (queue,), FAULTS)

    def create(self, acceptance: RequestAcceptance) -> None:
        """Keep an entry: a time that is positive, and an id of 1 to 1,020 bytes.

        The same request at another time is another entry: that a request is accepted once is for its summary to
        say. Raises `AlreadyExists` for the same time and id; before the engine is asked `ScopeMismatch` for another
        queue's and `InvalidArgument` for values out of range.
        """
        self._rows.insert(acceptance)

    def list(self, wanted: AcceptanceRange) -> list[RequestAcceptance]:
        """The entries of a range, latest first, and bytewise from the last id where times are equal.

        An empty list if there are none; never a partial one. Pages are not a snapshot across calls (R2). Raises
        `InvalidArgument`, before the engine is asked, for a window that is negative or empty, a cursor that is
        negative or only half set, and a limit outside 1 to 10,000.
        """
        lower, upper, cursor = wanted.accepted_at_or_after_ms, wanted.accepted_before_ms, wanted.before
        if type(lower) is not int or type(upper) is not int or not 0 <= lower < upper <= MAX_INTEGER:
            raise InvalidArgument(f"{ACCEPTANCES.name}: a window is from 0 or more to a later time, in milliseconds")
        return self._rows.scan(
            start=(max(lower, 1),),  # no request was accepted at 0, and no key can say so
            stop=(upper,),
            after=None if cursor == NEWEST else cursor,
            limit=wanted.limit,
            reverse=True,
        )
