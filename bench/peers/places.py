"""Where a peer and Strongroom both keep their state: files of SQLite, or databases of one private PostgreSQL."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from bench.remote import POSTGRES
from bench.workshop import Workshop
from strongroom.engine import Engine


class Place(ABC):
    """A place for both sides of a comparison."""

    group: str
    """The group that its benchmarks are in."""
    suffix: str
    """What stands behind their names."""

    @abstractmethod
    def room(self, shop: Workshop) -> Engine:
        """A new room."""

    @abstractmethod
    def new(self, shop: Workshop, name: str) -> str:
        """Where a peer is to make something new: the path of a file in a folder of its own, or a database's URL."""

    @abstractmethod
    def check_flush(self, shop: Workshop, name: str, read: Callable[[str], Any]) -> str:
        """What a peer's own connection says of its flush. Raises AssertionError where not every commit is flushed.

        `read` answers the one value that a statement asks the peer's connection for.
        """


class SqliteFiles(Place):
    """Files, each in a folder of its own, with the WAL and ``synchronous=FULL``."""

    group = "peers"
    suffix = ""

    def room(self, shop: Workshop) -> Engine:
        return shop.room()

    def new(self, shop: Workshop, name: str) -> str:
        return str(shop.folder() / name)

    def check_flush(self, shop: Workshop, name: str, read: Callable[[str], Any]) -> str:
        return check_flush(name, read)


class PostgresServer(Place):
    """The run's private PostgreSQL: every peer gets a database of its own, every room a schema."""

    group = "postgres"
    suffix = " on PostgreSQL"

    def room(self, shop: Workshop) -> Engine:
        return POSTGRES.running(shop).room(shop, shop.name("store"))

    def new(self, shop: Workshop, name: str) -> str:
        running = POSTGRES.running(shop)
        database = shop.name(name)
        running.admin.database(database)
        return running.address.rpartition("/")[0] + f"/{database}"

    def check_flush(self, shop: Workshop, name: str, read: Callable[[str], Any]) -> str:
        said = POSTGRES.running(shop).admin.flush(read)
        print(f"bench: {name} {version(name)}: {said}, PostgreSQL {read('SHOW server_version')}", file=sys.stderr)
        return said


def check_flush(name: str, read: Callable[[str], Any]) -> str:
    """What a peer's own connection to SQLite says of its flush: always FULL and WAL, else there is no comparison.

    `read` answers the one value that a statement asks the peer's connection for.
    """
    synchronous, journal = read("PRAGMA synchronous"), read("PRAGMA journal_mode")
    said = f"synchronous={synchronous} journal_mode={journal}"
    if (int(synchronous), str(journal).lower()) != (2, "wal"):
        raise AssertionError(f"{name} was to flush every commit to its WAL: {said}")
    print(f"bench: {name} {version(name)}: {said}, SQLite {read('SELECT sqlite_version()')}", file=sys.stderr)
    return said


FILES: Final = SqliteFiles()
SERVER: Final = PostgresServer()
