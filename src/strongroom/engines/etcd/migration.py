"""Migrations: one transaction like any other, which may create tables besides (M3)."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.engine import BufferedRows, Guard, SchemaRows
from strongroom.engines.etcd.session import EtcdSession
from strongroom.records import AnyTable, Column, Key, KeyRange, Row


class MigrationRows(SchemaRows):
    """The rows of a transaction, and the tables that they are in."""

    def __init__(self, rows: BufferedRows, session: EtcdSession) -> None:
        self._rows = rows
        self._session = session

    def tables(self) -> set[str]:
        return self._session.tables()

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        if table.name not in self._session.tables():
            self._session.create(table)

    def add_column(self, table: AnyTable, column: Column) -> None:
        """Nothing is to be done: older rows get the column's default when they are read."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._rows.fetch(table, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._rows.fetch_many(table, keys)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._rows.fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._rows.tally(table, prefix, limit)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._rows.insert(table, key, row)

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._rows.replace(table, key, row, guard)

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._rows.put(table, key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._rows.remove(table, key, guard)

    def clock(self) -> int:
        return self._rows.clock()
