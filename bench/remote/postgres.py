"""PostgreSQL, and psycopg as its raw driver.

A raw connection keeps one cursor, has its statements prepared and gets its rows in the binary format: the quickest way
that psycopg offers to one thread that waits for each answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import psycopg

from bench.remote.raw import ENTRY, ENTRY_COLUMNS, JOB, JOB_COLUMNS, Admin, Kind, Raw, started
from bench.tables import QUEUE
from servers.postgres import Postgres
from servers.server import Server

_PREPARED_FROM: Final = 1
"""At which use a statement is prepared."""

_SETTINGS: Final = {"shared_buffers": "128MB"}
"""As the server comes; `servers` makes them small."""


class RawPostgres(Raw):
    """A raw connection of psycopg to the tables in one schema."""

    def __init__(self, address: str, schema: str) -> None:
        serializable = psycopg.IsolationLevel.SERIALIZABLE
        self._connection = psycopg.connect(address, autocommit=True, prepare_threshold=_PREPARED_FROM)
        self._connection.set_isolation_level(serializable)  # for `change`; single statements run by themselves
        self._cursor = self._connection.cursor(binary=True)
        columns, holes = ", ".join(JOB_COLUMNS), ", ".join(["%s"] * len(JOB_COLUMNS))
        self._read = f'SELECT {columns} FROM "{schema}".jobs WHERE queue = %s AND id = %s'
        self._page = f'SELECT {columns} FROM "{schema}".jobs WHERE queue = %s AND id > %s ORDER BY id LIMIT %s'
        self._insert = f'INSERT INTO "{schema}".jobs ({columns}) VALUES ({holes})'
        changed = ", ".join(f"{name} = %s" for name in JOB_COLUMNS[2:])
        self._update = f'UPDATE "{schema}".jobs SET {changed} WHERE queue = %s AND id = %s AND version = %s'
        holes = ", ".join(["%s"] * len(ENTRY_COLUMNS))
        self._append = f'INSERT INTO "{schema}".plain ({", ".join(ENTRY_COLUMNS)}) VALUES ({holes}) RETURNING position'

    def read(self, id: str) -> Any:
        return self._cursor.execute(self._read, (QUEUE, id)).fetchone()

    def page(self, after: str, limit: int) -> Any:
        return self._cursor.execute(self._page, (QUEUE, after, limit)).fetchall()

    def insert(self, id: str) -> None:
        self._cursor.execute(self._insert, (QUEUE, id, *JOB[2:]))

    def change(self, id: str) -> None:
        with self._connection.transaction():
            found = self._cursor.execute(self._read, (QUEUE, id)).fetchone()
            assert found is not None
            version = found[2]
            self._cursor.execute(self._update, (version + 1, *JOB[3:], QUEUE, id, version))
            assert self._cursor.rowcount == 1

    def append(self) -> None:
        self._cursor.execute(self._append, (ENTRY[0], *ENTRY[2:])).fetchone()

    def close(self) -> None:
        self._connection.close()


class PostgresAdmin(Admin):
    """A connection beside the measurements."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg.connect(address, autocommit=True)

    def flush(self, ask: Callable[[str], Any]) -> str:
        said = {name: str(ask(f"SHOW {name}")) for name in ("fsync", "synchronous_commit", "full_page_writes")}
        if set(said.values()) != {"on"}:
            raise AssertionError(f"every commit was to be flushed: {said}")
        return " ".join(f"{name}={value}" for name, value in said.items())

    def database(self, name: str) -> None:
        self._connection.execute(f'CREATE DATABASE "{name}"')

    def tidy(self, store: str) -> None:
        self._connection.execute(f'VACUUM (ANALYZE) "{store}".jobs')

    def plain_log(self, store: str) -> None:
        texts = ", ".join(f'{name} text COLLATE "C" NOT NULL' for name in ("stream", "subject", "kind", "payload"))
        self._connection.execute(
            f'CREATE TABLE "{store}".plain'
            f" (position bigserial PRIMARY KEY, {texts}, at bigint NOT NULL, seal bytea NOT NULL)"
        )

    def about(self) -> str:
        return f"PostgreSQL {self._ask('SHOW server_version')}: {self.flush(self._ask)}"

    def close(self) -> None:
        self._connection.close()

    def _ask(self, sql: str) -> Any:
        found = self._connection.execute(sql).fetchone()
        assert found is not None
        return found[0]


class PostgresKind(Kind):
    """PostgreSQL: a store is a schema of the one database."""

    group = "postgres"

    def start(self) -> Server:
        return started(lambda: Postgres(settings=_SETTINGS))

    def store_url(self, address: str, store: str) -> str:
        return f"{address}?schema={store}"

    def connect(self, address: str, store: str) -> Raw:
        return RawPostgres(address, store)

    def administer(self, address: str) -> Admin:
        return PostgresAdmin(address)


POSTGRES: Final = PostgresKind()
