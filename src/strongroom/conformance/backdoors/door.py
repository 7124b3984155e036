"""What a way into a store behind its engine's back can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Final

from strongroom.conformance.harness import Ability
from strongroom.records import AnyTable, Key, Stored

COMMIT_MARKS: Final = "strongroom_marks"
"""The table of server engines in which each transaction that commits leaves its token: whoever fails that fails all."""


class BackDoor(ABC):
    """Reads and changes stored rows, for keys in stored form."""

    @abstractmethod
    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        """A row's columns with its seal, or None."""

    @abstractmethod
    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        """Set a column of a row, whatever guards it; False if the column can't hold the value."""

    @abstractmethod
    def remove(self, table: AnyTable, key: Key) -> None:
        """Remove a row, whatever guards it."""


class SqlBackDoor(BackDoor):
    """Into a store in a SQL database, whose own tools may be tried on its rows as well."""

    @abstractmethod
    def update_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        """Whether an UPDATE of a row is refused, its guards in place."""

    @abstractmethod
    def replace_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        """Whether writing a row over another is refused, its guards in place."""

    @abstractmethod
    def delete_refused(self, table: AnyTable, key: Key) -> bool:
        """Whether a DELETE of a row is refused, its guards in place."""


class ServerBackDoor(SqlBackDoor):
    """Into a store on a database server, over a connection of its own, which reaches beyond the rows."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is anything under the store's name."""

    @abstractmethod
    def drop(self) -> None:
        """Drop the store, and break off whoever still uses it."""

    @abstractmethod
    def image(self) -> bytes:
        """Every table of the store, how it is declared and guarded, and every row."""

    @abstractmethod
    def flushes(self) -> int:
        """How often the server flushed its log so far; on behalf of its clients alone, if it tells them apart."""

    @abstractmethod
    def failing(self, fault: Ability) -> AbstractContextManager[None]:
        """While it lasts, the server itself fails every commit of the store with `fault`."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class UnguardedBackDoor(ServerBackDoor):
    """Into a store on a server that guards no rows: its own tools may change them as they like."""

    def update_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        return not self.tamper(table, key, column, value)

    def replace_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        return not self.tamper(table, key, column, value)

    def delete_refused(self, table: AnyTable, key: Key) -> bool:
        self.remove(table, key)
        return False
