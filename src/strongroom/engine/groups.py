"""Groups of write functions in one buffered transaction: for engines that a round trip separates from their rows.

The functions of a group run one after the other over the same `BufferedRows`. What they read is read once; what all of
them changed is sent together with one commit. Where rivals win, the whole group runs again.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from strongroom.engine.buffered import BufferedRows, Refuted
from strongroom.engine.committer import Job
from strongroom.engine.port import Rows, WritableRows
from strongroom.engine.retry import DEFAULT, Backoff
from strongroom.engine.struck import is_from_a_signal
from strongroom.errors import CommitUnknown, Conflict, StrongroomError, Unavailable
from strongroom.records import AnyTable, Key

T = TypeVar("T")

_WARY: Final = 256
"""How many inserts into a table are looked for after one that was wrongly taken for new."""


class Rivals(Conflict):
    """Another transaction won: nothing of this one was kept, and it is to run again (T4)."""


class Stale(Unavailable):
    """The connection had broken before anything was asked of it: whatever was to be done is to be done on another."""


class _Apart(Exception):
    """The jobs of a group can't run in one transaction: in halves, so that whoever is not at fault goes on."""


class Session(Rows, Protocol):
    """One transaction of the database, begun when it is first asked for something."""

    fault: StrongroomError | None
    """The first fault that a statement met. The transaction is lost with it, also if its function went on."""
    kept: bool
    """Whether the commit is known to have taken place, also where an exception came in between (Ctrl-C)."""

    def commit(self, rows: BufferedRows) -> None:
        """Send the changes of `rows`, and commit; where there are none, only end the transaction.

        Raises `Rivals`, `Refuted` and `Stale`, after which the functions may run again; `CommitUnknown`, and
        `Unavailable` where nothing was kept; any other fault is that of one of the changes.
        """

    def clock(self) -> int:
        """The engine's time, see `WritableRows.clock`."""


def retried(call: Callable[[], T], *, backoff: Backoff = DEFAULT) -> T:
    """What `call` returns, made again after each `Rivals` and each `Stale`: nothing was kept then (T4).

    Raises `Conflict` when rivals won every time, `Unavailable` when no connection held.
    """
    attempt = 0
    while True:
        try:
            return call()
        except (Rivals, Stale) as fault:
            attempt += 1
            if attempt >= backoff.attempts:
                raise _given_up(attempt, fault) from fault
        time.sleep(backoff.pause(attempt - 1))


@dataclass(slots=True)
class Work:
    """A write function as the committer queues it, and what is known of it beforehand."""

    change: Callable[[WritableRows], Any]
    abandoned: Callable[[], bool] | None = None
    touches: tuple[AnyTable, Key] | None = None
    """The one row that it looks at before it changes it, if it is known: those of a whole group are read together."""
    alone: Callable[[], Any] | None = None
    """A quicker way to do the same when nobody else is in the group. It retries by itself."""


