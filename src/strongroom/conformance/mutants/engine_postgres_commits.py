"""The PostgreSQL engine's transactions, commits and connections with one safeguard broken."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import psycopg

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import BufferedRows
from strongroom.engines.postgres import engine, faults, marks, migration, snapshots
from strongroom.engines.postgres.calls import BEGIN_LOOSE, COMMIT, Call, Statement
from strongroom.engines.postgres.engine import PostgresEngine
from strongroom.engines.postgres.faults import Duplicate
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.links import Links
from strongroom.engines.postgres.marks import Marks
from strongroom.engines.postgres.migration import MigrationRows
from strongroom.engines.postgres.session import WriteLane, WriteSession
from strongroom.engines.sql.turns import Turns
from strongroom.errors import CommitUnknown, Conflict, StrongroomError

POSTGRES = Ground.POSTGRES

SNAPSHOT = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE")()
LOOSE_READ = Statement("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")()


def _begin_with(patch: Patches, begin: Call) -> None:
    """Have write transactions begin otherwise."""
    beginning = WriteLane.beginning
    patch.method(WriteLane, "beginning", lambda self, link: [begin, *beginning(self, link)[1:]])


@mutant("T2", on=POSTGRES)
def postgres_read_committed(patch: Patches) -> None:
    """Write transactions are read committed, as the server's own default is."""
    _begin_with(patch, BEGIN_LOOSE)


@mutant("T2", on=POSTGRES)
def postgres_repeatable_read(patch: Patches) -> None:
    """Write transactions see one snapshot, and what they read may change before they commit (write skew)."""
    _begin_with(patch, SNAPSHOT)


@mutant("T2", on=POSTGRES)
def postgres_single_writes_outside_of_serializable(patch: Patches) -> None:
    """Single writes are read committed: transactions are guarded against each other, and not against these."""
    alone = WriteLane.write_alone

    def loose(self: WriteLane, call: Callable[[str], Call]) -> bool:
        beginning = self.beginning
        vars(self)["beginning"] = lambda link: [BEGIN_LOOSE, *beginning(link)[1:]]
        try:
            return alone(self, call)
        finally:
            del vars(self)["beginning"]

    patch.method(WriteLane, "write_alone", loose)


@mutant("T2", on=POSTGRES)
def postgres_single_reads_outside_of_serializable(patch: Patches) -> None:
    """Single reads are read committed: they may show what no order of the transactions leaves."""

    def ask(links: Links, call: Call) -> list[tuple[Any, ...]]:
        link = links.take()
        try:
            _, answer, _ = link.trip(LOOSE_READ, call, COMMIT)
            return link.rows(answer)
        finally:
            links.leave(link)

    patch.function(snapshots.ask_once, ask)


@mutant("T2", on=POSTGRES)
def postgres_looks_are_not_validated(patch: Patches) -> None:
    """A write function that changed nothing is rolled back: the server is never asked whether what it saw can be."""
    commit = WriteSession.commit

    def unasked(self: WriteSession, rows: BufferedRows) -> None:
        if rows.changes():
            commit(self, rows)

    patch.method(WriteSession, "commit", unasked)


@mutant("T2", on=POSTGRES)
def postgres_snapshots_are_not_validated(patch: Patches) -> None:
    """A read function's transaction is rolled back: the server is never asked whether what it saw can be."""
    patch.method(snapshots._Snapshot, "end", lambda self: None)


@mutant("R2", on=POSTGRES)
def postgres_snapshot_of_each_statement(patch: Patches) -> None:
    """Each read of a read function is a transaction of its own."""

    def ask(self: Any, call: Call) -> list[tuple[Any, ...]]:
        (answer,) = self._link.trip(call)
        rows: list[tuple[Any, ...]] = self._link.rows(answer)
        return rows

    patch.method(snapshots._Snapshot, "_ask", ask)


@mutant("T4", on=POSTGRES)
def postgres_conflicts_are_not_retried(patch: Patches) -> None:
    """A transaction that could not be serialized is given up at once."""
    fault = faults._fault

    def final(state: str, said: str, table: str) -> StrongroomError:
        return Conflict("others won") if state in faults._RUN_AGAIN else fault(state, said, table)

    patch.function(fault, final)


