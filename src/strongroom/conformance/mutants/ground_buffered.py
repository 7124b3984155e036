"""An engine of buffered transactions over the memory engine's rows: groups and buffer without a network or a driver."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from strongroom.engine import (
    BufferedRows,
    Committer,
    Engine,
    GroupRunner,
    Guard,
    Refuted,
    Rows,
    SchemaRows,
    Work,
    WritableRows,
)
from strongroom.engines.memory import MemoryEngine, _Transaction
from strongroom.errors import StrongroomError, TooLarge
from strongroom.records import AnyTable, Key, KeyRange, Row

T = TypeVar("T")


class MemorySession(Rows):
    """A session over one transaction of the memory engine. It counts what a network would have to carry."""

    def __init__(self, rows: WritableRows, most: int) -> None:
        self._rows = rows
        self.fault: StrongroomError | None = None
        self.kept = False
        self.trips: list[str] = []
        self.most = most

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._tripping("fetch", lambda: self._rows.fetch(table, key))

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._tripping("fetch_many", lambda: self._rows.fetch_many(table, keys))

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._tripping("fetch_range", lambda: self._rows.fetch_range(table, wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._tripping("tally", lambda: self._rows.tally(table, prefix, limit))

    def clock(self) -> int:
        return self._rows.clock()

    def commit(self, rows: BufferedRows) -> None:
        self.trips.append("commit")
        net = rows.changes()
        if sum(len(changes.inserts) for changes in net) > self.most:
            raise TooLarge(f"{self.most} rows are the most")
        for changes in net:
            table = changes.table
            for row in changes.inserts:
                if not self._rows.insert(table, table.key_of(row), row):
                    raise Refuted(table)
            for row in changes.updates:
                guard = Guard(table.key[0].index, table.key_names[0], row[table.key[0].index])
                assert self._rows.replace(table, table.key_of(row), row, guard)
            for row in changes.puts:
                self._rows.put(table, table.key_of(row), row)
            for key in changes.removes:
                assert self._rows.remove(table, key, None)
        self.kept = True

    def _tripping(self, name: str, call: Callable[[], T]) -> T:
        self.trips.append(name)
        try:
            return call()
        except StrongroomError as fault:
            self.fault = fault
            raise


class BufferedEngine(Engine):
    """`inner`, whose transactions are buffered. `sessions` are those that it began."""

    def __init__(self, inner: Engine | None = None) -> None:
        self.inner = inner or MemoryEngine()
        self.claims = self.inner.claims
        super().__init__("buffered memory")
        self._codecs = self.inner._codecs
        self.most = 10_000
        """How many rows one commit may insert."""
        self.sessions: list[MemorySession] = []
        self.runner = GroupRunner(self._begin)
        self._committer: Committer[Work] = Committer(self.runner.run)

    @contextlib.contextmanager
    def _begin(self) -> Iterator[MemorySession]:
        assert isinstance(self.inner, MemoryEngine)
        store = self.inner._store
        with store.writer:
            rows = _Transaction(store)
            session = MemorySession(rows, self.most)
            self.sessions.append(session)
            try:
                yield session
            finally:
                if session.kept:
                    rows.commit()
                else:
                    rows.undo()

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self.inner._read(work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        return self.inner._tables()

    def _close(self) -> None:
        self._committer.close()
        self.inner.close()
