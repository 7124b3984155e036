"""The one writer of an engine: runs groups of jobs in one transaction with one flush, and settles failed commits."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from strongroom.engine import Job, is_from_a_signal
from strongroom.engines.sqlite.faults import FAULTS, translate
from strongroom.engines.sqlite.rows import ConnectionRows, rolled_back
from strongroom.engines.sqlite.wal import WalKeeper
from strongroom.errors import CommitUnknown, StrongroomError, Unavailable
from strongroom.records import AnyTable, Row

_WORTH_CARRYING: Final = 4
_MOST_CARRIED: Final = 64
"""How many inserts at least, and at most, are carried in one statement."""
_MOST_SPOILERS: Final = 3
"""So many jobs of one group may each make the others run again; then all run alone, so that the work stays bounded."""


class Work(NamedTuple):
    """A write function as the committer queues it."""

    change: Callable[[Any], Any]
    abandoned: Callable[[], bool] | None
    """None for a single statement, which needs no transaction around it when it is alone."""
    inserts: tuple[AnyTable, Row] | None = None
    """What the single statement inserts, if it does: it can then be carried in one statement with its neighbours."""


class GroupWriter:
    """Runs commit groups on the writer's connection."""

    def __init__(self, connection: apsw.Connection, rows: ConnectionRows, wal: WalKeeper | None) -> None:
        self._connection = connection
        self._rows = rows
        self._wal = wal
        self.token = secrets.token_hex(8)
        """The token of commits whose outcome is open: they are settled all at once."""
        self.unsettled = False
        """Whether a commit failed in a way that leaves its outcome open."""

    def run(self, jobs: Sequence[Job[Work]]) -> None:
        """Run the jobs of one group, and set each one's result or error; only then is what they wrote durable."""
        spoilers: list[Job[Work]] = []
        rest = list(jobs)
        if len(rest) == 1 and rest[0].work.abandoned is None:
            return self._run_statement(rest[0])
        while len(rest) > 1 and len(spoilers) < _MOST_SPOILERS:
            spoiler = self._run_together(rest)
            if spoiler is None:
                return self._run_each(spoilers)
            rest.remove(spoiler)
            spoilers.append(spoiler)
        return self._run_each([*rest, *spoilers])

    def settle(self) -> None:
        """Make sure that a failed commit can't come back; `Unavailable` where that is not possible yet.

        Its pages may stand in the WAL behind the last good commit, where only a recovery would find them. The next
        commit that succeeds overwrites them, so one is made.
        """
        if self.unsettled:
            self._rows.touch()
            self.unsettled = False

    def _run_each(self, jobs: Sequence[Job[Work]]) -> None:
        for job in jobs:
            self._run_together([job])

    def _run_statement(self, job: Job[Work]) -> None:
        try:
            self._before()
            job.result = job.work.change(self._rows)
        except StrongroomError as fault:
            job.error = fault
            if isinstance(fault.__cause__, apsw.IOError):
                job.error = self._after_failed_commit(fault.__cause__)
            return
        self.unsettled = False
        if self._wal is not None:
            self._wal.after_commit()

    def _run_together(self, jobs: Sequence[Job[Work]]) -> Job[Work] | None:
        """Run the jobs in one transaction. Answers the one that spoiled it for the others, if one did.

        Nothing is handed out before the commit: a job that was refused because of what a neighbour wrote was refused
        for nothing if that is not kept.
        """
        committing = False
        try:
            try:
                self._before()
                self._connection.execute("BEGIN IMMEDIATE")
            except (*FAULTS, StrongroomError) as fault:
                for job in jobs:
                    job.error = fault if isinstance(fault, StrongroomError) else _caused(translate(fault), fault)
                return None
            self._rows.in_group = True
            for run in _runs(jobs):
                if len(run) >= _WORTH_CARRYING and self._insert_together(run):
                    continue
                if not self._connection.in_transaction:
                    # SQLite has rolled everything back by itself: what ran now would be kept, and be run once more.
                    return run[0]
                for job in run:
                    if self._attempt(job) and len(jobs) > 1:
                        self._roll_back()
                        return job
            if len(jobs) == 1 and (jobs[0].error is not None or _is_abandoned(jobs[0])):
                self._roll_back()
                return None
            if not self._connection.in_transaction:
                for job in jobs:
                    job.error = rolled_back()
                return None
            committing = True
            try:
                self._connection.execute("COMMIT")
            except FAULTS as fault:
                self._roll_back()
                self._rows.in_group = False
                for job in jobs:
                    job.error = self._after_failed_commit(fault)
                return None
            _mark_done(jobs)
        except BaseException:
            # Ctrl-C: it may come while the commit is under way, and is raised when that is done.
            if committing and not self._connection.in_transaction:
                _mark_done(jobs)
            else:
                self._roll_back()
            raise
        finally:
            self._rows.in_group = False
        self.unsettled = False
        if self._wal is not None:
            self._wal.after_commit()
        return None

    def _insert_together(self, jobs: Sequence[Job[Work]]) -> bool:
        """Insert the rows of all jobs with one statement; False, and nothing changed, unless all of them are new.

        Between any two statements the interpreter goes to another thread. With many threads about, that costs more
        than the statements do.
        """
        try:
            if not self._rows.insert_many([job.work.inserts for job in jobs if job.work.inserts is not None]):
                return False
        except StrongroomError:
            return False  # each for itself meets the same fault, if it lasts, and reports it
        for job in jobs:
            job.result, job.error = True, None
        return True

    def _attempt(self, job: Job[Work]) -> bool:
        """Run one job; whether it leaves something in the transaction that must not stay."""
        self._rows.wrote = False
        job.error = None
        try:
            job.result = job.work.change(self._rows)
        except BaseException as fault:
            if is_from_a_signal(fault):
                raise  # it is the main thread's, which leads just now
            job.error = fault
        undo = job.error is not None or _is_abandoned(job)
        # After some faults (disk full) SQLite has rolled everything back by itself.
        return (undo and self._rows.wrote) or not self._connection.in_transaction

    def _before(self) -> None:
        if self._wal is not None:
            self._wal.before_write()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(apsw.Error):
                self._connection.execute("ROLLBACK")

    def _after_failed_commit(self, fault: Exception) -> StrongroomError:
        """What to tell a caller whose commit failed: that nothing was kept, where that is certain (T6)."""
        if isinstance(fault, apsw.IOError):
            # The flush may have failed with the commit's last page already in the WAL.
            self.unsettled = True
            try:
                self.settle()
            except StrongroomError:
                return _caused(
                    CommitUnknown(
                        "SQLite: the flush of a commit failed; its outcome is not known yet", token=self.token
                    ),
                    fault,
                )
            return _caused(Unavailable("SQLite: the flush of the commit failed; nothing of it was kept"), fault)
        return _caused(translate(fault), fault)


def _mark_done(jobs: Sequence[Job[Work]]) -> None:
    """Say that what the jobs wrote is kept: whatever comes now, they are not to be run again."""
    for job in jobs:
        job.done = True


def _runs(jobs: Sequence[Job[Work]]) -> list[list[Job[Work]]]:
    """The jobs in their order, neighbours that insert into the same table together."""
    runs: list[list[Job[Work]]] = []
    before: AnyTable | None = None
    for job in jobs:
        table = None if job.work.inserts is None else job.work.inserts[0]
        if table is not None and table is before and len(runs[-1]) < _MOST_CARRIED:
            runs[-1].append(job)
        else:
            runs.append([job])
        before = table
    return runs


def _is_abandoned(job: Job[Work]) -> bool:
    return job.work.abandoned is not None and job.work.abandoned()


def _caused(fault: StrongroomError, cause: BaseException) -> StrongroomError:
    fault.__cause__ = cause
    return fault
