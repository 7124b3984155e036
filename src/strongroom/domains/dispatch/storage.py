"""The aggregate: all of one workspace, and the way to it from an open engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from strongroom.domains.dispatch.catalog import IN_ORDER, JobStore, ReleaseStore
from strongroom.domains.dispatch.chain_store import ChainStore
from strongroom.domains.dispatch.contract import Bound, Reads, Update
from strongroom.domains.dispatch.dispatcher import Dispatcher
from strongroom.domains.dispatch.journal import ENTRIES, RUNNER, Actor, Concerns, Journal
from strongroom.domains.dispatch.occurrences import ARRIVALS, IDENTITIES, OccurrenceStore
from strongroom.domains.dispatch.records import (
    CHAIN_LINES,
    JOB_RUNS,
    OUTCOMES,
    QUEUED,
    REQUESTS,
    RUNNING,
    SUBMISSIONS,
    Job,
    Release,
)
from strongroom.domains.dispatch.run_store import RunStore
from strongroom.domains.dispatch.submissions import QUEUE_LIMIT, Submissions, Submitted
from strongroom.domains.dispatch.trigger_records import SCHEMA
from strongroom.domains.dispatch.triggers import TriggerStore
from strongroom.engine import Engine, Strength
from strongroom.patterns import Log, OrderedMapping, Subject
from strongroom.records import Table

T = TypeVar("T")

_PLACED: Final[tuple[Table[Any], ...]] = (JOB_RUNS, QUEUED, RUNNING, OUTCOMES)
_REQUESTED: Final = OrderedMapping(
    REQUESTS,
    SUBMISSIONS,
    locate=lambda entry: (entry.workspace, entry.run),
    agrees=lambda entry, asked: (entry.job, entry.caller, entry.key) == (asked.job, asked.caller, asked.key),
)
_PLACES: Final = tuple(
    OrderedMapping(
        table,
        SUBMISSIONS,
        locate=lambda place: (place.workspace, place.run),
        agrees=lambda place, asked: (place.job, place.number) == (asked.job, asked.number),
    )
    for table in _PLACED
)
"""Where runs are listed, wait, run and have ended, and what they were asked to do."""

SUBJECT: Final = Subject(
    SCHEMA,
    logs=(ENTRIES, Log(CHAIN_LINES)),
    mappings=(IN_ORDER, ARRIVALS, IDENTITIES, _REQUESTED, *_PLACES),
)
"""What must hold in a store of this domain, for the operator's tools."""


