"""The SQLite engine's transactions, snapshots and groups with one safeguard broken."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Committer, Job
from strongroom.engines.sqlite import engine, snapshots, writer
from strongroom.engines.sqlite.engine import SqliteEngine
from strongroom.engines.sqlite.faults import FAULTS
from strongroom.engines.sqlite.writer import GroupWriter, Work

SQLITE = Ground.SQLITE

Execute = Callable[..., Any]


class _Through:
    """A connection whose `execute` goes another way."""

    def __init__(self, connection: Any, execute: Callable[[Execute, str], Any]) -> None:
        self._connection = connection
        self._way = execute

    def execute(self, sql: str, *bindings: Any) -> Any:
        return self._connection.execute(sql, *bindings) if bindings else self._way(self._connection.execute, sql)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _reroute(patch: Patches, way: Callable[[Execute, str], Any]) -> None:
    """Have the group writer's own statements (BEGIN, COMMIT, ROLLBACK) go another way."""
    make = GroupWriter.__init__

    def through(self: Any, connection: Any, *rest: Any) -> None:
        make(self, connection, *rest)
        self._connection = _Through(connection, way)

    patch.method(GroupWriter, "__init__", through)


@mutant("T2", on=SQLITE)
def sqlite_deferred_begin(patch: Patches) -> None:
    """A transaction takes the write lock at its first write, when what it has read may be old."""
    _reroute(patch, lambda execute, sql: execute(sql.replace(" IMMEDIATE", "")))


@mutant("T6", "D3", on=SQLITE)
def sqlite_commit_failure_ignored(patch: Patches) -> None:
    """A transaction whose COMMIT fails is reported as kept."""

    def careless(execute: Execute, sql: str) -> Any:
        if sql != "COMMIT":
            return execute(sql)
        with contextlib.suppress(*FAULTS):
            return execute(sql)
        with contextlib.suppress(*FAULTS):
            execute("ROLLBACK")

    _reroute(patch, careless)


@mutant("T6", "D3", on=SQLITE)
def sqlite_single_call_s_failure_ignored(patch: Patches) -> None:
    """A single statement that can't be written is reported as kept."""
    run = GroupWriter._run_statement

    def careless(self: GroupWriter, job: Job[Work]) -> None:
        run(self, job)
        if job.error is not None and job.error.__cause__ is not None:
            job.result, job.error = True, None

    patch.method(GroupWriter, "_run_statement", careless)


@mutant("T6", on=SQLITE)
def sqlite_failed_commit_resolved_as_kept(patch: Patches) -> None:
    """Whoever asks after a commit that failed is told that it was kept."""
    resolve = SqliteEngine.resolve
    patch.method(SqliteEngine, "resolve", lambda self, token: not resolve(self, token))


@mutant("T6", on=SQLITE)
def sqlite_any_token_resolved(patch: Patches) -> None:
    """A token that was never given out is answered, too."""

    def resolve(self: Any, _token: str) -> bool:
        self._submit(lambda _rows: self._writer_rows.touch())
        return False

    patch.method(SqliteEngine, "resolve", resolve)


@mutant("T1", on=SQLITE)
def sqlite_neighbours_of_a_failed_write_are_lost(patch: Patches) -> None:
    """When a function of a group raises, the group is rolled back, and the others are not run again."""

    def run(self: Any, jobs: Sequence[Job[Work]]) -> None:
        if self._run_together(jobs) is not None:
            for job in jobs:
                job.done = True

    patch.method(GroupWriter, "run", run)


@mutant("T1", on=SQLITE)
def sqlite_failed_write_is_committed_with_its_neighbours(patch: Patches) -> None:
    """What a function wrote before it raised is committed together with the rest of its group."""
    attempt = GroupWriter._attempt

    def forgiving(self: Any, job: Job[Work]) -> bool:
        attempt(self, job)
        return not self._connection.in_transaction

    patch.method(GroupWriter, "_attempt", forgiving)


@mutant("T5", on=SQLITE)
def sqlite_abandon_commits(patch: Patches) -> None:
    """What an abandoned transaction wrote is kept."""
    patch.function(writer._is_abandoned, lambda _job: False)


