"""A harness for stores in this process's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strongroom.conformance.backdoors import MEMORY_STORE, MemoryBackDoor
from strongroom.conformance.harness import Ability
from strongroom.conformance.url_harness import NUMBER, UrlHarness, with_options
from strongroom.engine import Engine, StoreUrl
from strongroom.records import AnyTable, Stored


class MemoryHarness(UrlHarness):
    """As `UrlHarness`, for ``memory://NAME``, and can tamper."""

    _engine: Engine | None = None

    @property
    def url(self) -> str:
        return ""  # no other process opens it

    @property
    def abilities(self) -> frozenset[Ability]:
        return super().abilities | {Ability.TAMPER}

    def open(self) -> Engine:
        self._engine = super().open()
        return self._engine

    def fresh(self) -> None:
        super().fresh()
        self._engine = None

    def tamper(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._door().tamper(table, table.store_key(key), column, value)

    def peek(self, table: AnyTable, key: Sequence[Any]) -> dict[str, Stored] | None:
        return self._door().peek(table, table.store_key(key))

    def remove(self, table: AnyTable, key: Sequence[Any]) -> None:
        self._door().remove(table, table.store_key(key))

    def _door(self) -> MemoryBackDoor:
        return MemoryBackDoor(lambda: getattr(self._engine or self.open(), MEMORY_STORE))

    def _numbered(self, url: StoreUrl) -> str:
        if not url.place:
            return super()._numbered(url)
        return f"{url.scheme}://{with_options(f'{url.place}-{NUMBER}', url.options)}"
