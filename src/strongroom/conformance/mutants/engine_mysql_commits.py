"""The MySQL engine's transactions, commits and connections with one safeguard broken, also in a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pymysql

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import BufferedRows, Stale
from strongroom.engine.catalog import CATALOG
from strongroom.engines.mysql import connector, engine, faults, marks, migration
from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.commits import COMMIT, Commits
from strongroom.engines.mysql.connector import Connector
from strongroom.engines.mysql.engine import MysqlEngine
from strongroom.engines.mysql.faults import Duplicate
from strongroom.engines.mysql.guards import Guards
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.links import Links
from strongroom.engines.mysql.marks import Marks
from strongroom.engines.mysql.migration import MigrationRows
from strongroom.engines.mysql.session import WriteSession
from strongroom.engines.mysql.snapshots import Snapshot
from strongroom.engines.mysql.statements import LOCKING, Statements, literal
from strongroom.errors import CommitUnknown, Conflict, StrongroomError
from strongroom.records import AnyTable, Row

MYSQL = Ground.MYSQL
GALERA = Ground.GALERA


@mutant("T2", on=MYSQL)
def mysql_plain_reads(patch: Patches) -> None:
    """A write transaction reads without locks: what it read may change before it commits."""

    def ask(self: Any, statement: str) -> Sequence[Row]:
        rows: Sequence[Row] = asking(self, statement.replace(LOCKING, ""))
        return rows

    asking = WriteSession._ask
    patch.method(WriteSession, "_ask", ask)


@mutant("T2", on=MYSQL)
def mysql_ranges_are_not_locked(patch: Patches) -> None:
    """A write transaction locks the rows that it reads by their keys, and not those that it walks over."""
    walk, tally = Statements.fetch_range, Statements.tally
    patch.method(Statements, "fetch_range", lambda self, wanted, _locking: walk(self, wanted, ""))
    patch.method(Statements, "tally", lambda self, prefix, limit, _locking: tally(self, prefix, limit, ""))


@mutant("T2", on=MYSQL)
def mysql_gaps_are_not_locked(patch: Patches) -> None:
    """Transactions are read committed: rows that were read are locked, and the places where none was are not."""
    setup = Connector._set_up

    def committed(self: Connector, *arguments: Any) -> Link:
        link = setup(self, *arguments)
        link.ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        return link

    patch.method(Connector, "_set_up", committed)


@mutant("R2", on=MYSQL)
def mysql_snapshot_of_each_statement(patch: Patches) -> None:
    """Each read of a read function is a transaction of its own."""

    def ask(self: Any, statement: str) -> Sequence[Row]:
        rows: Sequence[Row] = self._trip([statement])
        return rows

    patch.method(Snapshot, "_ask", ask)


@mutant("T4", on=MYSQL)
def mysql_deadlocks_are_not_retried(patch: Patches) -> None:
    """A transaction that the server chose to end a deadlock is given up at once."""
    translate = faults.translate

    def final(fault: Exception) -> StrongroomError:
        return Conflict("others won") if faults.number_of(fault) in faults._RIVALS else translate(fault)

    patch.function(translate, final)


@mutant("T6", "D3", on=MYSQL)
def mysql_commit_error_swallowed(patch: Patches) -> None:
    """A transaction that can't be kept is reported as kept."""
    send = Commits.send

    def careless(self: Commits, link: Link, token: str, statements: Sequence[str]) -> list[Answer] | None:
        try:
            return send(self, link, token, statements)
        except Duplicate:
            raise
        except StrongroomError:
            return None

    patch.method(Commits, "send", careless)


@mutant("W1", on=MYSQL)
def mysql_unique_violation_is_success(patch: Patches) -> None:
    """A transaction whose new row is there already is reported as kept."""
    send = Commits.send

    def careless(self: Commits, link: Link, token: str, statements: Sequence[str]) -> list[Answer] | None:
        try:
            return send(self, link, token, statements)
        except Duplicate:
            return None

    patch.method(Commits, "send", careless)


@mutant("W1", "T6", on=MYSQL)
def mysql_later_answers_not_read(patch: Patches) -> None:
    """Of statements that are sent together only the first one's answer is looked at, whatever the others say."""

    def trip(self: Link, statements: Sequence[str]) -> list[Answer]:
        try:
            return together(self, statements)
        except pymysql.MySQLError:
            if not self.answers:
                raise
            return [*self.answers, *[Answer((), 1)] * (len(statements) - len(self.answers))]

    together = Link.trip

    patch.method(Link, "trip", trip)