@mutant("T3", on=SQLITE)
def sqlite_neighbours_share_an_exception(patch: Patches) -> None:
    """All who fail in one group get the exception of the first."""
    run = GroupWriter.run

    def same(self: GroupWriter, jobs: Sequence[Job[Work]]) -> None:
        run(self, jobs)
        raised = [job for job in jobs if job.error is not None]
        for job in raised:
            job.error = raised[0].error

    patch.method(GroupWriter, "run", same)


@mutant("T1", on=SQLITE)
def sqlite_answers_handed_to_the_wrong_neighbour(patch: Patches) -> None:
    """The results of a group are handed out in another order than the functions came in."""
    run = GroupWriter.run

    def turned(self: GroupWriter, jobs: Sequence[Job[Work]]) -> None:
        run(self, jobs)
        fine = [job for job in jobs if job.error is None]
        for job, result in zip(fine, [job.result for job in reversed(fine)], strict=True):
            job.result = result

    patch.method(GroupWriter, "run", turned)


def _answer_early(patch: Patches, seconds: float) -> None:
    """Have a write function's caller go on as soon as the function has returned, so long before the commit."""

    def write(self: Any, work: Callable[[Any], Any], abandoned: Callable[[], bool]) -> Any:
        answers: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

        def telling(rows: Any) -> Any:
            try:
                result = work(rows)
            except BaseException as raised:
                answers.put((False, raised))
                raise
            answers.put((True, result))
            time.sleep(seconds)
            return result

        def later() -> None:
            try:
                self._committer.submit(Work(telling, abandoned))
            except BaseException as raised:
                answers.put((False, raised))

        threading.Thread(target=later, daemon=True).start()
        fine, answer = answers.get()
        if not fine:
            raise answer
        return answer

    patch.method(SqliteEngine, "_write", write)


@mutant("R1", on=SQLITE)
def sqlite_result_handed_out_before_the_commit(patch: Patches) -> None:
    """A write function's caller gets its result while the commit is still on its way."""
    _answer_early(patch, 0.01)


@mutant("D1", on=SQLITE)
def sqlite_acknowledged_before_it_is_written(patch: Patches) -> None:
    """What a writer was told is kept is written a little later, and lost if its process is killed by then."""
    _answer_early(patch, 0.05)


@mutant("R2", on=SQLITE)
def sqlite_snapshot_never_begun(patch: Patches) -> None:
    """A read function's statements are each a moment of their own."""
    run = snapshots._Snapshot._all
    patch.method(
        snapshots._Snapshot, "_all", lambda self, sql, bindings: [] if sql == "BEGIN" else run(self, sql, bindings)
    )


@mutant("R1", on=SQLITE)
def sqlite_reader_stays_in_its_first_snapshot(patch: Patches) -> None:
    """The connection for single reads is left inside a transaction, and sees for ever what it saw first."""
    make = engine._QuickCalls.__init__

    def stay(self: Any, owner: SqliteEngine) -> None:
        make(self, owner)
        owner._reader.execute("BEGIN")

    patch.method(engine._QuickCalls, "__init__", stay)


@mutant("C3", on=SQLITE)
def sqlite_close_does_not_wait(patch: Patches) -> None:
    """Closing an engine refuses new writes, but does not wait for those in flight."""

    def close(self: Any) -> None:
        self._closed = True

    patch.method(Committer, "close", close)


@mutant("C3", on=SQLITE)
def sqlite_close_leaves_connections_open(patch: Patches) -> None:
    """Closing an engine forgets the connections that its snapshots kept for the next ones."""

    def close(self: Any, fault: Any) -> None:
        with self._lock:
            self._closed = fault
        self.give_up(fault)
        kept.extend(self._idle)

    kept: list[Any] = []
    patch.method(snapshots.Snapshots, "close", close)


@mutant("D5", on=SQLITE)
def sqlite_given_up_reader_goes_on_as_if_nothing_were(patch: Patches) -> None:
    """A reader whose snapshot was given up is not told, and reads on in the newest state."""

    def give_up(self: Any, _fault: Any) -> None:
        with self._lock:
            running = list(self._running)
        for snapshot in running:
            snapshot.end()

    patch.method(snapshots.Snapshots, "give_up", give_up)
