"""The engine's port as this domain uses it: what is corrupt comes out as `Unreadable`, whatever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from strongroom.domains.dispatch.faults import READ_FAULTS
from strongroom.engine import Reader, Transaction
from strongroom.records import Record, Table

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class ReadPort:
    """`strongroom.Reader`, with the domain's fault for what is corrupt."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, table: Table[R], *key: Any) -> R | None:
        with READ_FAULTS:
            return self._reader.get(table, *key)

    def get_many(self, table: Table[R], keys: Sequence[Sequence[Any]]) -> list[R | None]:
        with READ_FAULTS:
            return self._reader.get_many(table, keys)

    def scan(
        self,
        table: Table[R],
        *prefix: Any,
        start: Sequence[Any] | None = None,
        stop: Sequence[Any] | None = None,
        after: Sequence[Any] | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[R]:
        with READ_FAULTS:
            return self._reader.scan(table, *prefix, start=start, stop=stop, after=after, limit=limit, reverse=reverse)

    def count(self, table: Table[R], *prefix: Any, limit: int) -> int:
        return self._reader.count(table, *prefix, limit=limit)


class WritePort(ReadPort):
    """`strongroom.Transaction`, with the domain's fault for what is corrupt."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._transaction = transaction

    def insert(self, table: Table[R], record: R) -> None:
        self._transaction.insert(table, record)

    def update(self, table: Table[R], record: R, *, expect: R | int) -> None:
        self._transaction.update(table, record, expect=expect)

    def put(self, table: Table[R], record: R) -> None:
        self._transaction.put(table, record)

    def delete(self, table: Table[R], *key: Any, expect: R | None = None) -> bool:
        return self._transaction.delete(table, *key, expect=expect)

    def now(self) -> int:
        return self._transaction.now()

    def abandon(self, result: T) -> T:
        return self._transaction.abandon(result)
