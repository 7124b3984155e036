"""Rows of a migration: those of its transaction, and the list of tables, which is written before that commits."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.engine import Guard, SchemaRows, WritableRows
from strongroom.engines.dynamodb.tables import Note, Tables
from strongroom.records import AnyTable, Column, Key, KeyRange, Row


class MigrationRows(SchemaRows):
    """What a migration works on. That a table is written down stands being done again (M3)."""

    def __init__(self, rows: WritableRows, tables: Tables) -> None:
        self._rows = rows
        self._noted = tables
        self._new: dict[str, Note] = {}

    def note(self) -> None:
        """Write down what was made: before the transaction commits, which says that it was."""
        self._noted.note([*self._new.values()])

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

    def tables(self) -> set[str]:
        return self._noted.names() | self._new.keys()

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        self._new[table.name] = Note(table, columns)
        self._noted.expect(table)

    def add_column(self, table: AnyTable, column: Column) -> None:
        # Its rows are left as they are: they read with the column's default (M4).
        self._new[table.name] = Note(table, [c for c in table.columns if c.since <= column.since])
