"""A test engine that offers single-record transactions and nothing more (T7).

It stands in front of any engine and refuses the second operation of a read or write function, so that a store which
runs on it is shown to need no more than one insert, update or delete by key, or one read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from strongroom.engine import Engine, Guard, Rows, SchemaRows, Strength, WritableRows
from strongroom.errors import Unsupported
from strongroom.records import AnyTable, Key, KeyRange, Row

T = TypeVar("T")


class SingleRecordEngine(Engine):
    """`inner`, held to one operation in each transaction. Closing it closes `inner`."""

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.claims = replace(inner.claims, strength=Strength.SINGLE_RECORD)
        super().__init__(f"single-record {inner.name}")
        self._codecs = inner._codecs

    def resolve(self, token: str) -> bool:
        return self.inner.resolve(token)

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        self._check_open()
        return self.inner.describe()

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self.inner._read(lambda rows: work(_OneOperation(rows)))

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        return self.inner._write(lambda rows: work(_OneOperation(rows)), abandoned)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        return self.inner._tables()

    def _close(self) -> None:
        self.inner.close()


class _OneOperation(WritableRows):
    """Rows of which one operation may be asked."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self._used = ""

    def _once(self, operation: str, table: AnyTable) -> Any:
        if self._used:
            raise Unsupported(f"{operation} of {table.name} after {self._used}: one operation in a transaction")
        self._used = f"{operation} of {table.name}"
        return self._rows

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        row: Row | None = self._once("get", table).fetch(table, key)
        return row

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        rows: list[Row] = self._once("scan", table).fetch_range(table, wanted)
        return rows

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        count: int = self._once("count", table).tally(table, prefix, limit)
        return count

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        done: bool = self._once("insert", table).insert(table, key, row)
        return done

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        done: bool = self._once("update", table).replace(table, key, row, guard)
        return done

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._once("put", table).put(table, key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        done: bool = self._once("delete", table).remove(table, key, guard)
        return done

    def clock(self) -> int:
        now: int = self._rows.clock()
        return now
