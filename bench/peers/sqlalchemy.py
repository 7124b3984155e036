"""SQLAlchemy: its ORM, with a version counter that makes every update a compare-and-set (``version_id_col``).

The mapped class has our record's seven columns and the same key. One unit of work is a new `Session`: a change reads
the row, sets an attribute and commits (``UPDATE ... WHERE version = ?``), which is our ``get`` and ``update`` with the
expected version; reads and pages are the same in both. Each caller has rows of its own, so that none of the updates
is lost. On SQLite, WAL and ``synchronous=FULL`` are set in the documented ``connect`` event; PostgreSQL flushes every
commit by default. There its driver is psycopg, as ours is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from bench.measure import Line
from bench.peers.common import FILES, LOCK_TIMEOUT, THREADS, Case, Place, Workshop, against, peer
from bench.raw import PAGE, fill
from bench.tables import CREATED_AT, JOBS, PAYLOAD, QUEUE, job_id
from strongroom.engine import Engine

_OWN: Final = 64
"""How many rows each caller has to itself."""


class JobRow:
    """What the ORM maps: one row of its jobs."""

    queue: str
    id: str
    version: int
    state: str
    owner: str
    created_at: int
    payload: str


@dataclass(frozen=True, slots=True)
class _Pair:
    room: Engine
    alchemy: Any
    orm: Any
    engine: Any
    rows: int
    flush: str

    def read_ours(self, caller: int, n: int) -> None:
        for i in range(n):
            self.room.get(JOBS, QUEUE, job_id((caller + i) * 7919 % self.rows))

    def read_theirs(self, caller: int, n: int) -> None:
        for i in range(n):
            with self.orm.Session(self.engine) as session:
                session.get(JobRow, (QUEUE, job_id((caller + i) * 7919 % self.rows)))

    def page_ours(self, caller: int, n: int) -> None:
        for i in range(n):
            after = job_id((caller + i) * 7919 % (self.rows - PAGE))
            self.room.scan(JOBS, QUEUE, after=(after,), limit=PAGE)

    def page_theirs(self, caller: int, n: int) -> None:
        wanted: Any = JobRow
        for i in range(n):
            after = job_id((caller + i) * 7919 % (self.rows - PAGE))
            query = self.alchemy.select(JobRow).where(wanted.queue == QUEUE, wanted.id > after)
            with self.orm.Session(self.engine) as session:
                session.scalars(query.order_by(wanted.queue, wanted.id).limit(PAGE)).all()

    def update_ours(self, caller: int, n: int) -> None:
        for i in range(n):
            found = self.room.get(JOBS, QUEUE, job_id(caller * _OWN + i % _OWN))
            assert found is not None
            changed = found.replace(owner=f"runner-{i}", version=found.version + 1)
            self.room.update(JOBS, changed, expect=found.version)

    def update_theirs(self, caller: int, n: int) -> None:
        for i in range(n):
            with self.orm.Session(self.engine) as session:
                found = session.get(JobRow, (QUEUE, job_id(caller * _OWN + i % _OWN)))
                found.owner = f"runner-{i}-{found.version}"
                session.commit()


def _engine(shop: Workshop, place: Place) -> Any:
    """Its engine for a new database."""
    alchemy = peer("sqlalchemy")
    new = place.new(shop, "jobs")
    if place is not FILES:
        return alchemy.create_engine(new.replace("://", "+psycopg://"), pool_size=THREADS)
    engine = alchemy.create_engine(f"sqlite:///{new}", connect_args={"timeout": LOCK_TIMEOUT}, pool_size=THREADS)

    @alchemy.event.listens_for(engine, "connect")  # type: ignore[untyped-decorator]
    def flush_every_commit(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    return engine


def _pair(shop: Workshop, place: Place) -> _Pair:
    alchemy, orm = peer("sqlalchemy"), peer("sqlalchemy.orm")
    engine = _engine(shop, place)
    shop.closing(engine.dispose)
    mapping = orm.registry()
    shop.closing(mapping.dispose)
    columns = [
        alchemy.Column("queue", alchemy.String, primary_key=True),
        alchemy.Column("id", alchemy.String, primary_key=True),
        alchemy.Column("version", alchemy.Integer, nullable=False),
        *(alchemy.Column(name, alchemy.String, nullable=False) for name in ("state", "owner")),
        alchemy.Column("created_at", alchemy.BigInteger, nullable=False),
        alchemy.Column("payload", alchemy.String, nullable=False),
    ]
    table = alchemy.Table("jobs", mapping.metadata, *columns)
    mapping.map_imperatively(JobRow, table, version_id_col=table.c.version)
    mapping.metadata.create_all(engine)

    rows = 1_000 if shop.quick else 10_000
    room = place.room(shop)
    fill(room, rows)
    fields = {"queue": QUEUE, "version": 1, "state": "ready", "owner": "runner-17.eu-north", "created_at": CREATED_AT}
    with engine.begin() as connection:
        new = [{**fields, "id": job_id(n), "payload": PAYLOAD} for n in range(rows)]
        connection.execute(table.insert(), new)

    def read(sql: str) -> Any:
        with engine.connect() as connection:
            return connection.exec_driver_sql(sql).scalar()

    return _Pair(room, alchemy, orm, engine, rows, place.check_flush(shop, "SQLAlchemy", read))


def read(place: Place, shop: Workshop) -> Iterator[Line]:
    pair = _pair(shop, place)
    bench = "SQLAlchemy point read"
    yield from against(shop, "SQLAlchemy", bench, pair.read_ours, pair.read_theirs, pair.flush, place=place)


def page(place: Place, shop: Workshop) -> Iterator[Line]:
    pair = _pair(shop, place)
    bench = f"SQLAlchemy page of {PAGE}"
    yield from against(shop, "SQLAlchemy", bench, pair.page_ours, pair.page_theirs, pair.flush, place=place)


def update(place: Place, shop: Workshop) -> Iterator[Line]:
    pair = _pair(shop, place)
    bench = "SQLAlchemy compare-and-set"
    yield from against(shop, "SQLAlchemy", bench, pair.update_ours, pair.update_theirs, pair.flush, place=place)


def cases(place: Place) -> tuple[Case, ...]:
    """The cases at one place."""
    group, at = place.group, place.suffix.lower()
    return (
        Case(group, f"sqlalchemy read{at}", functools.partial(read, place), "one record by its key"),
        Case(group, f"sqlalchemy page{at}", functools.partial(page, place), f"{PAGE} records after a cursor"),
        Case(
            group,
            f"sqlalchemy update{at}",
            functools.partial(update, place),
            "read a record, change it by compare-and-set",
        ),
    )
