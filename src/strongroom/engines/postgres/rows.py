"""Rows as they are read: each operation one call, however it gets to the server."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from strongroom.engine import Rows
from strongroom.engines.postgres.calls import Call
from strongroom.engines.postgres.statements import TableStatements
from strongroom.records import AnyTable, Key, KeyRange, Row


class AskedRows(Rows):
    """Reads, made of calls that `_ask` has answered."""

    _statements: TableStatements

    @abstractmethod
    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        """The rows that the server answers."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        rows = self._ask(self._statements[table].fetch(key))
        return rows[0] if rows else None

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return []
        rows = self._ask(self._statements[table].fetch_many(wanted))
        found = {table.key_of(row): row for row in rows}
        return [found.get(key) for key in keys]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._ask(self._statements[table].range(wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        ((count,),) = self._ask(self._statements[table].tally(prefix, limit))
        return int(count)
