"""Append-only logs: dense positions from 1, in commit order, and readers that skip nothing (L1-L3).

The position is the last column of the entry's key, and the head is nothing but the last row: a new entry is inserted
at head + 1, create-once. Whoever reads position n therefore knows that 1..n are committed, and no sequence runs
ahead of the commits. On a multi-record engine an append is one transaction, carried together with its neighbours by
the group commit; on a single-record engine create-once alone is the arbiter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from strongroom.engine import Backoff, Engine, Reader, Strength, Transaction, retry
from strongroom.errors import AlreadyExists, Corrupt, InvalidArgument
from strongroom.patterns.cursor import make_cursor, read_cursor
from strongroom.records import Integer, Record, Table

R = TypeVar("R", bound=Record)

_RIVALS = Backoff(attempts=64, first_ms=0.5, cap_ms=20)


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """Some entries in order, and the cursor that the next page goes on from (also when there were none)."""

    entries: list[R]
    cursor: str


class Log(Generic[R]):
    """A log kept in `table`, whose key is a stream's name (zero or more columns) and then the position.

    Raises TypeError for a table that can't keep a log: its rows must never change, and the position be an ascending
    integer.
    """

    def __init__(self, table: Table[R]) -> None:
        last = table.key[-1]
        if last.descending or not isinstance(last.column.kind, Integer):
            raise TypeError(f"{table.name}: a log's key ends in its position, an ascending integer")
        if table.changes.update or table.changes.delete or table.changes.put:
            raise TypeError(f"{table.name}: a log's entries never change")
        self.table = table
        self._position = table.key_names[-1]
        self._stream = len(table.key) - 1

    def append(self, engine: Engine, *stream: Any, make: Callable[[int], R]) -> R:
        """Append the entry that `make` builds for its position, and return it once it is durable (L1).

        `make` may be called again for a later position. Raises `Conflict` (retryable) when rivals took every
        position that was tried, and as `Engine.write`.
        """
        if engine.claims.strength >= Strength.MULTI_RECORD:
            return engine.write(lambda transaction: self.append_in(transaction, *stream, make=make))

        def attempt() -> R:
            entry = self._entry(stream, self.head(engine, *stream) + 1, make)
            engine.insert(self.table, entry)
            return entry

        return retry(attempt, on=AlreadyExists, backoff=_RIVALS)

    def append_in(self, transaction: Transaction, *stream: Any, make: Callable[[int], R]) -> R:
        """Append inside a transaction; the entry is in the log if and only if the transaction commits."""
        entry = self._entry(stream, self.head(transaction, *stream) + 1, make)
        transaction.insert(self.table, entry)
        return entry

    def head(self, reader: Reader, *stream: Any) -> int:
        """The position of the last entry, 0 for none, from the rows alone (L3)."""
        self._check_stream(stream)
        last = reader.scan(self.table, *stream, limit=1, reverse=True)
        return self._at(last[0]) if last else 0

    def read(self, reader: Reader, *stream: Any, after: int = 0, limit: int) -> list[R]:
        """The entries behind position `after`, in order, at most `limit` of them (L2).

        Raises `Corrupt` where a position is missing, `InvalidArgument` for a negative `after`, and as `scan`.
        """
        self._check_stream(stream)
        if type(after) is not int or after < 0:
            raise InvalidArgument(f"{self.table.name}: positions begin at 1; read after 0 for all")
        entries = reader.scan(self.table, *stream, start=(after + 1,), limit=limit)
        for expected, entry in enumerate(entries, after + 1):
            if self._at(entry) != expected:
                raise Corrupt(
                    f"{self.table.show((*stream, expected))} is missing: the log goes on at {self._at(entry)}",
                    table=self.table.name,
                    key=(*stream, expected),
                )
        return entries

    def page(self, engine: Engine, *stream: Any, cursor: str | None = None, limit: int) -> Page[R]:
        """The entries after `cursor` (None: from the start), and the cursor to go on from.

        Raises `InvalidArgument` for a cursor that is none or another stream's, `CursorExpired` for one from before
        the store was restored (R5), and as `read`.
        """
        # The cursor holds the position to go on with: that of the last entry would be 0 where there is none yet, which
        # no entry can have.
        at = 1
        if cursor is not None:
            (at,) = read_cursor(cursor, engine.epoch, self.table, stream, fixed=self._stream)  # type: ignore[assignment]
        entries = self.read(engine, *stream, after=at - 1, limit=limit)
        return Page(entries, make_cursor(engine.epoch, self.table, stream, (at + len(entries),)))

    def _entry(self, stream: tuple[Any, ...], position: int, make: Callable[[int], R]) -> R:
        entry = make(position)
        if self.table.key_in(entry) != (*stream, position):
            raise InvalidArgument(f"{self.table.name}: the entry made for position {position} has another key")
        return entry

    def _at(self, entry: R) -> int:
        position: int = getattr(entry, self._position)
        return position

    def _check_stream(self, stream: tuple[Any, ...]) -> None:
        if len(stream) != self._stream:
            raise InvalidArgument(f"{self.table.name}: a stream's name has {self._stream} values, not {len(stream)}")
