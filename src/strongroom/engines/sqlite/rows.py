"""Rows over one SQLite connection: the statements of the port, run where a transaction stands."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from strongroom.engine import Clock, Guard, SchemaRows
from strongroom.engines.sqlite.faults import FAULTS, translate
from strongroom.engines.sqlite.statements import Statements
from strongroom.errors import Unavailable
from strongroom.records import AnyTable, Column, Key, KeyRange, Row, Stored


class TableStatements(dict[AnyTable, Statements]):
    """The statements of each table, made when they are first asked for."""

    def __missing__(self, table: AnyTable) -> Statements:
        made = self[table] = Statements(table)
        return made


def rolled_back() -> Unavailable:
    """The fault where SQLite ended a transaction by itself, as it does when the disk is full."""
    return Unavailable("SQLite: the transaction was rolled back after a fault; nothing of it was kept")


class ConnectionRows(SchemaRows):
    """Rows as the connection's transaction sees and makes them. One user at a time."""

    def __init__(self, connection: apsw.Connection, statements: TableStatements, clock: Clock) -> None:
        self._connection = connection
        self._statements = statements
        self._clock = clock
        self.wrote = False
        """Whether anything was changed since this was last set to False."""
        self.in_group = False
        """Whether a transaction was begun that changes belong to."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._one(self._statements[table].fetch, key)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._all(*self._statements[table].range(wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        ((count,),) = self._all(*self._statements[table].tally(prefix, limit))
        assert isinstance(count, int)
        return count

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._change(self._statements[table].insert, row)

    def insert_many(self, rows: Sequence[tuple[AnyTable, Row]]) -> bool:
        """Insert many rows of one table with one statement; False, and nothing changed, unless all are new."""
        self._execute("SAVEPOINT many")
        flat = [value for _, row in rows for value in row]
        self._change(self._statements[rows[0][0]].insert_many(len(rows)), flat)
        if self._connection.changes() == len(rows):
            self._execute("RELEASE many")
            return True
        self._execute("ROLLBACK TO many")
        self._execute("RELEASE many")
        return False

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._change(*self._statements[table].replace(key, row, guard.name, guard.value))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._change(self._statements[table].put, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        statements = self._statements[table]
        if guard is None:
            return self._change(statements.remove, key)
        return self._change(*statements.remove_guarded(key, guard.name, guard.value))

    def clock(self) -> int:
        return self._clock.now()

    def tables(self) -> set[str]:
        return {str(name) for (name,) in self._all("SELECT name FROM sqlite_schema WHERE type = 'table'", ())}

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        self.wrote = True
        for statement in self._statements[table].create(columns):
            self._change(statement, ())

    def add_column(self, table: AnyTable, column: Column) -> None:
        there = self._all("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table.name, column.name))
        if not there:
            self.wrote = True
            self._change(self._statements[table].add_column(column), ())

    def touch(self) -> None:
        """Write something that means nothing: a commit of it overwrites what a failed commit left in the WAL."""
        self.wrote = True
        ((version,),) = self._all("PRAGMA user_version", ())
        self._change(f"PRAGMA user_version = {(int(str(version)) + 1) % 2**31}", ())

    def _all(self, sql: str, bindings: Sequence[Stored]) -> list[Row]:
        try:
            return self._connection.execute(sql, bindings).fetchall()
        except FAULTS as fault:
            raise translate(fault) from fault

    def _one(self, sql: str, bindings: Sequence[Stored]) -> Row | None:
        try:
            # The cursor goes at once, and with it the statement's hold on the database.
            return self._connection.execute(sql, bindings).fetchone()
        except FAULTS as fault:
            raise translate(fault) from fault

    def _execute(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except FAULTS as fault:
            raise translate(fault) from fault

    def _change(self, sql: str, bindings: Sequence[Stored]) -> bool:
        if self.in_group and not self._connection.in_transaction:
            raise rolled_back()  # what is written now would be kept for itself (T1)
        try:
            self._connection.execute(sql, bindings)
            changed = self._connection.changes() > 0
        except FAULTS as fault:
            raise translate(fault) from fault
        self.wrote = self.wrote or changed
        return changed