@mutant("T4", on=POSTGRES)
def postgres_deadlocks_are_not_retried(patch: Patches) -> None:
    """A transaction that the server chose to end a deadlock, or that could not be serialized, is a plain fault."""
    fault = faults._fault

    def plain(state: str, said: str, table: str) -> StrongroomError:
        return StrongroomError(said) if state in faults._RUN_AGAIN else fault(state, said, table)

    patch.function(fault, plain)


@mutant("T6", "D3", on=POSTGRES)
def postgres_commit_error_swallowed(patch: Patches) -> None:
    """A transaction whose COMMIT fails is reported as kept."""
    commit = WriteLane.commit

    def careless(self: WriteLane, token: str, link: Link, *calls: Call) -> Any:
        try:
            return commit(self, token, link, *calls)
        except Duplicate:
            raise
        except StrongroomError:
            return None

    patch.method(WriteLane, "commit", careless)


@mutant("W1", on=POSTGRES)
def postgres_unique_violation_is_success(patch: Patches) -> None:
    """A transaction whose new row is there already is reported as kept."""
    commit = WriteLane.commit

    def careless(self: WriteLane, token: str, link: Link, *calls: Call) -> Any:
        try:
            return commit(self, token, link, *calls)
        except Duplicate:
            return None

    patch.method(WriteLane, "commit", careless)


@mutant("T6", on=POSTGRES)
def postgres_mark_not_written(patch: Patches) -> None:
    """A transaction leaves no mark of its own, so that it is taken for lost when its answer is."""
    patch.method(Marks, "mark", lambda self, _token: self._insert([self.new_token()]))


@mutant("T6", on=POSTGRES)
def postgres_single_write_leaves_no_mark(patch: Patches) -> None:
    """A single write leaves no mark of its own, so that it is taken for lost when its answer is."""
    alone = WriteLane.write_alone
    patch.method(WriteLane, "write_alone", lambda self, call: alone(self, lambda _token: call(Marks.new_token())))


@mutant("T6", on=POSTGRES)
def postgres_lost_answer_is_taken_for_kept(patch: Patches) -> None:
    """When the connection breaks at a commit nobody asks: it is taken to be kept."""
    patch.method(Marks, "find_out", lambda self, _token, _cause: True)


@mutant("T6", on=POSTGRES)
def postgres_lost_answer_is_taken_for_lost_commit(patch: Patches) -> None:
    """When the connection breaks at a commit nobody asks: it is taken to be lost, and made again."""
    patch.method(Marks, "find_out", lambda self, _token, _cause: False)


def _look_only(self: Any, token: str, _deadline: float) -> bool:
    link = self._connect()
    try:
        *_, asked, _ = link.trip(BEGIN_LOOSE, self._ask([token]), COMMIT)
        return bool(link.rows(asked))
    finally:
        link.close()


@mutant("T6", on=POSTGRES)
def postgres_no_fence_left_behind(patch: Patches) -> None:
    """Whoever finds no mark leaves no fence: the transaction may still arrive."""
    patch.method(Marks, "_outcome", _look_only)


@mutant("T6", on=POSTGRES)
def postgres_fence_is_taken_for_a_mark(patch: Patches) -> None:
    """Whoever asks a second time finds his own fence, and takes it for the transaction's mark."""
    outcome = Marks._outcome

    def asked_before(self: Marks, token: str, deadline: float) -> bool:
        return _look_only(self, token, deadline) or outcome(self, token, deadline)

    patch.method(Marks, "_outcome", asked_before)


@mutant("T6", on=POSTGRES)
def postgres_resolve_answers_from_memory(patch: Patches) -> None:
    """An engine object that never heard of a token takes its transaction to be lost."""
    outcome, told = Marks._outcome, Marks.find_out

    def remember(self: Any, token: str, cause: BaseException) -> bool:
        self.mine = {*getattr(self, "mine", ()), token}
        return told(self, token, cause)

    def recall(self: Any, token: str, deadline: float) -> bool:
        return token in getattr(self, "mine", ()) and outcome(self, token, deadline)

    patch.method(Marks, "find_out", remember)
    patch.method(Marks, "_outcome", recall)


