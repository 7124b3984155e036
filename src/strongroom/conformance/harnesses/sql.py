"""What the harnesses of SQL engines share: their tools, and the doors behind the engines' backs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from strongroom.conformance.backdoors import SqlBackDoor
from strongroom.conformance.url_harness import UrlHarness
from strongroom.records import AnyTable, Stored


class SqlHarness(UrlHarness):
    """As `UrlHarness`, for a database into which there is a `SqlBackDoor`."""

    @abstractmethod
    def _door(self) -> SqlBackDoor:
        """The way into the present store."""

    def tamper(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._door().tamper(table, table.store_key(key), column, value)

    def peek(self, table: AnyTable, key: Sequence[Any]) -> dict[str, Stored] | None:
        return self._door().peek(table, table.store_key(key))

    def remove(self, table: AnyTable, key: Sequence[Any]) -> None:
        self._door().remove(table, table.store_key(key))

    def raw_update_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._door().update_refused(table, table.store_key(key), column, value)

    def raw_replace_refused(self, table: AnyTable, key: Sequence[Any], column: str, value: Stored) -> bool:
        return self._door().replace_refused(table, table.store_key(key), column, value)

    def raw_delete_refused(self, table: AnyTable, key: Sequence[Any]) -> bool:
        return self._door().delete_refused(table, table.store_key(key))
