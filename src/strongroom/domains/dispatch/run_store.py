"""The runs of one workspace, for reading: one by one, by request, and as listings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from strongroom.domains.dispatch.contract import Bound, Reads, Requested
from strongroom.domains.dispatch.journal import EXAMINED, PAGE
from strongroom.domains.dispatch.listings import Listing, check_page, one_of, walk
from strongroom.domains.dispatch.records import JOB_RUNS, JOBS, OUTCOMES, QUEUED, RUNNING, Outcome
from strongroom.domains.dispatch.runs import Place, Run, RunSummary, find_places, state_of, summarize
from strongroom.domains.dispatch.words import RunState
from strongroom.records import Table

_TABLES: Final[dict[RunState, Table[Any]]] = {RunState.QUEUED: QUEUED, RunState.RUNNING: RUNNING}


class RunStore:
    """The runs of one workspace."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def get(self, run_id: str) -> Run:
        """The run as it stands; `Absent` if there is none of that id, `Unreadable` if it is not what was written."""
        return self._bound.read(lambda reads: reads.run(run_id))

    def requested(self, job_id: str, key: str, *, caller: str | None = None) -> Requested | None:
        """What a request key stands for, by default one of the workspace's owner; None if it stands for nothing."""
        reads = self._bound.reads(self._bound.engine)
        found = reads.requested_run(job_id, self._bound.owner if caller is None else caller, key)
        # Its record is read later, in a moment of its own.
        return None if found is None else Requested(found.digest, found.run, lambda: self.get(found.run))

    def list(
        self,
        *,
        job: str = "",
        state: RunState | None = None,
        review: bool | None = None,
        q: str = "",
        after: int = 0,
        limit: int = PAGE,
    ) -> Listing[RunSummary]:
        """Some runs, newest first.

        Arguments:
            job: only this job's; they are listed by themselves, however many other runs there are.
            state: only those in this state.
            review: only those that somebody is to look at, or only the others.
            q: only those with this literal text in their id, their job's id or their job's name; at most 200 bytes.
            after: the `next` of the page before; 0 for the newest.
            limit: at most so many, 1 to 10,000.

        A page looks at about 10,000 runs at most, and may have few, or none, and a `next`. Raises `InvalidArgument`
        for an argument out of range, and `Unreadable`: then no partial page.
        """
        check_page(after, limit, q)
        wanted = one_of(RunState, state)
        if job:
            JOBS.check_value("id", job)

        def read(reads: Reads) -> Listing[RunSummary]:
            named = _JobNames(reads)

            def fits(place: Place) -> bool:
                if wanted is not None and state_of(place) is not wanted:
                    return False
                if review is not None and (isinstance(place, Outcome) and place.review) is not review:
                    return False
                return not q or q in place.run or q in place.job or q in named(place.job)

            chunk = _of_job(reads, job) if job else _of_all(reads, wanted)
            page = walk(chunk, lambda place: place.number, fits, after=after, limit=limit, most=EXAMINED)
            return Listing(summarize(reads.port, reads.workspace, page.items), page.next)

        return self._bound.read(read)


class _JobNames:
    """The names of jobs, each looked up once."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._known: dict[str, str] = {}

    def __call__(self, job_id: str) -> str:
        if job_id not in self._known:
            self._known[job_id] = self._reads.job(job_id).name
        return self._known[job_id]


def _of_job(reads: Reads, job: str) -> Callable[[int, int], list[Place]]:
    """One job's runs, along its own list."""

    def chunk(before: int, size: int) -> list[Place]:
        stop = (before,) if before else None
        listed = reads.port.scan(JOB_RUNS, reads.workspace, job, stop=stop, limit=size, reverse=True)
        return find_places(reads.port, reads.workspace, [entry.number for entry in listed])

    return chunk


def _of_all(reads: Reads, state: RunState | None) -> Callable[[int, int], list[Place]]:
    """All runs, or those that can be in `state`: where runs stand, merged in the order of their numbers."""
    tables: list[Table[Any]] = [QUEUED, RUNNING, OUTCOMES] if state is None else [_TABLES.get(state, OUTCOMES)]

    def chunk(before: int, size: int) -> list[Place]:
        stop = (before,) if before else None
        found: list[Place] = []
        for table in tables:
            found += reads.port.scan(table, reads.workspace, stop=stop, limit=size, reverse=True)
        return sorted(found, key=lambda place: place.number, reverse=True)[:size]

    return chunk