@mutant("T6", on=MYSQL)
def mysql_mark_not_written(patch: Patches) -> None:
    """A transaction leaves no mark of its own, so that it is taken for lost when its answer is."""
    mark = Marks.mark
    patch.method(
        Marks, "mark", lambda self, _token, *, if_changed=False: mark(self, self.new_token(), if_changed=if_changed)
    )


@mutant("T6", on=MYSQL)
def mysql_no_mark_where_the_count_is_not_known(patch: Patches) -> None:
    """A single change leaves no mark where the server, which has nobody left to tell, lost count of the rows."""
    mark = Marks.mark

    def counted(self: Marks, token: str, *, if_changed: bool = False) -> str:
        return mark(self, token, if_changed=if_changed).replace("ROW_COUNT() <> 0", "ROW_COUNT() > 0")

    patch.method(Marks, "mark", counted)


@mutant("T6", on=MYSQL)
def mysql_lost_answer_is_taken_for_kept(patch: Patches) -> None:
    """When the connection breaks at a commit nobody asks: it is taken to be kept."""
    patch.method(Commits, "_settled", lambda self, _token, _lost: None)


@mutant("T6", on=MYSQL)
def mysql_lost_answer_is_taken_for_lost_commit(patch: Patches) -> None:
    """When the connection breaks at a commit nobody asks: it is taken to be lost, and made again."""

    def guess(_self: Commits, _token: str, lost: StrongroomError) -> None:
        raise Stale("taken to be lost") from lost

    patch.method(Commits, "_settled", guess)


def _look_only(self: Any, link: Link, token: str) -> bool:
    return bool(link.ask(f"SELECT kind FROM {self.name} WHERE token = {literal(token)}"))


@mutant("T6", on=MYSQL)
def mysql_no_fence_left_behind(patch: Patches) -> None:
    """Whoever finds no mark leaves no fence: the transaction may still arrive."""
    patch.method(Marks, "_fenced", _look_only)


@mutant("T6", on=MYSQL)
def mysql_fence_is_taken_for_a_mark(patch: Patches) -> None:
    """Whoever asks a second time finds his own fence, and takes it for the transaction's mark."""
    fenced = Marks._fenced
    patch.method(Marks, "_fenced", lambda self, link, token: _look_only(self, link, token) or fenced(self, link, token))


@mutant("T6", on=MYSQL)
def mysql_resolve_answers_from_memory(patch: Patches) -> None:
    """An engine object that never heard of a token takes its transaction to be lost."""
    fenced, token = Marks._fenced, Marks.new_token

    def remember(self: Any) -> str:
        made: str = token(self)
        self.mine = {*getattr(self, "mine", ()), made}
        return made

    def recall(self: Any, link: Link, token: str) -> bool:
        return token in getattr(self, "mine", ()) and fenced(self, link, token)

    patch.method(Marks, "new_token", remember)
    patch.method(Marks, "_fenced", recall)


@mutant("T6", on=MYSQL)
def mysql_any_token_resolved(patch: Patches) -> None:
    """A token that was never given out is answered, too."""
    patch.method(Marks, "check", lambda self, _token: None)
    patch.function(marks._made_at, lambda _token: 0)


@mutant("T6", on=MYSQL)
def mysql_unknown_marks_are_swept(patch: Patches) -> None:
    """The mark of a commit that nobody has asked for yet is removed when its engine object closes."""
    send = Commits.send

    def tidy(self: Commits, link: Link, token: str, statements: Sequence[str]) -> list[Answer] | None:
        try:
            return send(self, link, token, statements)
        except CommitUnknown:
            self._marks.heard_of(token)
            raise

    patch.method(Commits, "send", tidy)


@mutant("T1", "T5", on=MYSQL)
def mysql_open_transaction_given_back(patch: Patches) -> None:
    """A connection goes back to the pool with its transaction still open, and whoever takes it goes on in there."""

    def end(self: WriteSession) -> None:
        link, self._link = self._link, None
        if link is not None:
            self._lane.links.give(link)

    patch.method(WriteSession, "end", end)


@mutant("D3", on=MYSQL)
def mysql_broken_connection_given_back(patch: Patches) -> None:
    """A connection that broke goes back to the pool."""
    patch.method(Links, "leave", lambda self, link: self.give(link))


@mutant("E1", on=MYSQL)
def mysql_driver_s_fault_escapes(patch: Patches) -> None:
    """What goes wrong is reported with PyMySQL's own exception."""
    ask = Link.ask

    def bare(self: Link, statement: str) -> Sequence[Row]:
        try:
            return ask(self, statement)
        except StrongroomError as fault:
            if isinstance(fault.__cause__, pymysql.MySQLError):
                raise fault.__cause__ from None
            raise

    patch.method(Link, "ask", bare)


