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
from urllib.parse import urlsplit

from bench.measure import Line
from bench.peers.common import FILES, LOCK_TIMEOUT, THREADS, Case, Place, Workshop, against, peer
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


def _environment(shop: Workshop, place: Place) -> dict[str, str]:
    """The settings of an application with a new database."""
    new = place.new(shop, "events")
    if place is FILES:
        return {
            "PERSISTENCE_MODULE": "eventsourcing.sqlite",
            "SQLITE_DBNAME": new,
            "SQLITE_LOCK_TIMEOUT": str(LOCK_TIMEOUT),
        }
    address = urlsplit(new)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": address.path.lstrip("/"),
        "POSTGRES_HOST": address.hostname or "",
        "POSTGRES_PORT": str(address.port),
        "POSTGRES_USER": address.username or "",
        "POSTGRES_PASSWORD": "",  # none is asked for
        "POSTGRES_POOL_SIZE": str(THREADS),
    }


def _application(shop: Workshop, place: Place) -> tuple[Any, list[Any], str]:
    """An application, an aggregate of it for each thread, and its flush setting."""
    aggregate, application = _classes()
    made = application(env=_environment(shop, place))
    shop.closing(made.close)

    def read(sql: str) -> Any:
        connected = made.factory.datastore.get_connection(**({"commit": True} if place is FILES else {}))
        with connected as connection, connection.cursor() as cursor:
            found = cursor.execute(sql).fetchone()
            return found[0] if place is FILES else next(iter(found.values()))

    flush = place.check_flush(shop, "eventsourcing", read)
    return made, [aggregate(QUEUE) for _ in range(THREADS)], flush


def append(place: Place, shop: Workshop) -> Iterator[Line]:
    requests, aggregates, flush = _application(shop, place)
    room = place.room(shop)

    def make(position: int) -> Entry:
        return entry(QUEUE, position)

    def ours(_caller: int, n: int) -> None:
        for _ in range(n):
            LOG.append(room, QUEUE, make=make)

    def theirs(caller: int, n: int) -> None:
        for _ in range(n):
            aggregates[caller].accept("trunk/request-4711", PAYLOAD)
            requests.save(aggregates[caller])

    yield from against(shop, "eventsourcing", "eventsourcing append", ours, theirs, flush, place=place)


def read(place: Place, shop: Workshop) -> Iterator[Line]:
    requests, aggregates, flush = _application(shop, place)
    rows = 1_000 if shop.quick else 10_000
    room = place.room(shop)
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

    yield from against(shop, "eventsourcing", f"eventsourcing page of {_PAGE}", ours, theirs, flush, place=place)


def cases(place: Place) -> tuple[Case, ...]:
    """The cases at one place."""
    group, at = place.group, place.suffix.lower()
    return (
        Case(group, f"eventsourcing append{at}", functools.partial(append, place), "append an event to a log"),
        Case(group, f"eventsourcing page{at}", functools.partial(read, place), f"read {_PAGE} events from a log"),
    )
