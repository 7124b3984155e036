"""Against raw apsw: the engine's own statements, on a file of the same layout, by a connection set up like its own.

The raw side binds values and gets tuples of values back. It checks nothing, seals nothing, re-validates nothing and
has no second thread to think of: what stands above it is the price of the contract. One commit for each write is all
that it can do, so its rate of writes is that of the disk's flush.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from bench.measure import Line, Side, at_least, at_most
from bench.tables import JOBS, LOG, QUEUE, Entry, entry, insert_all, job, job_id
from bench.workshop import Case, Workshop, alone
from strongroom.engine import Engine
from strongroom.engines.sqlite.connections import connect
from strongroom.engines.sqlite.statements import Statements
from strongroom.records import RowCodec, Sealer, key_range

GROUP: Final = "raw"

PAGE: Final = 100
WRITERS: Final = 64
ASYNC_CALLERS: Final = 256
APPENDERS: Final = 8

_STATEMENTS: Final = Statements(JOBS)
_ROW: Final = RowCodec(JOBS, Sealer()).encode(job("job"))
_CHECKPOINT_PAGES: Final = 1_000
"""When the WAL is copied back: SQLite's default, and the engine's."""


def raw_connection(path: Path) -> apsw.Connection:
    """A connection set up by the engine itself; only it copies the WAL back by itself, when the engine would."""
    connection = connect(str(path), synchronous="full", timeout_ms=30_000, vfs=None)
    connection.wal_autocheckpoint(_CHECKPOINT_PAGES)
    return connection


def fill(room: Engine, rows: int, *, batch: int = 5_000) -> None:
    """Insert jobs number 0 to `rows`, many in one transaction."""
    for first in range(0, rows, batch):
        insert_all(room, JOBS, [job(job_id(n)) for n in range(first, min(rows, first + batch))])


def _filled(shop: Workshop) -> tuple[Engine, apsw.Connection, int]:
    """A room with rows in it, a raw connection to the same file, and how many rows there are."""
    rows = 1_000 if shop.quick else 10_000
    path = shop.file()
    room = shop.room(path)
    fill(room, rows)
    raw = raw_connection(path)
    shop.closing(raw.close)
    return room, raw, rows


def point_read(shop: Workshop) -> Iterator[Line]:
    room, raw, rows = _filled(shop)
    ids = [job_id((n * 7919) % rows) for n in range(rows)]

    def ours(n: int) -> None:
        get = room.get
        for id in itertools.islice(itertools.cycle(ids), n):
            get(JOBS, QUEUE, id)

    def theirs(n: int) -> None:
        execute, sql = raw.execute, _STATEMENTS.fetch
        for id in itertools.islice(itertools.cycle(ids), n):
            execute(sql, (QUEUE, id)).fetchone()

    yield shop.compare(GROUP, "point read", Side(ours), Side(theirs), at_most(1.5), "raw")


def page(shop: Workshop) -> Iterator[Line]:
    room, raw, rows = _filled(shop)
    cursors = [job_id((n * 7919) % (rows - PAGE)) for n in range(rows)]

    def ours(n: int) -> None:
        for id in itertools.islice(itertools.cycle(cursors), n):
            room.scan(JOBS, QUEUE, after=(id,), limit=PAGE)

    sql, _ = _STATEMENTS.range(key_range(JOBS, (QUEUE,), after=(cursors[0],), limit=PAGE))

    def theirs(n: int) -> None:
        for id in itertools.islice(itertools.cycle(cursors), n):
            raw.execute(sql, (QUEUE, id, PAGE)).fetchall()

    yield shop.compare(GROUP, f"page of {PAGE}", Side(ours), Side(theirs), at_most(2), "raw")


class _RawInserts:
    """One raw connection that inserts jobs, one commit each."""

    def __init__(self, shop: Workshop) -> None:
        self._connection = raw_connection(shop.file())
        shop.closing(self._connection.close)
        self._numbers = itertools.count()

    def run(self, n: int) -> None:
        execute, sql, row = self._connection.execute, _STATEMENTS.insert, _ROW
        for number in itertools.islice(self._numbers, n):
            execute(sql, (QUEUE, job_id(number), *row[2:]))


class _Inserts:
    """A room into which jobs are inserted, by however many callers."""

    def __init__(self, shop: Workshop) -> None:
        self.room = shop.room()
        self._numbers = itertools.count()

    def work(self, _caller: int, n: int) -> None:
        for _ in range(n):
            self.room.insert(JOBS, job(job_id(next(self._numbers))))

    async def work_async(self, n: int) -> None:
        for _ in range(n):
            await self.room.run(self.room.insert, JOBS, job(job_id(next(self._numbers))))


def durable_insert(shop: Workshop) -> Iterator[Line]:
    ours, theirs = alone(_Inserts(shop).work), Side(_RawInserts(shop).run)
    yield shop.compare(GROUP, "durable insert, one caller", ours, theirs, at_most(1.25), "raw")


def durable_update(shop: Workshop) -> Iterator[Line]:
    rows = 256
    room, raw = shop.room(), raw_connection(shop.file())
    shop.closing(raw.close)
    fill(room, rows)
    for n in range(rows):
        raw.execute(_STATEMENTS.insert, (QUEUE, job_id(n), *_ROW[2:]))
    held = [job(job_id(n)) for n in range(rows)]
    turns, raw_turns = itertools.count(), itertools.count()

    def ours(n: int) -> None:
        for turn in itertools.islice(turns, n):
            old = held[turn % rows]
            new = old.replace(version=old.version + 1)
            room.update(JOBS, new, expect=old.version)
            held[turn % rows] = new

    def theirs(n: int) -> None:
        for turn in itertools.islice(raw_turns, n):
            version = turn // rows + 1
            row = (QUEUE, job_id(turn % rows), version + 1, *_ROW[3:])
            sql, bindings = _STATEMENTS.replace(row[:2], row, "version", version)
            raw.execute(sql, bindings)
            assert raw.changes() == 1

    yield shop.compare(GROUP, "durable update, one caller", Side(ours), Side(theirs), at_most(1.25), "raw")


def writers(shop: Workshop) -> Iterator[Line]:
    ours, theirs = shop.crew(WRITERS).side(_Inserts(shop).work), Side(_RawInserts(shop).run, least=8)
    yield shop.compare(GROUP, f"{WRITERS} threads writing", ours, theirs, at_least(6), "raw")


def async_callers(shop: Workshop) -> Iterator[Line]:
    inserts = _Inserts(shop)
    loop = asyncio.Runner()
    shop.closing(loop.close)

    async def all_at_once(n: int) -> None:
        await asyncio.gather(*(inserts.work_async(n) for _ in range(ASYNC_CALLERS)))

    ours = Side(lambda n: loop.run(all_at_once(n)), jobs=ASYNC_CALLERS, least=4)
    theirs = Side(_RawInserts(shop).run, least=8)
    yield shop.compare(GROUP, f"{ASYNC_CALLERS} asyncio callers writing", ours, theirs, at_least(3), "raw")


class Tail:
    """A reader that follows a log from where it stopped, and holds it to having every position once.

    Where it finds nothing new it looks again after `pause` seconds.
    """

    def __init__(self, room: Engine, stream: str, *, pause: float = 0.001) -> None:
        self._room = room
        self._stream = stream
        self._pause = pause
        self.reached = 0
        self._stopped = False

    def stop(self) -> None:
        """Follow no more, though entries are still awaited."""
        self._stopped = True

    def follow(self, _caller: int, until: int) -> None:
        while self.reached < until and not self._stopped:
            entries = LOG.read(self._room, self._stream, after=self.reached, limit=1_000)
            if not entries:
                time.sleep(self._pause)
            for found in entries:
                self.reached += 1
                if found.position != self.reached:
                    raise AssertionError(f"position {self.reached} was skipped")


def appenders(shop: Workshop) -> Iterator[Line]:
    room, one = shop.room(), shop.room()
    crew, reader = shop.crew(APPENDERS), shop.crew(1)
    tail = Tail(room, QUEUE)
    shop.closing(tail.stop)

    def make(position: int) -> Entry:
        return entry(QUEUE, position)

    def append(_caller: int, n: int) -> None:
        for _ in range(n):
            LOG.append(room, QUEUE, make=make)

    def ours(n: int) -> None:
        reader.start(tail.follow, tail.reached + n * APPENDERS)
        crew.run(append, n)
        reader.wait()

    def theirs(n: int) -> None:
        for _ in range(n):
            LOG.append(one, QUEUE, make=make)

    bench = f"{APPENDERS} appenders to one log, with a tailing reader"
    yield shop.compare(
        GROUP,
        bench,
        Side(ours, jobs=APPENDERS, least=8),
        Side(theirs, least=8),
        at_least(4),
        "base",
        base_is="one appender",
    )


CASES: Final = (
    Case(GROUP, "point read", point_read, "one record by its key: seal checked, re-validated"),
    Case(GROUP, "page", page, f"{PAGE} records after a cursor"),
    Case(GROUP, "durable insert", durable_insert, "one caller, one flush each"),
    Case(GROUP, "durable update", durable_update, "one caller's compare-and-set, one flush each"),
    Case(GROUP, "writers", writers, f"{WRITERS} threads that insert at once"),
    Case(GROUP, "async", async_callers, f"{ASYNC_CALLERS} asyncio callers that insert at once"),
    Case(GROUP, "appenders", appenders, f"{APPENDERS} appenders to one log, against one appender alone"),
)
