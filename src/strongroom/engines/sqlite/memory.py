"""SQLite in memory: the same statements on one connection, which everyone takes turns on. Nothing is kept."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from strongroom.engine import (
    Claims,
    Clock,
    Committer,
    Durability,
    Engine,
    Job,
    Rows,
    SchemaRows,
    Sharing,
    Strength,
    WritableRows,
)
from strongroom.engines.sqlite.faults import translated
from strongroom.engines.sqlite.rows import ConnectionRows, TableStatements
from strongroom.engines.sqlite.writer import GroupWriter, Work

T = TypeVar("T")


class SqliteMemoryEngine(Engine):
    """An engine over a SQLite database that lives and ends with this object."""

    claims = Claims(
        strength=Strength.MULTI_RECORD,
        durability=Durability.NONE,
        sharing=Sharing.ENGINE,
        guards_immutable=True,
        reopens=False,
    )

    def __init__(self, *, seal_key: bytes | None = None) -> None:
        with translated():
            self._connection = apsw.Connection(":memory:", statementcachesize=256)
            # As in connections.py.
            self._connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
            self._connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._rows_inside = ConnectionRows(self._connection, TableStatements(), Clock())
        self._turn = threading.Lock()
        super().__init__("sqlite in memory", seal_key=seal_key)
        group = GroupWriter(self._connection, self._rows_inside, None)

        def run(jobs: Sequence[Job[Work]]) -> None:
            with self._turn:
                group.run(jobs)

        self._committer: Committer[Work] = Committer(run)

    def _read(self, work: Callable[[Rows], T]) -> T:
        with self._turn:
            return work(self._rows_inside)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        result: T = self._committer.submit(Work(work, lambda: False))
        return result

    def _tables(self) -> set[str]:
        with self._turn:
            return self._rows_inside.tables()

    def _close(self) -> None:
        self._committer.close()
        with self._turn, contextlib.suppress(apsw.Error):
            self._connection.close()
