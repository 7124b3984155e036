"""Rows of a migration: those of its transaction, and the list of tables, which is written before that commits."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.engine import SchemaRows, WrappedRows, WritableRows
from strongroom.engines.dynamodb.tables import Note, Tables
from strongroom.records import AnyTable, Column


class MigrationRows(WrappedRows, SchemaRows):
    """What a migration works on. That a table is written down stands being done again (M3)."""

    def __init__(self, rows: WritableRows, tables: Tables) -> None:
        super().__init__(rows)
        self._noted = tables
        self._new: dict[str, Note] = {}

    def note(self) -> None:
        """Write down what was made: before the transaction commits, which says that it was."""
        self._noted.note([*self._new.values()])

    def tables(self) -> set[str]:
        return self._noted.names() | self._new.keys()

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        self._new[table.name] = Note(table, columns)
        self._noted.expect(table)

    def add_column(self, table: AnyTable, column: Column) -> None:
        # Its rows are left as they are: they read with the column's default (M4).
        self._new[table.name] = Note(table, [c for c in table.columns if c.since <= column.since])