@mutant("T6", on=POSTGRES)
def postgres_any_token_resolved(patch: Patches) -> None:
    """A token that was never given out is answered, too."""
    patch.method(Marks, "resolve", lambda self, token: self._outcome(token, 0.0))


@mutant("T6", on=POSTGRES)
def postgres_unknown_marks_are_swept(patch: Patches) -> None:
    """The mark of a commit that nobody has asked for yet is removed when its engine object closes."""
    commit = WriteLane.commit

    def tidy(self: WriteLane, token: str, link: Link, *calls: Call) -> Any:
        try:
            return commit(self, token, link, *calls)
        except CommitUnknown:
            self.marks._heard_of.append(token)
            raise

    patch.method(WriteLane, "commit", tidy)


@mutant("T5", on=POSTGRES)
def postgres_open_transaction_given_back(patch: Patches) -> None:
    """A connection goes back to the pool with its transaction still open, and whoever takes it goes on in there."""

    def leave(self: Links, link: Link) -> None:
        if link.broken:
            self.drop(link)
        else:
            self.give(link)

    patch.method(Links, "leave", leave)


@mutant("D3", on=POSTGRES)
def postgres_broken_connection_given_back(patch: Patches) -> None:
    """A connection that broke goes back to the pool."""
    leave = Links.leave
    patch.method(Links, "leave", lambda self, link: self.give(link) if link.broken else leave(self, link))


@mutant("E1", on=POSTGRES)
def postgres_driver_s_fault_escapes(patch: Patches) -> None:
    """A connection that breaks is reported with psycopg's own exception."""
    trip = Link.trip

    def bare(self: Link, *calls: Call) -> Any:
        try:
            return trip(self, *calls)
        except StrongroomError as fault:
            if isinstance(fault.__cause__, psycopg.Error):
                raise fault.__cause__ from None
            raise

    patch.method(Link, "trip", bare)


@mutant("L2", "T4", on=POSTGRES)
def postgres_turns_never_taken(patch: Patches) -> None:
    """Processes that append to one log never take turns, and each comes through by luck only."""
    patch.method(Turns, "notice", lambda self, _fault: None)


@mutant("D2", on=POSTGRES)
def postgres_commit_not_flushed(patch: Patches) -> None:
    """A commit is acknowledged before it is on the disk."""
    beginning = WriteLane.beginning

    def hasty(self: WriteLane, link: Link) -> list[Call]:
        return [*beginning(self, link), marks._UNFLUSHED]

    patch.method(WriteLane, "beginning", hasty)


@mutant("C3", on=POSTGRES)
def postgres_close_does_not_wait(patch: Patches) -> None:
    """Closing an engine takes the connections from the writes that are in flight."""

    def close(self: PostgresEngine) -> None:
        for link in self._links.forsake():
            link.close()
        self._links.close(self._closed)

    patch.method(PostgresEngine, "_close", close)


@mutant("C3", on=POSTGRES)
def postgres_close_leaves_connections(patch: Patches) -> None:
    """Closing an engine closes none of its connections."""

    def close(self: PostgresEngine) -> None:
        self._committer.close()
        engine._leaked.append(self._links)

    patch.method(PostgresEngine, "_close", close)


@mutant("M3", on=POSTGRES)
def postgres_migration_without_the_lock(patch: Patches) -> None:
    """Migrations of one store do not wait for one another."""
    patch.function(migration._lock_of, lambda _schema: secrets.randbits(62))


@mutant("M3", on=POSTGRES)
def postgres_step_recorded_before_its_tables(patch: Patches) -> None:
    """A migration's step is on record for good before its tables are made."""
    make = MigrationRows.create

    def create(self: MigrationRows, *table: Any) -> None:
        vars(self).setdefault("later", []).append(table)

    def insert(self: MigrationRows, table: Any, _key: Any, row: Any) -> bool:
        later = vars(self).pop("later", [])
        if any(made[0] is table for made in later):  # the record's own table comes before any record
            for made in later:
                make(self, *made)
            later = []
        inserted = self._changed(self._statements[table].insert(row))
        if later:
            self._link.trip(COMMIT, BEGIN_LOOSE)
            for made in later:
                make(self, *made)
        return inserted

    patch.method(MigrationRows, "create", create)
    patch.method(MigrationRows, "insert", insert)