class Workspace:
    """All of one workspace. Nothing outside of it can be seen or touched through it (S1, S2).

    Making one asks the engine nothing, and a workspace needs no registration (S3): its first journal entry says whose
    it is. Threads may share one (C1).

    Arguments:
        owner: who the workspace belongs to: the caller of submissions, and the actor of what the owner changes.
        queue_limit: how many runs may wait or run at once, 1 to 10,000.

    Raises `InvalidArgument` for a name or owner that is empty or has more than 255 bytes, and for another limit.
    """

    def __init__(self, engine: Engine, name: str, owner: str, queue_limit: int = QUEUE_LIMIT) -> None:
        self._bound = Bound(engine, name, owner)
        self._submissions = Submissions(self._bound, queue_limit)
        self.engine = engine
        self.name = name
        self.owner = owner
        self.releases = ReleaseStore(self._bound)
        self.jobs = JobStore(self._bound)
        self.runs = RunStore(self._bound)
        self.chain = ChainStore(self._bound)
        self.journal = Journal(engine, name)
        self.triggers = TriggerStore(self._bound)
        self.occurrences = OccurrenceStore(self._bound)

    def __repr__(self) -> str:
        return f"<workspace {self.name!r} in {self.engine!r}>"

    def submit(
        self,
        job_id: str,
        key: str,
        input: str,
        *,
        caller: str | None = None,
        requested_by: str = "",
        digest: str | None = None,
        accept: Callable[[Job, Release], object] | None = None,
    ) -> Submitted:
        """Ask for a run of a job; once for each request key, in one transaction with the journal's ``run.queued``.

        The same request under the same key gives the run that is there, and writes nothing, also when the queue is
        full by now.

        Arguments:
            key: what the caller tells this request from its others by, at most 255 bytes.
            input: one JSON value of at most 65,535 bytes. It is kept in its canonical form: members sorted, without
                blanks, numbers as they are written.
            caller: who asks, by default the workspace's owner. Names of triggers are refused.
            requested_by: kept with the run, and otherwise of no meaning here.
            digest: what stands for the request, by default the digest of the canonical input.
            accept: called with job and release before a new run is made; what it raises refuses the request, and
                comes out as it is. May be called again, and must touch nothing.

        Raises `Absent` for a job that is not held, `RequestConflict` for a key that stands for another request,
        `Refused` (``queue_full``, retryable), `InvalidArgument`.
        """
        return self._submissions.submit(
            job_id, key, input, caller=caller, requested_by=requested_by, digest=digest, accept=accept
        )

    def submit_occurrence(self, occurrence_id: str, input: str) -> Submitted:
        """Ask for the run of an occurrence that is ready, which is then submitted, in one transaction.

        The caller is the trigger, and the occurrence's identity the request key. One that is submitted already gives
        its run, and writes nothing. Raises `Absent`, `Conflict` in any other state, and as `submit`.
        """
        return self._submissions.submit_occurrence(occurrence_id, input)

    def dispatcher(self, holder: str = "", *, lease_ms: int | None = None) -> Dispatcher:
        """A dispatcher of this workspace; see `Dispatcher`. Several with leases may share it."""
        return Dispatcher(self._bound, holder, lease_ms)

    def record_refusal(
        self,
        request: str,
        code: str,
        *,
        status: int,
        reason: str = "",
        concerns: Concerns | None = None,
        by: Actor = RUNNER,
    ) -> int | None:
        """Write to the journal that a request was refused (``admission.refused``): the entry's place.

        None, and nothing is written, where the same was written within the last minute: the same request and code, for
        the same reason, about the same records. It is a transaction of its own: a refusal is one whether this is
        written or not.

        Arguments:
            request: which kind of request it was; no input, key or token of it.
            code: why, such as the `code` of a `Refused`.
            status: the status that it was answered with.
        """
        return self._submissions.record_refusal(request, code, status=status, reason=reason, concerns=concerns, by=by)

    def read(self, function: Callable[[Reads], T]) -> T:
        """What `function` returns from one consistent moment of the workspace (R2).

        It may run more than once, and must touch nothing but what it gets. Raises its exception as the same object.
        """
        return self._bound.read(function)

    def update(self, change: Callable[[Update], T]) -> T:
        """What `change` returns, once all that it wrote is durable: one serializable transaction (T1, T2, D2).

        It may run more than once, and must touch nothing but what it gets. What it raises comes out as the same
        object, and nothing is kept. Raises `Durability` for a commit that failed: `NotKept`, or `OutcomeUnknown` with
        a token for the engine's `resolve`; else as `Engine.write`.
        """
        return self._bound.update(change)


class Dispatch:
    """Dispatch's tables in an engine, and the way to each workspace."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def for_workspace(self, name: str, *, owner: str = "owner", queue_limit: int = QUEUE_LIMIT) -> Workspace:
        """One workspace; arguments and faults are those of `Workspace`."""
        return Workspace(self.engine, name, owner, queue_limit)


def open(engine: Engine) -> Dispatch:
    """Dispatch on an open engine, its tables made or brought up to date. Closing the engine is the caller's.

    It needs multi-record transactions: `Unsupported`, naming the engine, where there are none (T7). Raises else as
    `Engine.prepare`.
    """
    engine.require(Strength.MULTI_RECORD, "dispatch")
    engine.prepare(SCHEMA)
    return Dispatch(engine)
