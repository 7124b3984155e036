"""Sending a transaction's last statements and its commit, and finding out what came of it (T6)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from strongroom.engine import Rivals, Stale
from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.faults import DEADLOCK, FAULTS, Lost, number_of, translate
from strongroom.engines.mysql.link import Link, Server
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.marks import Marks
from strongroom.errors import CommitUnknown, StrongroomError, TooLarge, Unavailable

BEGIN: Final = "START TRANSACTION"
COMMIT: Final = "COMMIT"


class Commits:
    """Commits for one engine. Threads may share it."""

    def __init__(self, links: Links, marks: Marks, timeout_ms: int) -> None:
        self._links = links
        self._marks = marks
        self._timeout_ms = timeout_ms

    def send(self, link: Link, token: str, statements: Sequence[str]) -> list[Answer] | None:
        """What the statements, of which the last is COMMIT, answered; None where that was lost, but all of it kept.

        Raises `Rivals`, and `Stale` where the connection broke and nothing was kept: it is to be done again. Raises
        `CommitUnknown` where it can't be known, and any other fault for a statement that failed, whose place
        `link.answers` tells; the transaction is to be rolled back then.
        """
        answers: list[Answer] = []
        for packet in packets(statements, link.server):
            last = packet[-1] is COMMIT
            try:
                answers += link.trip(packet)
            except FAULTS as fault:
                failed = len(link.answers)
                link.answers = answers + link.answers
                if last and (not link.fit or (failed == len(packet) - 1 and number_of(fault) != DEADLOCK)):
                    return self._settled(token, translate(fault))
                raise _lost_before_commit(fault) if not link.fit else translate(fault) from fault
        return answers

    def heard_of(self, link: Link, token: str) -> None:
        """Nobody will ask for this transaction any more: its mark may go, on `link`, when there are enough such.

        That is no part of any transaction, and conflicts with none.
        """
        self._marks.heard_of(token)
        self.sweep(link)

    def sweep(self, link: Link, *, all_of_them: bool = False) -> None:
        """Remove marks that nobody will ask for."""
        if link.fit and (statement := self._marks.sweep(all_of_them=all_of_them)):
            with contextlib.suppress(StrongroomError):  # those that are left go with the old ones, some day
                link.ask(statement)

    def resolve(self, token: str) -> bool:
        """Whether the transaction was kept; raises `Unavailable` where that can't be known in time."""
        self._links.drop_idle()  # whatever broke one may have broken all
        return self._marks.resolve(token, self._links.take, self._links.drop, self._timeout_ms)

    def resolve_interrupted(self, token: str, stop: BaseException) -> bool:
        """As `resolve`, where `stop` came in between, Ctrl-C in practice; `CommitUnknown` if it can't be known."""
        try:
            return self.resolve(token)
        except Unavailable as fault:
            raise _unknown(token, fault) from stop

    def _settled(self, token: str, lost: StrongroomError) -> list[Answer] | None:
        try:
            kept = self.resolve(token)
        except Unavailable as fault:
            raise _unknown(token, fault) from lost
        except BaseException as stop:
            raise _unknown(token, lost) from stop
        if kept:
            return None
        if isinstance(lost, Lost | Rivals):
            raise Stale("MySQL: the connection broke as it committed; nothing was kept") from lost
        raise lost


def _unknown(token: str, why: StrongroomError) -> CommitUnknown:
    return CommitUnknown(f"whether the transaction was kept is not known ({why}); resolve(token) can tell", token=token)


def _lost_before_commit(fault: Exception) -> StrongroomError:
    stale = Stale("MySQL: the connection broke before the commit was sent; nothing was kept")
    stale.__cause__ = translate(fault)
    return stale


_PER_CHARACTER: Final = 4
"""The most bytes that a character takes on the wire."""


def packets(statements: Sequence[str], server: Server) -> list[list[str]]:
    """The statements in as few packets as the server takes, in their order; `TooLarge` for one that fits in none.

    A node of a cluster gets each for itself: where another node's transaction undoes this one between two statements of
    one packet, the node goes on with the next one, and says nothing (MariaDB 10.11: about 1 in 200 of those undone).
    """
    room = server.max_packet - 1024  # for the packet's own bytes
    if not server.cluster and sum(map(len, statements)) * _PER_CHARACTER < room:
        return [list(statements)]
    packets: list[list[str]] = [[]]
    filled = 0
    for statement in statements:
        size = len(statement.encode()) + 1
        if size > room:
            raise TooLarge(
                f"MySQL: {size} bytes in one statement, and the server takes {server.max_packet} (max_allowed_packet)"
            )
        if filled + size > room or (server.cluster and packets[-1] not in ([], [BEGIN])):
            packets.append([])
            filled = 0
        packets[-1].append(statement)
        filled += size
    return packets
