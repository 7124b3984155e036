"""Reads: snapshots for functions, and single reads that take one trip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from strongroom.engine import Rivals, Rows, Stale, retried
from strongroom.engines.postgres.calls import BEGIN_READ, COMMIT, Call
from strongroom.engines.postgres.connections import Connections
from strongroom.engines.postgres.rows import AskedRows
from strongroom.engines.postgres.statements import TableStatements
from strongroom.engines.postgres.wire import Wire
from strongroom.errors import StrongroomError

T = TypeVar("T")


class Snapshots:
    """Read functions, each on one serializable snapshot."""

    def __init__(self, connections: Connections, statements: TableStatements) -> None:
        self._connections = connections
        self._statements = statements

    def read(self, work: Callable[[Rows], T]) -> T:
        """What `work` returns or raises from one snapshot, once that is known to be one that could be read (T2)."""
        return retried(lambda: self._read_once(work))

    def _read_once(self, work: Callable[[Rows], T]) -> T:
        wire = self._connections.take()
        try:
            snapshot = _Snapshot(wire, self._statements)
            try:
                result = work(snapshot)
            except Exception:
                snapshot.end()
                raise
            snapshot.end()
            if snapshot.fault is not None:
                raise snapshot.fault  # the function went on after it: what it was told is of no worth
            return result
        finally:
            self._connections.done(wire)


class _Snapshot(AskedRows):
    """One read-only transaction, begun with its first statement."""

    def __init__(self, wire: Wire, statements: TableStatements) -> None:
        self._wire = wire
        self._statements = statements
        self._begun = False
        self.fault: StrongroomError | None = None
        """The first fault that a read met; the transaction is lost with it."""

    def end(self) -> None:
        """End the transaction. Raises `Rivals` or `Stale` where the reads are to be made again.

        Also what the function raised is of worth only if what it was told could be read.
        """
        if isinstance(self.fault, Rivals | Stale):
            raise self.fault
        if self._begun and self.fault is None:
            self._wire.trip(COMMIT)

    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        try:
            if self._begun:
                (answer,) = self._wire.trip(call)
            else:
                self._begun = True
                answer = self._wire.trip(*self._wire.beginning(BEGIN_READ), call)[-1]
        except StrongroomError as fault:
            self.fault = self.fault or fault
            raise
        return self._wire.rows(answer)


def ask_once(connections: Connections, call: Call) -> list[tuple[Any, ...]]:
    """The rows that the server answers to a single read: a serializable transaction of its own, in one trip."""
    wire = connections.take()
    try:
        if wire.is_set_up:
            return wire.rows(*wire.trip(call))
        *_, answer, _ = wire.trip(*wire.beginning(BEGIN_READ), call, COMMIT)
        return wire.rows(answer)
    finally:
        connections.done(wire)
