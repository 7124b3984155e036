"""Reading rows, wherever a statement can be asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from strongroom.engine import Rows
from strongroom.engines.mysql.link import Asking
from strongroom.engines.mysql.statements import TableStatements, batches
from strongroom.records import AnyTable, Key, KeyRange, Row

MANY: Final = 500
"""The most keys in one statement: from 1,000 on MariaDB makes a table of them."""


class AskedRows(Rows):
    """The reading half of the port, in statements; `locking` is put behind each."""

    locking = ""

    def __init__(self, statements: TableStatements) -> None:
        self._statements = statements

    @abstractmethod
    def _ask(self, statement: str) -> Sequence[Row]:
        """The rows that the statement answers; raises Strongroom's faults."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        rows = self._ask(self._statements[table].fetch(key, self.locking))
        return rows[0] if rows else None

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        found: dict[Key, Row] = {}
        for some in batches(keys, MANY):
            rows = self._ask(self._statements[table].fetch_many(some, self.locking))
            found.update((table.key_of(row), row) for row in rows)
        return [found.get(tuple(key)) for key in keys]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return list(self._ask(self._statements[table].fetch_range(wanted, self.locking)))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        ((count,),) = self._ask(self._statements[table].tally(prefix, limit, self.locking))
        assert isinstance(count, int)
        return count


class LinkRows(AskedRows):
    """Rows as one connection sees them, each statement a snapshot of its own unless a transaction is open."""

    def __init__(self, asking: Asking, statements: TableStatements) -> None:
        super().__init__(statements)
        self._asking = asking

    def _ask(self, statement: str) -> Sequence[Row]:
        return self._asking.ask(statement)
