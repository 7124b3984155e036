"""eventsourcing: aggregates whose events are kept in order, and read in that order by who follows.

Its ``save`` of an aggregate with one new event is our ``Log.append``: a durable commit that gives the event the next
place in a log of all events. Its followers read sections of its notification log and turn each notification into a
domain event; ours is ``Log.read``, whose entries are re-validated and have no gap. Sections of 100 are asked for in
the documented class attribute. Its connections have SQLite's default, FULL, already; it is read back from its pool.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, Final

from bench.measure import Line
from bench.peers.common import GROUP, LOCK_TIMEOUT, THREADS, Case, Workshop, against, check_flush, peer
from bench.tables import ENTRIES, LOG, PAYLOAD, QUEUE, Entry, entry, insert_all

_PAGE: Final = 100


@functools.cache
def _classes() -> tuple[Any, Any]:
    """An aggregate and its application; the library finds them by their names, so there is one of each."""
    domain, application = peer("eventsourcing.domain"), peer("eventsourcing.application")
    aggregate, base = domain.Aggregate, application.Application

    class Request(aggregate):  # type: ignore[misc, valid-type]
        def __init__(self, queue: str) -> None:
            self.queue = queue
            self.payload = ""

        @domain.event("Accepted")  # type: ignore[untyped-decorator]
        def accept(self, subject: str, payload: str) -> None:
            self.payload = payload

    class Requests(base):  # type: ignore[misc, valid-type]
        log_section_size = _PAGE

    return Request, Requests


def _application(shop: Workshop) -> tuple[Any, list[Any], str]:
    """An application, an aggregate of it for each thread, and its flush setting."""
    aggregate, application = _classes()
    made = application(
        env={
            "PERSISTENCE_MODULE": "eventsourcing.sqlite",
            "SQLITE_DBNAME": str(shop.folder() / "events.db"),
            "SQLITE_LOCK_TIMEOUT": str(LOCK_TIMEOUT),
        }
    )
    shop.closing(made.close)

    def read(sql: str) -> Any:
        with made.factory.datastore.get_connection(commit=True) as connection, connection.cursor() as cursor:
            return cursor.execute(sql).fetchone()[0]

    return made, [aggregate(QUEUE) for _ in range(THREADS)], check_flush("eventsourcing", read)


def append(shop: Workshop) -> Iterator[Line]:
    requests, aggregates, flush = _application(shop)
    room = shop.room()

    def make(position: int) -> Entry:
        return entry(QUEUE, position)

    def ours(_caller: int, n: int) -> None:
        for _ in range(n):
            LOG.append(room, QUEUE, make=make)

    def theirs(caller: int, n: int) -> None:
        for _ in range(n):
            aggregates[caller].accept("trunk/request-4711", PAYLOAD)
            requests.save(aggregates[caller])

    yield from against(shop, "eventsourcing", "eventsourcing append", ours, theirs, flush)


def read(shop: Workshop) -> Iterator[Line]:
    requests, aggregates, flush = _application(shop)
    rows = 1_000 if shop.quick else 10_000
    room = shop.room()
    insert_all(room, ENTRIES, [entry(QUEUE, n) for n in range(1, rows + 1)])
    for n in range(1, rows + 1):
        aggregates[0].accept("trunk/request-4711", PAYLOAD)
        if n % 1_000 == 0:
            requests.save(aggregates[0])  # many events in one commit: this is not what is timed
    starts = [(n * 7919) % (rows - _PAGE) for n in range(rows)]

    def ours(_caller: int, n: int) -> None:
        for start in itertools.islice(itertools.cycle(starts), n):
            assert len(LOG.read(room, QUEUE, after=start, limit=_PAGE)) == _PAGE

    def theirs(_caller: int, n: int) -> None:
        for start in itertools.islice(itertools.cycle(starts), n):
            found = requests.notification_log.select(start=start + 1, limit=_PAGE)
            assert len([requests.mapper.to_domain_event(notification) for notification in found]) == _PAGE

    yield from against(shop, "eventsourcing", f"eventsourcing page of {_PAGE}", ours, theirs, flush)


CASES: Final = (
    Case(GROUP, "eventsourcing append", append, "append an event to a log"),
    Case(GROUP, "eventsourcing page", read, f"read {_PAGE} events from a log"),
)
