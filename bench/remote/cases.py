"""Single calls, transactions and many callers at once, on a server, beside its raw driver.

Where many callers write, the raw side has as many connections as Strongroom turned out to use, each with a thread of
its own that commits one write at a time.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Final

from bench.measure import Goal, Line, Side, at_least, at_most
from bench.raw import ASYNC_CALLERS, PAGE, WRITERS, fill
from bench.remote.raw import Kind, Raw, Running
from bench.tables import JOBS, QUEUE, job, job_id
from bench.workshop import Case, Work, Workshop, alone
from strongroom import Transaction
from strongroom.engine import Engine

READERS: Final = 8
POOL: Final = 8
"""How many connections an ordinary program would have in its pool."""

_CHANGED: Final = 256
"""How many rows are changed in turn."""

Measure = Callable[[Kind, Workshop], Iterator[Line]]


def _filled(shop: Workshop, running: Running, rows: int) -> tuple[Engine, str]:
    """A room with rows in it, and its store's name."""
    store = shop.name("store")
    room = running.room(shop, store)
    fill(room, rows, batch=running.kind.batch)
    running.admin.tidy(store)
    return room, store


def _line(
    kind: Kind, shop: Workshop, bench: str, ours: Side, theirs: Side, goal: Goal, **details: object
) -> Iterator[Line]:
    running = kind.running(shop)
    yield shop.compare(kind.group, bench, ours, theirs, goal, "raw", server=running.about, **details)


def _reads(kind: Kind, shop: Workshop) -> tuple[Engine, str, Iterator[str]]:
    """A filled room, its store's name, and ids at random places, each with a page's worth of jobs behind it."""
    rows = 1_000 if shop.quick else 10_000
    room, store = _filled(shop, kind.running(shop), rows)
    return room, store, itertools.cycle([job_id((n * 7919) % (rows - PAGE)) for n in range(rows)])


def point_read(kind: Kind, shop: Workshop) -> Iterator[Line]:
    room, store, ids = _reads(kind, shop)
    raw = kind.running(shop).raw(shop, store)

    def ours(n: int) -> None:
        get = room.get
        for id in itertools.islice(ids, n):
            get(JOBS, QUEUE, id)

    def theirs(n: int) -> None:
        read = raw.read
        for id in itertools.islice(ids, n):
            read(id)

    yield from _line(kind, shop, "point read", Side(ours), Side(theirs), kind.read_goal)


def point_reads(kind: Kind, shop: Workshop) -> Iterator[Line]:
    room, store, ids = _reads(kind, shop)
    raws = [kind.running(shop).raw(shop, store) for _ in range(READERS)]

    def ours(_caller: int, n: int) -> None:
        get = room.get
        for id in itertools.islice(ids, n):
            get(JOBS, QUEUE, id)

    def theirs(caller: int, n: int) -> None:
        read = raws[caller].read
        for id in itertools.islice(ids, n):
            read(id)

    crew = shop.crew(READERS)
    yield from _line(
        kind,
        shop,
        f"point read, {READERS} threads",
        crew.side(ours),
        crew.side(theirs),
        kind.read_goal,
        threads=READERS,
    )


def page(kind: Kind, shop: Workshop) -> Iterator[Line]:
    room, store, cursors = _reads(kind, shop)
    raw = kind.running(shop).raw(shop, store)

    def ours(n: int) -> None:
        for id in itertools.islice(cursors, n):
            room.scan(JOBS, QUEUE, after=(id,), limit=PAGE)

    def theirs(n: int) -> None:
        for id in itertools.islice(cursors, n):
            raw.page(id, PAGE)

    yield from _line(kind, shop, f"page of {PAGE}", Side(ours), Side(theirs), at_most(1.6))


def transaction(kind: Kind, shop: Workshop) -> Iterator[Line]:
    running = kind.running(shop)
    room, _ = _filled(shop, running, _CHANGED)
    _, other = _filled(shop, running, _CHANGED)
    raw = running.raw(shop, other)
    ids = itertools.cycle([job_id(n) for n in range(_CHANGED)])

    def change(transaction: Transaction, id: str) -> None:
        found = transaction.get(JOBS, QUEUE, id)
        assert found is not None
        transaction.update(JOBS, found.replace(version=found.version + 1), expect=found.version)

    def ours(n: int) -> None:
        for id in itertools.islice(ids, n):
            room.write(functools.partial(change, id=id))

    def theirs(n: int) -> None:
        for id in itertools.islice(ids, n):
            raw.change(id)

    bench = "write transaction, one caller"
    yield from _line(kind, shop, bench, Side(ours), Side(theirs), kind.transaction_goal)