@mutant("D2", on=MYSQL)
def mysql_abandoned_work_is_flushed(patch: Patches) -> None:
    """A transaction that changes nothing leaves a mark all the same, which costs a flush."""
    commit = WriteSession.commit

    def marking(self: WriteSession, rows: BufferedRows) -> None:
        if not rows.changes():
            self._trip([*self._lane.beginning(), self._lane.marks.mark(self._lane.marks.new_token()), COMMIT])
            self._begun = False
            return
        commit(self, rows)

    patch.method(WriteSession, "commit", marking)


@mutant("C3", on=MYSQL)
def mysql_close_does_not_wait(patch: Patches) -> None:
    """Closing an engine takes the connections from the writes that are in flight."""

    def close(self: MysqlEngine) -> None:
        for link in self.links.forsake():
            link.fit = False
            link.close()
        self.links.close(self._closed)

    patch.method(MysqlEngine, "_close", close)


@mutant("C3", on=MYSQL)
def mysql_close_leaves_connections(patch: Patches) -> None:
    """Closing an engine closes none of its connections."""

    def close(self: MysqlEngine) -> None:
        self._committer.close()
        engine._leaked.extend(self.links.forsake())

    patch.method(MysqlEngine, "_close", close)


@mutant("M3", on=MYSQL)
def mysql_steps_recorded_before_their_tables(patch: Patches) -> None:
    """A migration's steps are on record before their tables and columns are made."""
    create, add_column, migrating = MigrationRows.create, MigrationRows.add_column, migration.migrating
    later: list[Callable[[], None]] = []

    def put_off(self: MigrationRows, table: AnyTable, columns: Sequence[Any]) -> None:
        if table in CATALOG.tables:  # what the record itself is kept in
            create(self, table, columns)
        else:
            later.append(lambda: create(self, table, columns))

    @contextlib.contextmanager
    def hasty(*arguments: Any, **options: Any) -> Iterator[MigrationRows]:
        later.clear()
        with migrating(*arguments, **options) as rows:
            yield rows
            for change in later:
                change()

    patch.method(MigrationRows, "create", put_off)
    patch.method(MigrationRows, "add_column", lambda *column: later.append(lambda: add_column(*column)))
    patch.function(migrating, hasty)


@mutant("M3", on=MYSQL)
def mysql_step_recorded_whose_table_was_refused(patch: Patches) -> None:
    """A migration goes on where the server refuses to make a table or a column, and has the step on record."""
    trip = MigrationRows._link_trip

    def lenient(self: MigrationRows, statement: str, *tolerated: int) -> Sequence[Answer]:
        try:
            return trip(self, statement, *tolerated)
        except StrongroomError:
            return [Answer((), 0)]

    patch.method(MigrationRows, "_link_trip", lenient)


@mutant("M3", on=MYSQL)
def mysql_column_that_is_there_is_a_fault(patch: Patches) -> None:
    """A step that died behind a new column can't be taken again: the column is there."""
    trip = MigrationRows._link_trip
    patch.method(MigrationRows, "_link_trip", lambda self, statement, *_tolerated: trip(self, statement))


@mutant("M3", on=MYSQL)
def mysql_table_that_is_there_is_a_fault(patch: Patches) -> None:
    """A step that died behind a new table can't be taken again: the table is there."""
    trip = MigrationRows._link_trip

    def strict(self: MigrationRows, statement: str, *tolerated: int) -> Sequence[Answer]:
        return trip(self, statement.replace("CREATE TABLE IF NOT EXISTS", "CREATE TABLE"), *tolerated)

    patch.method(MigrationRows, "_link_trip", strict)


@mutant("M3", on=MYSQL)
def mysql_migration_without_the_lock(patch: Patches) -> None:
    """Migrations of one store do not wait for one another."""
    ask = Link.ask

    def unlocked(self: Link, statement: str) -> Sequence[Row]:
        return ((1,),) if "GET_LOCK" in statement else ask(self, statement)

    patch.method(Link, "ask", unlocked)


# In a cluster.


@mutant("T2", on=GALERA)
def galera_no_guards(patch: Patches) -> None:
    """Transactions on two nodes meet in what both of them write, not in what one reads and the other writes."""
    patch.method(Guards, "bump", lambda self, _reached, _link: [])


@mutant("R1", on=GALERA)
def galera_node_lags_behind(patch: Patches) -> None:
    """A node answers as it stands, without what was acknowledged on another and has not got there yet."""
    patch.function(connector._join, lambda _connection: None)
