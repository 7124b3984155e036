"""Snapshots: read transactions on connections of their own, which can be taken from their readers when need be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import apsw

from strongroom.engine import Clock, Rows
from strongroom.engines.sqlite.faults import translated
from strongroom.engines.sqlite.rows import ConnectionRows, TableStatements
from strongroom.errors import StrongroomError
from strongroom.records import Row, Stored

T = TypeVar("T")

_IDLE: Final = 4
"""How many idle connections are kept for the next snapshots."""


class _Snapshot(ConnectionRows):
    """Rows as they were when the snapshot was taken; every statement holds the engine's read gate."""

    def __init__(
        self, connection: apsw.Connection, statements: TableStatements, clock: Clock, gate: threading.Lock
    ) -> None:
        super().__init__(connection, statements, clock)
        self.gate = gate
        self.given_up: StrongroomError | None = None
        self.holder = f"{threading.current_thread().name} (this process)"
        self.since = time.monotonic()
        self._ended = False

    def end(self) -> None:
        """End the read transaction, if it is open. Once more does nothing: the connection may be another's by then."""
        with self.gate, translated():
            if not self._ended and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._ended = True  # only now: Ctrl-C may come between, and this be asked for again

    def _all(self, sql: str, bindings: Sequence[Stored]) -> list[Row]:
        with self.gate:
            if self.given_up is not None:
                raise self.given_up
            return super()._all(sql, bindings)

    def _one(self, sql: str, bindings: Sequence[Stored]) -> Row | None:
        with self.gate:
            if self.given_up is not None:
                raise self.given_up
            return super()._one(sql, bindings)


class Snapshots:
    """The running snapshots of one engine, and the connections for them."""

    def __init__(
        self, connect: Callable[[], apsw.Connection], statements: TableStatements, clock: Clock, gate: threading.Lock
    ) -> None:
        self._connect = connect
        self._statements = statements
        self._clock = clock
        self._gate = gate
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._running: set[_Snapshot] = set()
        self._closed: StrongroomError | None = None

    def read(self, work: Callable[[Rows], T]) -> T:
        """What `work` returns from one snapshot."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect()
        snapshot = _Snapshot(connection, self._statements, self._clock, self._gate)
        try:
            try:
                with self._lock:
                    self._running.add(snapshot)
                    snapshot.given_up = self._closed
                snapshot._all("BEGIN", ())
                snapshot._all("SELECT 1 FROM sqlite_schema LIMIT 1", ())  # a deferred BEGIN takes its snapshot here
                return work(snapshot)
            finally:
                self._leave(snapshot, connection)
        except BaseException:
            self._leave(snapshot, connection)  # once more: Ctrl-C may have struck the first time
            raise

    def give_up(self, fault: StrongroomError) -> None:
        """End every running snapshot; its reader gets `fault` on its next statement."""
        with self._lock:
            running = list(self._running)
        for snapshot in running:
            with self._gate:
                snapshot.given_up = snapshot.given_up or fault
            snapshot.end()

    def holders(self) -> list[str]:
        """Who has snapshots open, and for how long."""
        now = time.monotonic()
        with self._lock:
            return sorted(f"reader {s.holder}, for {now - s.since:.1f} s" for s in self._running)

    def close(self, fault: StrongroomError) -> None:
        """End all snapshots with `fault`, now and later, and close the connections."""
        with self._lock:
            self._closed = fault
        self.give_up(fault)
        while self._idle:
            self._idle.pop().close()

    def forsake(self, gone: apsw.Connection) -> None:
        """Put `gone` where the running snapshots' connections were, in a forked child."""
        for snapshot in self._running:
            snapshot._connection = gone

    def connections(self) -> list[apsw.Connection]:
        """All connections, for a forked child to leave alone."""
        return [*self._idle, *(snapshot._connection for snapshot in self._running)]

    def _leave(self, snapshot: _Snapshot, connection: apsw.Connection) -> None:
        """End the snapshot and keep its connection for the next one, if one more is wanted. Once more does nothing."""
        snapshot.end()
        with self._lock:
            if snapshot not in self._running:
                return
            # In this order: a connection that Ctrl-C keeps from being kept closes itself, one kept twice has two users.
            self._running.remove(snapshot)
            if len(self._idle) < _IDLE and self._closed is None:
                self._idle.append(connection)
                return
        connection.close()