class GroupRunner:
    """Runs commit groups, each on a session of its own; what a `Committer` is given.

    Arguments:
        begin: a new session, rolled back when its context ends without a commit.
        backoff: how often a group runs, and how long it waits between.
    """

    def __init__(self, begin: Callable[[], AbstractContextManager[Session]], *, backoff: Backoff = DEFAULT) -> None:
        self._begin = begin
        self._backoff = backoff
        self._wary: dict[str, int] = {}
        """How many more inserts into tables are to be looked for."""
        self._looked_for: set[str] = set()
        """The tables for which the group that runs now looks."""

    def run(self, jobs: Sequence[Job[Work]]) -> None:
        """Run the jobs of one group, and set each one's result or error; what they wrote is then durable."""
        if len(jobs) == 1 and (alone := jobs[0].work.alone) is not None:
            jobs[0].error = None
            try:
                jobs[0].result = alone()
            except StrongroomError as fault:
                jobs[0].error = fault
            return
        rest = list(jobs)
        failed = 0
        while rest:
            try:
                spoiler = self._run_together(rest)
            except (Rivals, Refuted, Stale) as fault:
                failed += 1
                if failed >= self._backoff.attempts:
                    _fail(rest, _given_up(failed, fault))
                    return
                if isinstance(fault, Refuted):
                    self._wary[fault.table.name] = _WARY
                else:
                    time.sleep(self._backoff.pause(failed - 1))
            except _Apart:
                self.run(rest[: len(rest) // 2])
                self.run(rest[len(rest) // 2 :])
                return
            else:
                if spoiler is None:
                    return
                rest.remove(spoiler)

    def _run_together(self, jobs: Sequence[Job[Work]]) -> Job[Work] | None:
        """Run the jobs in one transaction. Answers the one that broke it for the others, if one did.

        Nothing is handed out before the commit: a job that was refused because of what a neighbour wrote was refused
        for nothing if that is not kept. Raises `_Apart` where they can't run together.
        """
        # The same for the whole run: what is looked for again must reach as far as the row that was not new.
        self._looked_for = {name for name, left in self._wary.items() if left}
        with self._begin() as session:
            rows = BufferedRows(session, session.clock, self._assumes)
            if len(jobs) > 1:
                self._look_ahead(rows, jobs)
            for job in jobs:
                if session.fault is None:
                    self._attempt(job, rows)
                if rows.refuted is not None:
                    raise rows.refuted
                if isinstance(session.fault, Rivals | Stale):
                    raise session.fault
                if isinstance(session.fault, Unavailable):
                    _fail(jobs, session.fault)
                    return None
                if session.fault is not None:
                    # Also a function that went on after a fault: what it was told is of no worth.
                    job.error = job.error or session.fault
                    return job
                if rows.mixed and len(jobs) > 1:
                    raise _Apart
            try:
                session.commit(rows)
            except (Rivals, Refuted, Stale):
                raise
            except StrongroomError as fault:
                if len(jobs) == 1 or isinstance(fault, CommitUnknown | Unavailable):
                    _fail(jobs, fault)
                    return None
                raise _Apart from fault  # one of them is at fault, or all are too much together
            except BaseException:
                if session.kept:
                    _mark_done(jobs)
                raise
            else:
                _mark_done(jobs)
                return None

    def _look_ahead(self, rows: BufferedRows, jobs: Sequence[Job[Work]]) -> None:
        """Read the rows that the jobs are known to need, together; `_Apart` where one of them can't be read."""
        keys: defaultdict[AnyTable, list[Key]] = defaultdict(list)
        for job in jobs:
            if job.work.touches is not None:
                table, key = job.work.touches
                keys[table].append(key)
        for table, needed in keys.items():
            try:
                rows.expect(table, needed)
            except (Rivals, Stale):
                raise
            except Unavailable:
                return  # the session has the fault, and it is everyone's
            except StrongroomError as fault:
                raise _Apart from fault  # whose it is will be seen

    def _attempt(self, job: Job[Work], rows: BufferedRows) -> None:
        savepoint = rows.savepoint()
        job.error = None
        try:
            job.result = job.work.change(rows)
        except BaseException as fault:
            if is_from_a_signal(fault):
                raise  # it is the main thread's, which leads just now
            job.error = fault
        if job.error is not None or (job.work.abandoned is not None and job.work.abandoned()):
            with contextlib.suppress(StrongroomError):  # the session, or the rows, have the fault
                rows.verify(savepoint)
            rows.undo(savepoint)

    def _assumes(self, table: AnyTable) -> bool:
        """Whether inserted rows are taken for new; not for a while after one was not."""
        if table.name not in self._looked_for:
            return True
        self._wary[table.name] = max(0, self._wary[table.name] - 1)
        return False


def _fail(jobs: Sequence[Job[Work]], fault: StrongroomError) -> None:
    for job in jobs:
        job.error = fault


def _mark_done(jobs: Sequence[Job[Work]]) -> None:
    """Say that what the jobs wrote is kept: whatever comes now, they are not to be run again."""
    for job in jobs:
        job.done = True


def _given_up(times: int, last: StrongroomError) -> StrongroomError:
    if isinstance(last, Stale):
        fault: StrongroomError = Unavailable(f"no connection held for as long as one call, {times} times in a row")
    else:
        fault = Conflict(f"others won {times} times in a row: {last}")
    fault.__cause__ = last
    return fault
