"""What a raw driver is asked for, whichever it is, and the private server that both sides share.

A raw connection binds values and gets tuples of values back. It checks nothing, seals nothing and re-validates nothing,
and nobody else uses it. Its tables were made by Strongroom: same columns, same key, same index.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import strongroom
from bench.measure import Goal, at_least, at_most
from bench.missing import Missing
from bench.tables import ENTRIES, JOBS, QUEUE, SCHEMA, entry, job
from bench.workshop import Workshop
from servers.errors import Missing as NotHere
from servers.server import Server
from strongroom.engine import Engine
from strongroom.records import Row, RowCodec, Sealer

JOB: Final[Row] = RowCodec(JOBS, Sealer()).encode(job("job"))
"""A job as it is kept; a raw connection puts another id into it."""
ENTRY: Final[Row] = RowCodec(ENTRIES, Sealer()).encode(entry(QUEUE, 1))
"""An entry as it is kept; a raw connection leaves its position to the database."""
JOB_COLUMNS: Final = (*(column.name for column in JOBS.columns), "seal")
ENTRY_COLUMNS: Final = (*(column.name for column in ENTRIES.columns if column.name != "position"), "seal")


class Raw(ABC):
    """One connection of a raw driver to a store's tables. Every write is one commit, flushed when it returns."""

    @abstractmethod
    def read(self, id: str) -> Any:
        """A job's row."""

    @abstractmethod
    def page(self, after: str, limit: int) -> Any:
        """The rows of jobs after one."""

    @abstractmethod
    def insert(self, id: str) -> None:
        """Keep a new job: one statement, one round trip."""

    @abstractmethod
    def change(self, id: str) -> None:
        """Read a job and write it with the next version: BEGIN, SELECT, UPDATE ... WHERE version, COMMIT.

        Serializable, or by a locking read: as safe as it has to be, in the four round trips that it has in a program.
        """

    @abstractmethod
    def append(self) -> None:
        """Keep an entry in a table whose position is drawn from a sequence: nothing orders it with its neighbours."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


class Admin(ABC):
    """What is asked of a server beside the measurements."""

    @abstractmethod
    def flush(self, ask: Callable[[str], Any]) -> str:
        """What a connection says of its flush; every commit must be flushed, else the comparison would be none.

        `ask` answers the one value that a statement asks the connection for.
        """

    @abstractmethod
    def database(self, name: str) -> None:
        """Make a database, for who is to have one alone."""

    @abstractmethod
    def tidy(self, store: str) -> None:
        """Have the server look at a store's tables now, and not in the middle of a measurement."""

    @abstractmethod
    def about(self) -> str:
        """The server, its version and its flush. Raises AssertionError where it does not flush every commit."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    @abstractmethod
    def plain_log(self, store: str) -> None:
        """Make the table that `Raw.append` writes to."""


def started(make: Callable[[], Server]) -> Server:
    """The private server that `make` gives, started. Raises `Missing` where this machine has none."""
    try:
        server = make()
    except NotHere as reason:
        raise Missing(f"{reason}: python -m servers install") from reason
    server.start()
    return server


class Kind(ABC):
    """A kind of server: the group of its benchmarks, and how one is started, addressed and connected to."""

    group: str
    batch: int = 5_000
    """How many rows it takes in one transaction, when a store is filled."""
    read_goal: Goal = at_most(1.4)
    transaction_goal: Goal = at_most(1.3)
    insert_goal: Goal = at_most(1.3)
    writers_goal: Goal = at_least(3)
    """Of many callers at once, against raw connections that write one by one."""

    @abstractmethod
    def start(self) -> Server:
        """A private server, started. Raises `Missing` where this machine has none."""

    @abstractmethod
    def store_url(self, address: str, store: str) -> str:
        """The URL of a store on the server with this URL."""

    @abstractmethod
    def connect(self, address: str, store: str) -> Raw:
        """A raw connection to a store's tables."""

    @abstractmethod
    def administer(self, address: str) -> Admin:
        """A connection beside the measurements."""

    def connections(self, room: Engine) -> int:
        """How many connections a room has by now, with what it was asked for up to here."""
        found = room.describe()["connections_open"]
        assert isinstance(found, int)
        return found

    def running(self, shop: Workshop) -> Running:
        """The run's server of this kind, started when it is first asked for."""
        return shop.once(self.group, lambda: self._start(shop))

    def _start(self, shop: Workshop) -> Running:
        server = self.start()
        shop.closing(server.close)
        admin = self.administer(server.url())
        shop.closing(admin.close)
        return Running(self, server.url(), admin, admin.about())


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs, for this run of the benchmarks alone."""

    kind: Kind
    address: str
    """Its URL."""
    admin: Admin
    about: str
    """The server, its version and its flush, as the lines tell it."""

    def room(self, shop: Workshop, store: str) -> Engine:
        """A room in a store, made if need be."""
        room = strongroom.open(self.kind.store_url(self.address, store))
        shop.closing(room.close)
        room.prepare(SCHEMA)
        return room

    def tables(self, shop: Workshop) -> str:
        """The name of a new store that has Strongroom's tables, and that no room holds."""
        store = shop.name("store")
        with strongroom.open(self.kind.store_url(self.address, store)) as room:
            room.prepare(SCHEMA)
        return store

    def raw(self, shop: Workshop, store: str) -> Raw:
        """A raw connection to a store's tables that ends with the case."""
        raw = self.kind.connect(self.address, store)
        shop.closing(raw.close)
        return raw