class _Inserts:
    """A room into which jobs are inserted by however many callers, and raw connections that do the same."""

    def __init__(self, kind: Kind, shop: Workshop) -> None:
        self._running = running = kind.running(shop)
        self._shop = shop
        self._store = running.tables(shop)
        self._numbers, self._raw_numbers = itertools.count(), itertools.count()
        self.room = running.room(shop, shop.name("store"))
        self._raws: list[Raw] = []

    def connections(self) -> int:
        """How many the room has by now, with what it was asked for up to here."""
        return self._running.kind.connections(self.room)

    def ours(self, _caller: int, n: int) -> None:
        for _ in range(n):
            self.room.insert(JOBS, job(job_id(next(self._numbers))))

    async def ours_async(self, n: int) -> None:
        for _ in range(n):
            await self.room.run(self.room.insert, JOBS, job(job_id(next(self._numbers))))

    def theirs(self, connections: int) -> Work:
        """The raw side's work, with so many connections."""
        self._raws = [self._running.raw(self._shop, self._store) for _ in range(connections)]

        def work(caller: int, n: int) -> None:
            insert = self._raws[caller].insert
            for _ in range(n):
                insert(job_id(next(self._raw_numbers)))

        return work


def durable_insert(kind: Kind, shop: Workshop) -> Iterator[Line]:
    inserts = _Inserts(kind, shop)
    bench = "durable insert, one caller"
    yield from _line(kind, shop, bench, alone(inserts.ours), alone(inserts.theirs(1)), kind.insert_goal)


def writers(kind: Kind, shop: Workshop) -> Iterator[Line]:
    inserts = _Inserts(kind, shop)
    crew = shop.crew(WRITERS)
    ours = crew.side(inserts.ours)
    crew.run(inserts.ours, 2)
    yield from _against_as_many(kind, shop, inserts, f"{WRITERS} threads writing", ours)


def against_a_pool(kind: Kind, shop: Workshop) -> Iterator[Line]:
    inserts = _Inserts(kind, shop)
    ours, theirs = shop.crew(WRITERS).side(inserts.ours), shop.crew(POOL).side(inserts.theirs(POOL))
    bench = f"{WRITERS} threads writing, against {POOL} raw connections"
    yield from _line(kind, shop, bench, ours, theirs, at_least(1), raw_connections=POOL)


def async_callers(kind: Kind, shop: Workshop) -> Iterator[Line]:
    inserts = _Inserts(kind, shop)
    loop = asyncio.Runner()
    shop.closing(loop.close)

    async def all_at_once(n: int) -> None:
        await asyncio.gather(*(inserts.ours_async(n) for _ in range(ASYNC_CALLERS)))

    def run(n: int) -> None:
        loop.run(all_at_once(n))

    run(1)
    ours = Side(run, jobs=ASYNC_CALLERS, least=4)
    yield from _against_as_many(kind, shop, inserts, f"{ASYNC_CALLERS} asyncio callers writing", ours)


def _against_as_many(kind: Kind, shop: Workshop, inserts: _Inserts, bench: str, ours: Side) -> Iterator[Line]:
    """The line of a side that has written, against as many raw connections as it needed for that."""
    connections = inserts.connections()
    theirs = shop.crew(connections).side(inserts.theirs(connections))
    yield from _line(kind, shop, bench, ours, theirs, kind.writers_goal, raw_connections=connections)


def cases(kind: Kind) -> tuple[Case, ...]:
    """The cases of one kind of server."""

    def case(name: str, measure: Measure, says: str) -> Case:
        return Case(kind.group, f"{kind.group} {name}", functools.partial(measure, kind), says)

    return (
        case("point read", point_read, "one record by its key"),
        case("point reads", point_reads, f"the same by {READERS} threads at once"),
        case("page", page, f"{PAGE} records after a cursor"),
        case("transaction", transaction, "read a record and write it by compare-and-set, in one transaction"),
        case("insert", durable_insert, "one caller, one flush each"),
        case("writers", writers, f"{WRITERS} threads that insert at once"),
        case("writers against a pool", against_a_pool, f"the same, against {POOL} raw connections"),
        case("async", async_callers, f"{ASYNC_CALLERS} asyncio callers that insert at once"),
    )
