"""Scopes: which one a key belongs to, and rows that are held to a single one.

A scope is the value of the first key column of a table that declares a scope. Tables that declare none, and what a
store keeps about itself, live in the home room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from strongroom.engine import Guard, Rows, WritableRows
from strongroom.errors import Unsupported
from strongroom.records import AnyTable, Key, KeyRange, Row, Stored

Scope = str | None
"""A scope's name; None for the home room's own tables."""

HOME: Final = None


def scope_of(table: AnyTable, key: Key) -> Scope:
    """The scope of a key in stored form, or of one of its leading values.

    Raises `Unsupported` where no leading value says which scope is meant.
    """
    if not table.scope:
        return HOME
    if not key:
        raise Unsupported(
            f"{table.name}: what crosses scopes is asked of the engine itself, not inside a function: "
            "scopes live in rooms of their own, and no transaction spans two of them"
        )
    return named(key[0])


def named(value: Stored) -> str:
    """The name of the scope that a key's first value stands for."""
    return value if isinstance(value, str) else repr(value)


def prefix_of(table: AnyTable, scope: str) -> Key | None:
    """The key prefix of a scope's rows in `table`; None where the table can have none of it."""
    storage = table.key[0].column.storage
    if storage == "text":
        return (scope,)
    try:
        value: Stored = int(scope) if storage == "integer" else float(scope)
    except ValueError:
        return None
    return (value,) if named(value) == scope else None


class Touched(BaseException):
    """Ends a run that was only to find out which scope a function is about. Nothing of a caller's catches it."""


class Probe(WritableRows):
    """Rows that note the first scope that a function asks for, and end its run there."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.scope: Scope = HOME
        """The first scope that was asked for."""
        self.shown = ""
        """What was asked for, as a message may show it; empty if nothing was."""

    def _touch(self, table: AnyTable, key: Key) -> Touched:
        if not self.shown:
            self.scope = scope_of(table, key)
            self.shown = _shown(table, key)
        return Touched()

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        raise self._touch(table, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        if not keys:
            return []
        raise self._touch(table, keys[0])

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        raise self._touch(table, wanted.prefix)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        raise self._touch(table, prefix)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        raise self._touch(table, key)

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        raise self._touch(table, key)

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        raise self._touch(table, key)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        raise self._touch(table, key)

    def clock(self) -> int:
        return self._clock()


class ScopedReads(Rows):
    """A room's rows, held to one scope, and to one operation if it is to be `once`.

    `began` shows what its function asked for first.
    """

    def __init__(self, rows: Rows, scope: Scope, began: str, once: bool) -> None:
        self._read = rows
        self._scope = scope
        self._began = began
        self._once = once
        self._used = False

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        self._check(table, key)
        return self._read.fetch(table, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        for key in keys:
            self._check(table, key)  # on an engine of single operations each is one of its own
        return self._read.fetch_many(table, keys)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        self._check(table, wanted.prefix)
        return self._read.fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        self._check(table, prefix)
        return self._read.tally(table, prefix, limit)

    def _check(self, table: AnyTable, key: Key) -> None:
        if scope_of(table, key) != self._scope:
            raise Unsupported(
                f"{_shown(table, key)} in a function that began with {self._began}: "
                "scopes live in rooms of their own, and no transaction spans two of them"
            )
        if self._used and self._once:
            raise Unsupported(
                f"{table.name}: a second operation: a room of the router offers one in a transaction, and so does it"
            )
        self._used = True


class ScopedRows(ScopedReads, WritableRows):
    """A room's rows in a transaction, held to one scope; `clock` is asked for the time."""

    def __init__(self, rows: WritableRows, scope: Scope, began: str, once: bool, clock: Callable[[int], int]) -> None:
        super().__init__(rows, scope, began, once)
        self._rows = rows
        self._clock = clock

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        self._check(table, key)
        return self._rows.insert(table, key, row)

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        self._check(table, key)
        return self._rows.replace(table, key, row, guard)

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._check(table, key)
        self._rows.put(table, key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        self._check(table, key)
        return self._rows.remove(table, key, guard)

    def clock(self) -> int:
        return self._clock(self._rows.clock())


def _shown(table: AnyTable, key: Key) -> str:
    return f"the scope {table.show(key[:1])}" if table.scope else f"{table.name}, which has no scope,"
