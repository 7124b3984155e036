"""Write transactions: what they read is locked until they end, and what they change goes out with the commit.

With next-key locks on everything that was read, absent keys and ranges too, held until the commit, transactions are
serializable (T2), and REPEATABLE READ is all that the server needs to know of it: SERIALIZABLE would lock in share mode
first, and two transactions that both go on to write what they read would then end in a deadlock each time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strongroom.engine import BufferedRows, Refuted, Session, Stale, TableChanges
from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.commits import BEGIN, COMMIT, Commits
from strongroom.engines.mysql.connector import NOW_MS
from strongroom.engines.mysql.faults import FAULTS, Duplicate, translate
from strongroom.engines.mysql.guards import Guards
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.marks import Marks
from strongroom.engines.mysql.rows import AskedRows
from strongroom.engines.mysql.statements import LOCKING, TableStatements
from strongroom.engines.sql import ServerClock, Turns
from strongroom.errors import Corrupt, StrongroomError
from strongroom.records import AnyTable, Key, Row


@dataclass(frozen=True, slots=True)
class Change:
    """A statement of a commit, and what is known of it."""

    statement: str
    table: AnyTable | None = None
    count: int | None = None
    """How many rows the server must say that it changed."""


class WriteLane:
    """Where an engine's writes go to the server, one transaction at a time.

    Where several processes write the same rows again and again (the head of one log, say), most of them end in each
    other's locks: the gap behind a log's head can be locked by many who then all wait for each other. So after a
    conflict the next few transactions take turns: before anything else they lock one row that only such ones ask for.
    """

    def __init__(
        self,
        links: Links,
        statements: TableStatements,
        marks: Marks,
        commits: Commits,
        guards: Guards,
        clock: ServerClock,
    ) -> None:
        self.links = links
        self.statements = statements
        self.marks = marks
        self.commits = commits
        self.guards = guards
        self.clock = clock
        self.turns = Turns()

    @contextlib.contextmanager
    def begin(self) -> Iterator[WriteSession]:
        """A session for one group; what it did not commit is rolled back at the end."""
        session = WriteSession(self)
        try:
            yield session
        finally:
            session.end()

    def once(self, table: AnyTable, key: Key, statement: str) -> bool:
        """Whether a statement on one row, in a transaction of its own, changed anything; once that is kept.

        Raises `Duplicate` where the row that it inserts is there, and as `Commits.send`.
        """
        token = self.marks.new_token()
        with self.links.lent() as link:
            # The mark stands for a change: where none was made, none is left, and there is nothing to flush.
            before = [BEGIN, *self.guards.bump([(table, key)], link)]
            sent = [*before, statement, self.marks.mark(token, if_changed=True), COMMIT]
            try:
                answers = self.commits.send(link, token, sent)
            except StrongroomError:
                roll_back(link)
                raise
            changed = answers is None or answers[len(before)].count > 0
            if changed:
                self.commits.heard_of(link, token)
            return changed

    def beginning(self) -> list[str]:
        """The statements that begin a transaction."""
        return [BEGIN, self.guards.take_turn] if self.turns.is_next_in_turn() else [BEGIN]


class WriteSession(AskedRows, Session):
    """One write transaction: what a `GroupRunner` runs a group on. A connection is taken when it is first needed."""

    locking = LOCKING

    def __init__(self, lane: WriteLane) -> None:
        super().__init__(lane.statements)
        self.fault: StrongroomError | None = None
        self.kept = False
        self._lane = lane
        self._link: Link | None = None
        self._begun = False

    def clock(self) -> int:
        return self._lane.clock.now(self._ask_time)

    def commit(self, rows: BufferedRows) -> None:
        changes = [change for net in rows.changes() for change in self._changes(net.guarded())]
        if not changes:
            if self._begun:
                self._trip([COMMIT])
                self._begun = False
            return
        token = self._lane.marks.new_token()
        link = self._taken()
        opening = [] if self._begun else self._lane.beginning()
        opening += [self._lane.marks.mark(token), *self._lane.guards.bump(rows.reached(), link)]
        sent = [*map(Change, opening), *changes, Change(COMMIT)]
        self._begun = True
        try:
            answers = self._lane.commits.send(link, token, [change.statement for change in sent])
        except Duplicate as fault:
            table = sent[len(link.answers)].table
            raise fault if table is None else Refuted(table) from fault
        except StrongroomError as fault:
            self._lane.turns.notice(fault)
            raise
        except BaseException as stop:
            self.kept = self._lane.commits.resolve_interrupted(token, stop)
            raise
        self.kept = True
        self._begun = False
        self._lane.commits.heard_of(link, token)
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
            if self._begun:
                roll_back(link)
        finally:
            self._lane.links.leave(link)

    def _ask(self, statement: str) -> Sequence[Row]:
        if self._begun:
            return self._trip([statement])[-1].rows
        self._taken()
        self._begun = True
        return self._trip([*self._lane.beginning(), statement])[-1].rows

    def _trip(self, statements: Sequence[str]) -> Sequence[Answer]:
        link = self._taken()
        if self.fault is not None:
            raise self.fault  # the transaction is lost with it
        try:
            return link.trip(statements)
        except FAULTS as fault:
            if link.fit:
                self.fault = translate(fault)
                self._lane.turns.notice(self.fault)
            else:
                self._lane.links.drop_idle()
                self.fault = Stale("MySQL: the connection broke before anything was to be kept")
            raise self.fault from fault

    def _taken(self) -> Link:
        if self._link is None:
            try:
                self._link = self._lane.links.take()
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
        return [
            *(Change(statements.remove(key), table, 1) for key in net.removes),
            *(Change(statement, table, count) for statement, count in statements.insert(net.inserts)),
            *(Change(statement, table, 2 * count) for statement, count in statements.put(net.updates)),
            *(Change(statement, table) for statement, _ in statements.put(net.puts)),
        ]


def roll_back(link: Link) -> None:
    """End the transaction; a connection that can't do it is closed, which does it just as well."""
    if link.fit:
        try:
            link.trip(["ROLLBACK"])
        except FAULTS:
            link.fit = False
