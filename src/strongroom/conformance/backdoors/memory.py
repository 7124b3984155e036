"""Into a store in this process's memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from strongroom.conformance.backdoors.door import BackDoor
from strongroom.records import SEAL, AnyTable, Key, Stored, encode_key

MEMORY_STORE: Final = "_store"
"""The attribute under which a memory engine holds its `MemoryStore`."""


class MemoryBackDoor(BackDoor):
    """Into the `MemoryStore` that `store` answers."""

    def __init__(self, store: Callable[[], Any]) -> None:
        self._store = store

    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        with self._newest(table, key) as version:
            if version is None or version.row is None:
                return None
            return dict(zip([*table.index, SEAL], version.row, strict=True))

    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        with self._newest(table, key) as version:
            place = table.index.get(column, len(table.columns))
            version.row = (*version.row[:place], value, *version.row[place + 1 :])
        return True

    def remove(self, table: AnyTable, key: Key) -> None:
        with self._newest(table, key) as version:
            version.row = None

    @contextlib.contextmanager
    def _newest(self, table: AnyTable, key: Key) -> Iterator[Any]:
        store = self._store()
        with store.latch:
            yield store.tables[table.name].get(encode_key(table, key))
