"""Rooms that put a move to the test: of a process that dies, that take little at once, that pause at a bad moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from strongroom.conformance.stopping import StoppingEngine
from strongroom.engine import Engine, Guard, Rows, SchemaRows, WritableRows
from strongroom.errors import TooLarge
from strongroom.records import AnyTable, Key, KeyRange, Row

T = TypeVar("T")


@dataclass
class Count:
    """The writes of all rooms of one process, and the one that it dies of."""

    writes: int = 0
    stop_at: int | None = None


class Doomed(StoppingEngine):
    """A room of a process that dies of a write, in whichever of its rooms that is."""

    def __init__(self, inner: Engine, shared: Count) -> None:
        super().__init__(inner)
        self._shared = shared
        self._told = 0

    @property
    def stopped(self) -> bool:
        return self._shared.stop_at is not None and self._shared.writes >= self._shared.stop_at

    def _check_running(self) -> None:
        self._shared.writes += self._writes - self._told
        self._told = self._writes
        super()._check_running()


class Through(Engine):
    """`inner`, whose rows a subclass may stand in front of."""

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.claims = inner.claims
        super().__init__(f"through {inner.name}")
        self._codecs = inner._codecs

    def before(self, rows: Any) -> Any:
        return rows

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self.inner._read(lambda rows: work(self.before(rows)))

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        return self.inner._write(lambda rows: work(self.before(rows)), abandoned)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        return self.inner._tables()


class Narrow(Through):
    """Takes no more than `most` changes in a transaction."""

    def __init__(self, inner: Engine, most: int) -> None:
        super().__init__(inner)
        self.most = most
        self.refused = 0

    def before(self, rows: Any) -> Any:
        return _Counted(rows, self)


class Pausing(Through):
    """Calls `then`, once, when a row of the table `after` was fetched."""

    def __init__(self, inner: Engine, after: AnyTable) -> None:
        super().__init__(inner)
        self.after = after
        self.then: Callable[[], object] | None = None

    def before(self, rows: Any) -> Any:
        return _Paused(rows, self)


class BeforeWriting(Through):
    """Calls `then`, once, before it writes."""

    then: Callable[[], object] | None = None

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        then, self.then = self.then, None
        if then is not None:
            then()
        return super()._write(work, abandoned)


class _Rows(WritableRows):
    def __init__(self, rows: WritableRows) -> None:
        self._rows = rows

    def changes(self) -> None:
        """Called before each change."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._rows.fetch(table, key)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._rows.fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._rows.tally(table, prefix, limit)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        self.changes()
        return self._rows.insert(table, key, row)

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        self.changes()
        return self._rows.replace(table, key, row, guard)

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self.changes()
        self._rows.put(table, key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        self.changes()
        return self._rows.remove(table, key, guard)

    def clock(self) -> int:
        return self._rows.clock()


class _Counted(_Rows):
    def __init__(self, rows: WritableRows, room: Narrow) -> None:
        super().__init__(rows)
        self._room = room
        self._count = 0

    def changes(self) -> None:
        self._count += 1
        if self._count > self._room.most:
            self._room.refused += 1
            raise TooLarge(f"more than {self._room.most} changes")


class _Paused(_Rows):
    def __init__(self, rows: WritableRows, room: Pausing) -> None:
        super().__init__(rows)
        self._room = room

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        found = super().fetch(table, key)
        then = self._room.then
        if then is not None and table is self._room.after:
            self._room.then = None
            then()
        return found
