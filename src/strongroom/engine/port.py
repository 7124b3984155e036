"""The port: what a store asks of an engine, and what an engine author gives.

Two levels meet here. Stores use `Reader` and `Transaction`, which speak in records. An engine author writes `Rows`
and `WritableRows`, which speak in stored rows and already-checked keys: limits, scopes, seals, re-validation and the
fault vocabulary stand above them, once, so that no engine can get them wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeVar

from strongroom.records import AnyTable, Column, Key, KeyRange, Record, Row, Stored, Table

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class Strength(IntEnum):
    """How much one transaction may hold (T7)."""

    SINGLE_RECORD = 1
    """One insert, update or delete by key, or one read."""
    MULTI_RECORD = 2
    """A serializable transaction over many rows, absent ones and ranges included (T2)."""

    @property
    def shown(self) -> str:
        """The strength as messages and reports write it: ``single-record`` or ``multi-record``."""
        return self.name.lower().replace("_", "-")


class Durability(IntEnum):
    """What an acknowledged write survives (D1, D2)."""

    NONE = 0
    """Nothing: the state ends with the process."""
    PROCESS = 1
    """The death of the process, not that of the machine: commits are not flushed."""
    FLUSHED = 2
    """The death of the machine: a commit is flushed before it is acknowledged."""


class Sharing(IntEnum):
    """Who may have the same store open at once."""

    ENGINE = 0
    """The threads that share one engine object."""
    PROCESS = 1
    """Several engine objects in one process."""
    HOST = 2
    """Several processes on one machine."""
    NETWORK = 3
    """Processes on several machines."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What an engine says of itself; the conformance kit holds it to every grade."""

    strength: Strength
    durability: Durability
    sharing: Sharing
    guards_immutable: bool
    """Whether the database itself refuses to change the rows of an immutable table (W4)."""
    reopens: bool
    """Whether a store outlives the engine object that wrote it."""
    exclusive: bool = False
    """Whether one engine object can hold a store alone, and every other is turned away (D4)."""
    bounded_log: bool = False
    """Whether the engine keeps a log beside its data, and keeps it bounded whoever reads (D5)."""
    one_scope: bool = False
    """Whether a transaction reaches one scope only, or tables without a scope only, and what touches more is refused:
    scopes may then live in engines of their own."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition on a stored row under which it may be changed: one column's stored value."""

    column: int
    """The column's place in the row; the seal, which stands for the whole row, is the last."""
    name: str
    value: Stored


class Rows(Protocol):
    """What can be read inside one snapshot. Keys and ranges are checked; rows come back as they are stored.

    Engines subclass it, and have `fetch_many` from it where they know no quicker way.
    """

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        """The row under a full key, or None."""

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        """The rows under many full keys, in their order, None for each that is not there."""
        return [self.fetch(table, key) for key in keys]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        """The rows of a range, in its direction, at most its limit (K3, R5)."""

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        """How many rows have keys that begin with `prefix`, counted no further than `limit`."""


class WritableRows(Rows, Protocol):
    """What can be done inside one transaction. A refusal (False) leaves the transaction usable (W5)."""

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        """Keep a new row; False, and nothing changed, if the key has one (W1)."""

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        """Put `row` over the one that `guard` describes; False, and nothing changed, if there is none such (W2)."""

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        """Keep `row`, over whatever the key has."""

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        """Remove the row, if it is there and as `guard` describes it; False otherwise (W3)."""

    def clock(self) -> int:
        """The engine's clock: Unix milliseconds, never less than it answered before."""


class SchemaRows(WritableRows, Protocol):
    """What can be done inside one migration."""

    def tables(self) -> set[str]:
        """The names of the tables that the store has."""

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        """Make room for `table` with these columns, or find that there is (M3)."""

    def add_column(self, table: AnyTable, column: Column) -> None:
        """Add `column` to `table`, or find it there; older rows hold its default (M4)."""


class Reader(Protocol):
    """What a read function gets; each method's faults are those of the engine's method of the same name."""

    def get(self, table: Table[R], *key: Any) -> R | None: ...

    def get_many(self, table: Table[R], keys: Sequence[Sequence[Any]]) -> list[R | None]: ...

    def scan(
        self,
        table: Table[R],
        *prefix: Any,
        start: Sequence[Any] | None = None,
        stop: Sequence[Any] | None = None,
        after: Sequence[Any] | None = None,
        limit: int,
        reverse: bool = False,
    ) -> list[R]: ...

    def count(self, table: Table[R], *prefix: Any, limit: int) -> int: ...


class Writer(Reader, Protocol):
    """What stores write through: a transaction, or an engine, whose every call is a transaction of its own."""

    def insert(self, table: Table[R], record: R) -> None: ...

    def update(self, table: Table[R], record: R, *, expect: R | int) -> None: ...

    def put(self, table: Table[R], record: R) -> None: ...

    def delete(self, table: Table[R], *key: Any, expect: R | None = None) -> bool: ...

    def now(self) -> int: ...


class Transaction(Writer, Protocol):
    """What a write function gets."""

    def abandon(self, result: T) -> T: ...
