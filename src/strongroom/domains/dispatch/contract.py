"""The contract: what can be read of a workspace, and what can be changed in one transaction of it.

`Reads` is one consistent moment (R2). `Update` is one serializable transaction (T1, T2): all of it is kept or none, and
every change of state carries its journal entry with it. A refused operation writes nothing, and leaves the transaction
usable (W5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from strongroom import errors
from strongroom.domains.dispatch.faults import READ_FAULTS, Absent, Conflict, NotKept, OutcomeUnknown, Taken
from strongroom.domains.dispatch.journal import Actor, Concerns, Moment
from strongroom.domains.dispatch.port import ReadPort, WritePort
from strongroom.domains.dispatch.records import (
    CHAIN_RUNS,
    JOBS,
    QUEUED,
    RELEASES,
    REQUESTS,
    RUNNING,
    SUBMISSIONS,
    WORKSPACES,
    Job,
    Outcome,
    Queued,
    Release,
    Running,
    Submission,
)
from strongroom.domains.dispatch.run_chain import RUN_CHAIN
from strongroom.domains.dispatch.runs import Run, read_run
from strongroom.domains.dispatch.transitions import (
    Asked,
    Ending,
    Interruption,
    check_claim,
    end_run,
    queue_run,
    start_run,
    submission_of,
)
from strongroom.domains.dispatch.words import ActorKind, JournalKind, RunState
from strongroom.engine import Engine, Reader, Transaction
from strongroom.patterns import Checkpoint, check_scope
from strongroom.records import MAX_LIMIT, AnyTable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Requested:
    """The run that a request key stands for. Its record is read when it is asked for, and not before."""

    digest: str
    """The digest of what was asked under the key."""
    run: str
    _read: Callable[[], Run]

    def record(self) -> Run:
        """The run; raises as `Reads.run`. Of use only as long as what it was got from."""
        return self._read()


class Reads:
    """One consistent moment of a workspace. Every method raises `Unreadable` for what is not what was written."""

    def __init__(self, port: ReadPort, workspace: str) -> None:
        self.port = port
        self.workspace = workspace

    def release(self, release_id: str) -> Release:
        """The release; `Absent` if there is none."""
        return self._held(RELEASES, self.port.get(RELEASES, self.workspace, release_id), release_id)

    def job(self, job_id: str) -> Job:
        """The job; `Absent` if there is none."""
        return self._held(JOBS, self.port.get(JOBS, self.workspace, job_id), job_id)

    def run(self, run_id: str) -> Run:
        """The run as it stands; `Absent` if there is none."""
        return read_run(self.port, self.workspace, run_id)

    def submission(self, run_id: str) -> Submission:
        """What the run was asked to do; `Absent` if there is none."""
        return self._held(SUBMISSIONS, self.port.get(SUBMISSIONS, self.workspace, run_id), run_id)

    def requested_run(self, job_id: str, caller: str, key: str) -> Requested | None:
        """The run that the caller's key stands for; None if it stands for none."""
        request = self.port.get(REQUESTS, self.workspace, job_id, caller, key)
        if request is None:
            return None
        return Requested(request.digest, request.run, lambda: self.run(request.run))

    def active_runs(self, limit: int = MAX_LIMIT) -> int:
        """How many runs wait or are running, each counted no further than `limit` (1 to 10,000)."""
        waiting = self.port.count(QUEUED, self.workspace, limit=limit)
        return waiting + self.port.count(RUNNING, self.workspace, limit=limit)

    def oldest_queued(self) -> Queued | None:
        """The run that has waited longest; None if none waits."""
        found = self.port.scan(QUEUED, self.workspace, limit=1)
        return found[0] if found else None

    def queued_runs(self, limit: int = MAX_LIMIT) -> list[Queued]:
        """The runs that wait, in the order of the queue."""
        return self.port.scan(QUEUED, self.workspace, limit=limit)

    def running_runs(self, limit: int = MAX_LIMIT) -> list[Running]:
        """The runs that are running, in the order of the queue."""
        return self.port.scan(RUNNING, self.workspace, limit=limit)

    def running_run(self, number: int) -> Running | None:
        """The run of that number while it is running; None otherwise."""
        return self.port.get(RUNNING, self.workspace, number)

    def entry_sequence(self, run_id: str) -> int | None:
        """The sequence of the run's entry in the run chain, whether the run is still held or not; None for none."""
        entry = self.port.get(CHAIN_RUNS, self.workspace, run_id)
        return None if entry is None else entry.sequence

    def last_entry(self) -> Checkpoint | None:
        """A checkpoint of the run chain's last line; None for an empty chain."""
        with READ_FAULTS:
            return RUN_CHAIN.head(self.port, self.workspace)

    @staticmethod
    def _held(table: AnyTable, record: T | None, key: str) -> T:
        if record is None:
            raise Absent(f"{table.name}: nothing is held as {errors.clip(key)}")
        return record


