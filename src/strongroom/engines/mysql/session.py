"""Write transactions: what they read is locked until they end, and what they change goes out with the commit.

With next-key locks on everything that was read, absent keys and ranges too, held until the commit, transactions are
serializable (T2), and REPEATABLE READ is all that the server needs to know of it: SERIALIZABLE would lock in share mode
first, and two transactions that both go on to write what they read would then end in a deadlock each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strongroom.engine import BufferedRows, Refuted, Stale, TableChanges
from strongroom.engine import Session as SessionPort
from strongroom.engines.mysql.clock import ServerClock
from strongroom.engines.mysql.commits import BEGIN, COMMIT, Commits
from strongroom.engines.mysql.connections import NOW_MS, Answer, Link
from strongroom.engines.mysql.faults import FAULTS, Duplicate, translate
from strongroom.engines.mysql.guards import Guards
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.marks import Marks
from strongroom.engines.mysql.rows import SelectedRows
from strongroom.engines.mysql.statements import LOCKING, TableStatements, batches
from strongroom.errors import Corrupt, StrongroomError
from strongroom.records import AnyTable, Row

_ROWS: Final = 200
"""The most rows in one statement."""


@dataclass(frozen=True, slots=True)
class Change:
    """A statement of a commit, and what is known of it."""

    statement: str
    table: AnyTable | None = None
    count: int | None = None
    """How many rows the server must say that it changed."""


class WriteSession(SelectedRows, SessionPort):
    """One write transaction: what a `GroupRunner` runs a group on. A connection is taken when it is first needed."""

    locking = LOCKING

    def __init__(
        self,
        links: Links,
        statements: TableStatements,
        marks: Marks,
        commits: Commits,
        guards: Guards,
        clock: ServerClock,
    ) -> None:
        super().__init__(statements)
        self.fault: StrongroomError | None = None
        self.kept = False
        self._links = links
        self._marks = marks
        self._commits = commits
        self._guards = guards
        self._clock = clock
        self._link: Link | None = None
        self._begun = False

    def clock(self) -> int:
        return self._clock.now(self._ask_time)

    def commit(self, rows: BufferedRows) -> None:
        changes = [change for net in rows.changes() for change in self._changes(net)]
        if not changes:
            if self._begun:
                self._trip([COMMIT])
                self._begun = False
            return
        token = self._marks.token()
        link = self._taken()
        opening = [Change(self._marks.leave(token))]
        if not self._begun:
            opening.insert(0, Change(BEGIN))
        sent = [*opening, *map(Change, self._guards.bump(rows.reached(), link)), *changes, Change(COMMIT)]
        self._begun = True
        try:
            answers = self._commits.send(link, token, [change.statement for change in sent])
        except Duplicate as fault:
            table = sent[len(link.answers)].table
            raise fault if table is None else Refuted(table) from fault
        except StrongroomError:
            raise
        except BaseException as stop:
            self.kept = self._commits.settle_interrupted(token, stop)
            raise
        self.kept = True
        self._begun = False
        self._commits.acknowledge(link, token)
        for change, answer in zip(sent, answers or (), strict=False):
            if change.count is not None and answer.count != change.count:
                raise Corrupt(
                    f"{change.table!r}: {change.count} rows that were locked are {answer.count} as they are written"
                )

    def end(self) -> None:
        """Give the connection back; a transaction that is still open is rolled back."""
        link, self._link = self._link, None
        if link is None:
            return
        try:
            if self._begun and link.fit:
                link.trip(["ROLLBACK"])
        except FAULTS:
            link.fit = False  # closing it rolls back just as well
        finally:
            self._links.leave(link)

    def _ask(self, statement: str) -> Sequence[Row]:
        if self._begun:
            return self._trip([statement])[-1].rows
        self._taken()
        self._begun = True
        return self._trip([BEGIN, statement])[-1].rows

    def _trip(self, statements: Sequence[str]) -> Sequence[Answer]:
        link = self._taken()
        if self.fault is not None:
            raise self.fault  # the transaction is lost with it
        try:
            return link.trip(statements)
        except FAULTS as fault:
            if link.fit:
                self.fault = translate(fault)
            else:
                self._links.drop_idle()
                self.fault = Stale("MySQL: the connection broke before anything was to be kept")
            raise self.fault from fault

    def _taken(self) -> Link:
        if self._link is None:
            try:
                self._link = self._links.take()
            except StrongroomError as fault:
                self.fault = fault
                raise
        return self._link

    def _ask_time(self) -> int:
        ((now,),) = self._trip([NOW_MS])[-1].rows
        assert isinstance(now, int)
        return now

    def _changes(self, net: TableChanges) -> list[Change]:
        """The statements of one table's changes.

        Rows are written over others as they are inserted, many at once: the server counts 2 for each that it changed.
        """
        statements, table = self._statements[net.table], net.table
        removes, inserts, updates = net.removes, net.inserts, net.updates
        if not (table.changes.update or table.changes.put):  # rows that were removed and came back as others
            removes, inserts, updates = [*removes, *map(table.key_of, updates)], [*inserts, *updates], []
        return [
            *(Change(statements.remove(key), table, 1) for key in removes),
            *(Change(statements.insert(some), table, len(some)) for some in batches(inserts, _ROWS)),
            *(Change(statements.put(some), table, 2 * len(some)) for some in batches(updates, _ROWS)),
            *(Change(statements.put(some), table) for some in batches(net.puts, _ROWS)),
        ]
