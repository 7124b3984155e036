"""Releases and jobs: what is run, and under which name. Both are written once and never change."""

from __future__ import annotations

from dataclasses import dataclass

from strongroom.domains.dispatch.contract import Bound, Reads, Update
from strongroom.domains.dispatch.faults import Refused
from strongroom.domains.dispatch.journal import EXAMINED, PAGE, Concerns
from strongroom.domains.dispatch.listings import Listing, check_page, walk
from strongroom.domains.dispatch.records import JOB_PLACES, JOB_RELEASES, JOBS, Job, JobPlace, JobRelease, Release
from strongroom.domains.dispatch.texts import new_id
from strongroom.domains.dispatch.words import JournalKind, RefusalCode
from strongroom.patterns import OrderedMapping

IN_ORDER = OrderedMapping(
    JOB_PLACES,
    JOBS,
    locate=lambda place: (place.workspace, place.job),
    agrees=lambda place, job: place.number == job.number,
)
"""The jobs in the order of their creation."""


class ReleaseStore:
    """The releases of one workspace."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def save(self, release: Release) -> Release:
        """Keep a release in one transaction with the journal's ``release.previewed``, and return it as it is kept.

        A creation time of 0 stands for now. Raises `Taken`, the first release untouched, if its id is held;
        `ScopeMismatch` for another workspace's; `InvalidArgument` for a value that a column can't hold.
        """
        return self._bound.update(lambda update: update.create_release(release))

    def get(self, release_id: str) -> Release:
        """The release; `Absent` if there is none."""
        return self._bound.reads(self._bound.engine).release(release_id)


@dataclass(frozen=True, slots=True)
class CreatedJob:
    """A job, and whether it was there before."""

    job: Job
    replayed: bool


class JobStore:
    """The jobs of one workspace."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def create(self, name: str, release_id: str) -> CreatedJob:
        """Create the release's one job, in one transaction with the journal's ``job.created``.

        The same name again gives the job that is there, and writes nothing. Raises `Absent` for a release that is
        not held, `Refused` (``release_already_used``) where the release has a job of another name,
        `InvalidArgument` for a name that is empty or has more than 255 bytes.
        """
        JOBS.check_value("name", name)
        job_id = new_id("job_")

        def change(update: Update) -> CreatedJob:
            release = update.release(release_id)
            port, moment = update.moment.port, update.moment
            used = port.get(JOB_RELEASES, update.workspace, release.id)
            if used is not None:
                job = update.job(used.job)
                if job.name != name:
                    raise Refused(RefusalCode.RELEASE_ALREADY_USED, f"the release is used by the job {job.id}")
                return update.abandon(CreatedJob(job, True))
            number = moment.next_sequence
            job = Job(update.workspace, job_id, name, release.id, moment.owner, update.now, number)
            port.insert(JOB_RELEASES, JobRelease(update.workspace, release.id, job.id))
            port.insert(JOBS, job)
            port.insert(JOB_PLACES, JobPlace(update.workspace, number, job.id))
            moment.record(
                JournalKind.JOB_CREATED,
                update.installation,
                Concerns(job=job.id, release=release.id),
                revision=job.revision,
            )
            return CreatedJob(job, False)

        return self._bound.update(change)

    def get(self, job_id: str) -> Job:
        """The job; `Absent` if there is none."""
        return self._bound.reads(self._bound.engine).job(job_id)

    def list(self, *, after: int = 0, limit: int = PAGE, q: str = "") -> Listing[Job]:
        """Some jobs, newest first; see `RunStore.list` for cursor, limit and `q` (which looks at id and name)."""
        check_page(after, limit, q)

        def read(reads: Reads) -> Listing[Job]:
            def fits(job: Job) -> bool:
                return not q or q in job.id or q in job.name

            def chunk(before: int, size: int) -> list[Job]:
                places = reads.port.scan(
                    JOB_PLACES, reads.workspace, stop=(before,) if before else None, limit=size, reverse=True
                )
                return IN_ORDER.records(reads.port, places)

            return walk(chunk, lambda job: job.number, fits, after=after, limit=limit, most=EXAMINED)

        return self._bound.read(read)
