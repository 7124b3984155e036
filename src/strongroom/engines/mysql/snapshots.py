"""Snapshots: read transactions, each of which sees the store as it was when it was first asked for something (R2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from strongroom.engine import Rows, Stale
from strongroom.engines.mysql.faults import FAULTS, translate
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.rows import AskedRows
from strongroom.engines.mysql.statements import TableStatements
from strongroom.errors import StrongroomError
from strongroom.records import Row

T = TypeVar("T")

_BEGIN: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"


class Snapshot(AskedRows):
    """Rows as they were at one moment."""

    def __init__(self, link: Link, statements: TableStatements) -> None:
        super().__init__(statements)
        self.fault: StrongroomError | None = None
        self._link = link
        self._begun = False

    def end(self) -> None:
        """End the read transaction."""
        if self._begun and self._link.fit:
            self._trip(["COMMIT"])

    def _ask(self, statement: str) -> Sequence[Row]:
        if self._begun:
            return self._trip([statement])
        self._begun = True
        return self._trip([_BEGIN, statement])

    def _trip(self, statements: Sequence[str]) -> Sequence[Row]:
        if self.fault is not None:
            raise self.fault
        try:
            return self._link.trip(statements)[-1].rows
        except FAULTS as fault:
            self.fault = translate(fault) if self._link.fit else Stale("MySQL: the connection broke, and its snapshot")
            raise self.fault from fault


def read(links: Links, statements: TableStatements, work: Callable[[Rows], T]) -> T:
    """What `work` returns from one snapshot; it runs again where the connection broke."""

    def on(link: Link) -> T:
        snapshot = Snapshot(link, statements)
        try:
            try:
                result = work(snapshot)
                if isinstance(snapshot.fault, Stale):
                    raise snapshot.fault  # also where `work` went on after it
                return result
            finally:
                if snapshot.fault is None:
                    snapshot.end()
                elif link.fit:
                    link.fit = False
        finally:
            snapshot.fault = None  # whose traceback leads back to here: the two would hold the connection

    return links.reading(on)