class Update(Reads):
    """One transaction of a workspace; see `Workspace.update`."""

    def __init__(self, moment: Moment) -> None:
        super().__init__(moment.port, moment.workspace)
        self.moment = moment

    @property
    def now(self) -> int:
        """The engine's clock in Unix milliseconds, the same for all of this transaction."""
        return self.moment.now

    def abandon(self, result: T) -> T:
        """End without a commit, keeping nothing, and hand `result` out (T5): ``return update.abandon(x)``."""
        return self.moment.port.abandon(result)

    def create_release(self, release: Release) -> Release:
        """Keep a release; the journal's entry is ``release.previewed``. Returns it as it is kept.

        Raises `Taken` if its id is held, `ScopeMismatch` for another workspace's, `InvalidArgument`.
        """
        self._check_scope(RELEASES, release.workspace)
        kept = release if release.created_at_ms else release.replace(created_at_ms=self.now)
        try:
            self.moment.port.insert(RELEASES, kept)
        except errors.AlreadyExists as fault:
            raise Taken(str(fault)) from fault
        self.moment.record(JournalKind.RELEASE_PREVIEWED, self.installation, Concerns(release=kept.id))
        return kept

    def create_run(self, run_id: str, asked: Asked) -> Queued:
        """Put a new run into the queue, once under its id and once under its request key.

        The journal's entry is ``run.queued``. Raises `Taken`, nothing written, if either is held. The job is taken as
        it is given: read it in this transaction; `ScopeMismatch` for another workspace's.
        """
        self._check_scope(JOBS, asked.job.workspace)
        if self.port.get(SUBMISSIONS, self.workspace, run_id) is not None:
            raise Taken(f"{SUBMISSIONS.show((self.workspace, run_id))} exists already")
        submission = submission_of(self.moment, run_id, asked)
        SUBMISSIONS.check(submission)
        return queue_run(self.moment, asked, submission, self.installation)

    def start_run(self, queued: Queued, *, holder: str = "", lease_ms: int | None = None) -> Running:
        """Claim a run that was read as queued; the journal's entry is ``run.started``.

        Raises `Conflict`, nothing written, unless the run still waits; `ScopeMismatch` for another workspace's.
        """
        self._check_scope(QUEUED, queued.workspace)
        check_claim(holder, lease_ms)
        return start_run(self.moment, queued, holder, lease_ms)

    def end_run(self, place: Queued | Running, ending: Ending, *, seen: bool = False) -> Outcome:
        """End a run that was read in this place; its entries in chain and journal are written with it.

        `seen` tells of an interruption that its own dispatcher saw. Raises `Conflict`, nothing written, unless the run
        stands exactly there; else as `transitions.end_run`.
        """
        found: Queued | Running | None
        self._check_scope(RUNNING, place.workspace)
        if isinstance(place, Running):
            found = self.port.get(RUNNING, self.workspace, place.number)
        else:
            found = self.port.get(QUEUED, self.workspace, place.number)
        if found != place:
            raise Conflict(
                f"{place.run} does not stand there any more",
                expected=RunState.RUNNING if isinstance(place, Running) else RunState.QUEUED,
            )
        return end_run(self.moment, place, ending, Interruption() if seen else None)

    @property
    def installation(self) -> Actor:
        """The workspace's owner, as an actor."""
        return Actor(ActorKind.INSTALLATION, self.moment.owner)

    def _check_scope(self, table: AnyTable, workspace: str) -> None:
        if workspace != self.workspace:
            raise errors.ScopeMismatch(f"{table.name}: a record of another workspace")


class Bound:
    """An engine, bound to a workspace and its owner: where every store of the domain reads and writes.

    Raises `InvalidArgument` for a name or an owner that is empty or has more than 255 bytes.
    """

    def __init__(self, engine: Engine, workspace: str, owner: str) -> None:
        check_scope(WORKSPACES, (workspace,))
        WORKSPACES.check_value("owner", owner)
        self.engine = engine
        self.workspace = workspace
        self.owner = owner

    def read(self, function: Callable[[Reads], T]) -> T:
        """See `Workspace.read`."""
        return self.engine.read(lambda snapshot: function(self.reads(snapshot)))

    def reads(self, reader: Reader) -> Reads:
        """What can be read through `reader`: a snapshot, or the engine itself for a single call."""
        return Reads(ReadPort(reader), self.workspace)

    def update(self, change: Callable[[Update], T]) -> T:
        """See `Workspace.update`."""
        ended = False

        def work(transaction: Transaction) -> T:
            nonlocal ended
            ended = False
            result = change(Update(Moment(WritePort(transaction), self.workspace, self.owner)))
            ended = True
            return result

        try:
            return self.engine.write(work)
        except errors.CommitUnknown as fault:
            if not ended:
                raise
            raise OutcomeUnknown(str(fault), token=fault.token) from fault
        except errors.Unavailable as fault:
            if not ended:
                raise
            raise NotKept(str(fault)) from fault
