"""Rows that pass on whatever is asked of them: for what stands between a transaction's rows and its function."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.engine.port import Guard, WritableRows
from strongroom.records import AnyTable, Key, KeyRange, Row


class WrappedRows(WritableRows):
    """As `rows`, but for what a subclass does otherwise."""

    def __init__(self, rows: WritableRows) -> None:
        self._rows = rows

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
