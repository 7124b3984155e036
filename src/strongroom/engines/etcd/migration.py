"""Migrations: one transaction like any other, which may create tables besides (M3)."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.engine import BufferedRows, SchemaRows, WrappedRows
from strongroom.engines.etcd.session import WriteSession
from strongroom.records import AnyTable, Column


class MigrationRows(WrappedRows, SchemaRows):
    """The rows of a transaction, and the tables that they are in."""

    def __init__(self, rows: BufferedRows, session: WriteSession) -> None:
        super().__init__(rows)
        self._session = session

    def tables(self) -> set[str]:
        return self._session.tables()

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        if table.name not in self._session.tables():
            self._session.create(table)

    def add_column(self, table: AnyTable, column: Column) -> None:
        """Nothing is to be done: older rows get the column's default when they are read."""
