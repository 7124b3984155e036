"""Single calls, each in as little as it takes: one statement to read, and one trip for a write that is alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from strongroom.engine import Committer, Guard, QueuedCalls, Work
from strongroom.engines.mysql.faults import Duplicate
from strongroom.engines.mysql.rows import MANY, LinkRows
from strongroom.records import AnyTable, Key, KeyRange, Row

if TYPE_CHECKING:
    from strongroom.engines.mysql.engine import MysqlEngine

T = TypeVar("T")


class MysqlCalls(QueuedCalls):
    """The single calls of one engine."""

    def __init__(self, engine: MysqlEngine, committer: Committer[Work]) -> None:
        super().__init__(engine, committer)
        self._statements = engine.statements
        self._links = engine.links
        self._once = engine.lane.once

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._reading(lambda rows: rows.fetch(table, key))

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        if len(keys) > MANY:
            return super().fetch_many(table, keys)  # several statements are one snapshot only in a transaction
        return self._reading(lambda rows: rows.fetch_many(table, keys))

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._reading(lambda rows: rows.fetch_range(table, wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._reading(lambda rows: rows.tally(table, prefix, limit))

    def clock(self) -> int:
        self._engine._check_outside("call")
        return self._links.now()

    def _insert_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        try:
            return self._once(table, key, _only(self._statements[table].insert([row])))
        except Duplicate:
            return False

    def _replace_alone(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._once(table, key, self._statements[table].replace(key, row, guard))

    def _put_alone(self, table: AnyTable, key: Key, row: Row) -> object:
        return self._once(table, key, _only(self._statements[table].put([row])))

    def _remove_alone(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._once(table, key, self._statements[table].remove(key, guard))

    def _reading(self, read: Callable[[LinkRows], T]) -> T:
        self._engine._check_outside("call")
        return self._links.reading(lambda link: read(LinkRows(link, self._statements)))


def _only(statements: Iterable[tuple[str, int]]) -> str:
    ((statement, _),) = statements
    return statement
