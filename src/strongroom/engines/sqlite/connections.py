"""Connections to one SQLite file, set up alike."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Final

import apsw

from strongroom.engines.sqlite.faults import translated
from strongroom.engines.sqlite.files import APPLICATION_ID
from strongroom.errors import Corrupt, InvalidArgument

_CACHE_KIB: Final = 16_384
_STATEMENTS: Final = 256


def connect(path: str, *, synchronous: str, timeout_ms: int, vfs: str | None) -> apsw.Connection:
    """A new connection in WAL mode; raises Strongroom's faults.

    `synchronous` is ``full`` or ``normal``; a lock that another process holds is waited for up to `timeout_ms`; `vfs`
    names one of SQLite's ways to the disk (None: its own).
    """
    with translated():
        connection = apsw.Connection(path, vfs=vfs, statementcachesize=_STATEMENTS)
        connection.set_busy_handler(patience(timeout_ms))
        # A name that is no column is an error, never a text: an old schema's key would otherwise match every row.
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        # Without this, a statement is prepared again for every value that is bound to its LIMIT.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        try:
            _check_ours(connection, path)
        except apsw.NotADBError as fault:
            connection.close()
            raise Corrupt(f"{path} is not a SQLite database") from fault
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", synchronous)
        if sys.platform == "darwin":  # where fsync alone leaves the data in the drive's cache
            connection.pragma("fullfsync", 1)
            connection.pragma("checkpoint_fullfsync", 1)
        connection.pragma("cache_size", -_CACHE_KIB)
        connection.pragma("temp_store", "memory")
        connection.pragma("trusted_schema", 0)
        connection.pragma("cell_size_check", 1)
        connection.wal_autocheckpoint(0)  # the writer decides when, see wal.py
    return connection


def _check_ours(connection: apsw.Connection, path: str) -> None:
    """Refuse another program's database before anything in it is touched."""
    found = connection.pragma("application_id")
    if found == APPLICATION_ID:
        return
    if found or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall():
        connection.close()
        raise InvalidArgument(f"{path} is another program's SQLite database, not a store")


def patience(timeout_ms: int) -> Callable[[int], bool]:
    """A busy handler that sleeps short random times: SQLite's own sleeps grow until one of two writers starves."""
    began = 0.0

    def wait(calls: int) -> bool:
        nonlocal began
        now = time.monotonic()
        if calls == 0:
            began = now
        if (now - began) * 1000 >= timeout_ms:
            return False
        time.sleep(random.uniform(0.0001, 0.002))
        return True

    return wait
