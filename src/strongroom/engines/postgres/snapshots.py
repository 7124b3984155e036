"""Reads: snapshots for functions, and single reads that take one trip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from strongroom.engine import Rivals, Rows, Stale, retried
from strongroom.engines.postgres.calls import BEGIN_READ, COMMIT, Call
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.links import Links
from strongroom.engines.postgres.rows import AskedRows
from strongroom.engines.postgres.statements import TableStatements
from strongroom.errors import StrongroomError

T = TypeVar("T")


class Snapshots:
    """Read functions, each on one serializable snapshot."""

    def __init__(self, links: Links, statements: TableStatements) -> None:
        self._links = links
        self._statements = statements

    def read(self, work: Callable[[Rows], T]) -> T:
        """What `work` returns or raises from one snapshot, once that is known to be one that could be read (T2)."""
        return retried(lambda: self._read_once(work))

    def _read_once(self, work: Callable[[Rows], T]) -> T:
        link = self._links.take()
        snapshot = _Snapshot(link, self._statements)
        try:
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
            # Its traceback leads back to here: Ctrl-C below would leave the connection in nobody's hands, and in use.
            snapshot.fault = None
            self._links.leave(link)


class _Snapshot(AskedRows):
    """One read-only transaction, begun with its first statement."""

    def __init__(self, link: Link, statements: TableStatements) -> None:
        self._link = link
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
            self._link.trip(COMMIT)

    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        try:
            if self._begun:
                (answer,) = self._link.trip(call)
            else:
                self._begun = True
                answer = self._link.trip(*self._link.beginning(BEGIN_READ), call)[-1]
        except StrongroomError as fault:
            self.fault = self.fault or fault
            raise
        return self._link.rows(answer)


def ask_once(links: Links, call: Call) -> list[tuple[Any, ...]]:
    """The rows that the server answers to a single read: a serializable transaction of its own, in one trip."""
    link = links.take()
    try:
        if link.is_set_up:
            return link.rows(*link.trip(call))
        *_, answer, _ = link.trip(*link.beginning(BEGIN_READ), call, COMMIT)
        return link.rows(answer)
    finally:
        links.leave(link)
