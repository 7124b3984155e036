"""One connection to a server: what is sent together, and what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.faults import FAULTS, LOCKED, Lost, is_lost, number_of, translate
from strongroom.engines.mysql.options import Address
from strongroom.engines.mysql.statements import LOCKING
from strongroom.engines.mysql.wire import Wire
from strongroom.engines.sql import Gone
from strongroom.errors import StrongroomError
from strongroom.records import Row


class Asking(Protocol):
    """Whatever one statement can be asked of."""

    def ask(self, statement: str) -> Sequence[Row]:
        """The rows that the statement answers; raises Strongroom's faults."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server said of itself when a connection to it was made."""

    address: Address
    version: str
    max_packet: int
    flush: int
    """innodb_flush_log_at_trx_commit: 1 where each commit is flushed."""
    binary_log: bool
    sync_binlog: int
    cluster: bool
    """Whether it is a node of a Galera cluster."""

    @property
    def flushes(self) -> bool:
        """Whether a commit is on the disk before it is acknowledged (D2).

        With a binary log, what that has of a commit decides after a crash.
        """
        return self.flush == 1 and (not self.binary_log or self.sync_binlog == 1)


class Link:
    """One connection. One user at a time."""

    def __init__(self, wire: Wire, server: Server, session: int, now_ms: int) -> None:
        self._wire: Wire | Gone = wire
        self.server = server
        self.session = session
        """The number that the server knows it by."""
        self.now_ms = now_ms
        """The server's time when the connection was made."""
        self.answers: list[Answer] = []
        """What was answered on the last trip, up to a statement that failed."""
        self.fit = True
        """Whether the connection can be used: not where it broke, or something broke off in the middle of a trip."""

    @property
    def is_idle(self) -> bool:
        """Whether anyone may go on with the connection: it is fit, and no transaction is open on it."""
        return self.fit and not self._wire.in_transaction

    def trip(self, statements: Sequence[str]) -> list[Answer]:
        """Send the statements together, and answer what came of each. The first that fails ends it, with its fault.

        The driver's faults come out as they are: what they mean depends on what was sent.
        """
        answers: list[Answer] = []
        self.answers = answers
        self.fit = False
        try:
            self._wire.exchange(";".join(statements), answers)
        except FAULTS as fault:
            # A fault of the server's ends what was sent, and the connection stands.
            self.fit = self._stands(fault, statements[0])
            raise
        self.fit = True
        return answers

    def ask(self, statement: str) -> Sequence[Row]:
        """The rows that one statement answers; raises Strongroom's faults."""
        try:
            return self.trip([statement])[0].rows
        except FAULTS as fault:
            raise self.meaning(fault) from fault

    def meaning(self, fault: Exception) -> StrongroomError:
        """The fault to raise for the driver's that the last trip ended with."""
        found = translate(fault)
        if self.fit or isinstance(found, Lost):
            return found
        return Lost("MySQL: the connection broke, or the node can't catch up with the others")

    def _stands(self, fault: Exception, first: str) -> bool:
        """Whether the connection can be used after a fault.

        A node that can't catch up with what the others acknowledged says that a lock was not to be had, to whoever
        begins a transaction or reads without locking. It may have lost them; another will do.
        """
        locks_nothing = first.startswith(("START", "SELECT", "SHOW")) and not first.endswith(LOCKING)
        behind = self.server.cluster and number_of(fault) in LOCKED and not self.answers and locks_nothing
        return self._wire.open and not is_lost(fault) and not behind

    def forsake(self, why: str) -> object:
        """In a forked child: raise `Closed` for whatever is asked of the parent's connection, which is to be kept."""
        parents, self._wire = self._wire, Gone(why)
        return parents

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        if isinstance(self._wire, Wire) and self._wire.open:
            if self.fit:
                self._wire.close()
            else:
                self._wire.drop()
