"""MariaDB or MySQL, and PyMySQL as its raw driver.

A raw connection keeps one cursor. It gives keys as bytes, as Strongroom keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import pymysql

from bench.remote.raw import ENTRY, ENTRY_COLUMNS, JOB, JOB_COLUMNS, Admin, Kind, Raw, started
from bench.tables import QUEUE
from servers.mariadb import MariaDB
from servers.server import Server

_QUEUE: Final = QUEUE.encode()

_SETTINGS: Final = {"innodb_buffer_pool_size": "128M", "innodb_log_file_size": "96M"}
"""As the server comes; `servers` makes them small."""


def _connect(address: str) -> pymysql.Connection[Any]:
    place = urlsplit(address)
    user, host = place.username or "", place.hostname or ""
    return pymysql.connect(host=host, port=place.port or 0, user=user, charset="utf8mb4", autocommit=True)


class RawMysql(Raw):
    """A raw connection of PyMySQL to the tables in one database."""

    def __init__(self, address: str, database: str) -> None:
        self._connection = _connect(address)
        self._cursor = self._connection.cursor()
        columns, holes = ", ".join(JOB_COLUMNS), ", ".join(["%s"] * len(JOB_COLUMNS))
        self._read = f"SELECT {columns} FROM `{database}`.jobs WHERE queue = %s AND id = %s"
        self._page = f"SELECT {columns} FROM `{database}`.jobs WHERE queue = %s AND id > %s ORDER BY id LIMIT %s"
        self._insert = f"INSERT INTO `{database}`.jobs ({columns}) VALUES ({holes})"
        changed = ", ".join(f"{name} = %s" for name in JOB_COLUMNS[2:])
        self._update = f"UPDATE `{database}`.jobs SET {changed} WHERE queue = %s AND id = %s AND version = %s"
        holes = ", ".join(["%s"] * len(ENTRY_COLUMNS))
        self._append = f"INSERT INTO `{database}`.plain ({', '.join(ENTRY_COLUMNS)}) VALUES ({holes})"

    def read(self, id: str) -> Any:
        self._cursor.execute(self._read, (_QUEUE, id.encode()))
        return self._cursor.fetchone()

    def page(self, after: str, limit: int) -> Any:
        self._cursor.execute(self._page, (_QUEUE, after.encode(), limit))
        return self._cursor.fetchall()

    def insert(self, id: str) -> None:
        self._cursor.execute(self._insert, (_QUEUE, id.encode(), *JOB[2:]))

    def change(self, id: str) -> None:
        key = (_QUEUE, id.encode())
        self._connection.begin()
        self._cursor.execute(self._read + " FOR UPDATE", key)
        found = self._cursor.fetchone()
        assert found is not None
        version = found[2]
        changed = self._cursor.execute(self._update, (version + 1, *JOB[3:], *key, version))
        assert changed == 1
        self._connection.commit()

    def append(self) -> None:
        self._cursor.execute(self._append, (ENTRY[0], *ENTRY[2:]))

    def close(self) -> None:
        self._connection.close()


class MysqlAdmin(Admin):
    """A connection beside the measurements."""

    def __init__(self, address: str) -> None:
        self._connection = _connect(address)
        self._cursor = self._connection.cursor()

    def flush(self, ask: Callable[[str], Any]) -> str:
        said = int(ask("SELECT @@innodb_flush_log_at_trx_commit"))
        if said != 1:
            raise AssertionError(f"every commit was to be flushed: innodb_flush_log_at_trx_commit={said}")
        return f"innodb_flush_log_at_trx_commit={said} log_bin={ask('SELECT @@log_bin')}"

    def database(self, name: str) -> None:
        self._cursor.execute(f"CREATE DATABASE `{name}`")

    def tidy(self, store: str) -> None:
        self._ask(f"ANALYZE TABLE `{store}`.jobs")

    def plain_log(self, store: str) -> None:
        names = ", ".join(f"{name} VARBINARY(255) NOT NULL" for name in ("stream", "subject", "kind"))
        self._cursor.execute(
            f"CREATE TABLE `{store}`.plain (position BIGINT AUTO_INCREMENT PRIMARY KEY, {names}, at BIGINT NOT NULL,"
            " payload TEXT NOT NULL, seal VARBINARY(32) NOT NULL) ENGINE=InnoDB"
        )

    def about(self) -> str:
        return f"{self._ask('SELECT version()')}: {self.flush(self._ask)}"

    def close(self) -> None:
        self._connection.close()

    def _ask(self, sql: str) -> Any:
        self._cursor.execute(sql)
        found = self._cursor.fetchone()
        assert found is not None
        return found[0]


class MysqlKind(Kind):
    """MariaDB: a store is a database."""

    group = "mysql"

    def start(self) -> Server:
        return started(lambda: MariaDB(settings=_SETTINGS))

    def store_url(self, address: str, store: str) -> str:
        return f"{address.rstrip('/')}/{store}"

    def connect(self, address: str, store: str) -> Raw:
        return RawMysql(address, store)

    def administer(self, address: str) -> Admin:
        return MysqlAdmin(address)


MYSQL: Final = MysqlKind()
