"""Record: what a finished build proves becomes facts, and a green commit the queue's last green one.

The order of the writes is what makes each of them mean something: first the whole repository's fact, then each
project's, then their places in the list, and only then the event that says all of this is there; the bookmark moves
to a commit whose green fact is kept, and the commit is promoted while it has the bookmark. A fact that is kept is the
fact: whatever this run came to itself, all that follows goes by what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from strongroom.domains.stovepipe.faults import AlreadyExists
from strongroom.domains.stovepipe.flows._common import change_queue, moment
from strongroom.domains.stovepipe.flows.faults import Inconsistent, NotReady
from strongroom.domains.stovepipe.flows.materializer import event_log, persist_log, state_log_id
from strongroom.domains.stovepipe.flows.request_ids import is_newer
from strongroom.domains.stovepipe.records import (
    FACTS,
    FACTS_BY_DEGREE,
    Queue,
    Request,
    ValidationFact,
)
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import MetadataKey, OutcomeReason, RequestEvent, RequestState

Promote = Callable[[Request], object]
"""Promotes the commit of a request. It may be asked more than once for the same one, and must bear it."""

Advance = Callable[[Queue, Request], bool]
"""Whether the request's green commit may take the bookmark from the queue's. Asked again on every attempt."""

REPOSITORY: Final = "repository"
"""The occurrence of an event that a request has once, for the whole repository."""


class Recorded(NamedTuple):
    """What record came to."""

    fact: ValidationFact | None
    """The whole repository's fact as it is stored; None where the request proves nothing."""
    promoted: bool
    """Whether the commit had the bookmark and was promoted."""


def record(
    storage: Storage,
    request_id: str,
    projects: Mapping[str, float] | None = None,
    *,
    promote: Promote | None = None,
    advance: Advance | None = None,
    now: int | None = None,
) -> Recorded:
    """Keep what the request's build proves of its commit, and move the bookmark and promote where that is green.

    `projects` are the degrees, from 0 (green) to 1 (broken), of the projects that the build looked at, by their
    names of 1 to 255 bytes. The whole repository is green after a build that succeeded and broken after one that
    failed; a request that was cancelled or superseded, or that failed for another reason than its build, proves
    nothing, and nothing is written. The bookmark only moves forward, in the order of ingest and where `advance`, who
    may know of the order of commits, lets it (without one it does); the commit that has it is promoted on every run.
    Times are `now` (Unix ms; by default the engine's clock) of whoever wrote first.

    Safe to stop at every write and to run again. A run with other degrees changes none that is kept, and lists the
    kept ones.

    Raises `InvalidArgument`, nothing written, for a project, degree or time out of range; `NotFound` for a request,
    its outcome's log or its queue that is not there; `NotReady` (retryable) for one that has no outcome yet;
    `Inconsistent` where the commit has another request's fact; `Conflict` (retryable) where rivals won every
    attempt; what `promote` raises; and as `persist_log`.
    """
    now = moment(storage, now)
    request = storage.requests.get(request_id)
    candidates = [_fact(request, project, degree, now) for project, degree in (projects or {}).items()]
    for candidate in candidates:
        FACTS.check(candidate)
        FACTS_BY_DEGREE.check_value("project", candidate.project)
    degree = _degree(storage, request)
    if degree is None:
        return Recorded(None, promoted=False)
    fact = _ensure_fact(storage, _fact(request, "", degree, now))
    kept = [_ensure_fact(storage, candidate) for candidate in candidates]
    for project_fact in kept:
        storage.facts_by_degree.ensure(project_fact)
    metadata = {MetadataKey.FACT_DEGREE: f"{fact.degree:g}"}
    persist_log(storage, event_log(request, RequestEvent.VALIDATION_FACT_RECORDED, REPOSITORY, metadata, now=now))
    if not fact.is_green or not _bookmark(storage, request, advance or _always) or promote is None:
        return Recorded(fact, promoted=False)
    promote(request)
    return Recorded(fact, promoted=True)


def _fact(request: Request, project: str, degree: float, now: int) -> ValidationFact:
    return ValidationFact(request.queue, request.uri, project, degree, request.id, now)


def _degree(storage: Storage, request: Request) -> float | None:
    """How broken the request's build showed the whole repository to be; None if it showed nothing."""
    if not request.state.is_terminal:
        raise NotReady(f"request {request.id} has no outcome to record")
    if request.state == RequestState.FAILED:
        log = storage.request_log.get(request.id, state_log_id(request.version))
        return 1.0 if log.outcome_reason == OutcomeReason.BUILD_FAILED else None
    return 0.0 if request.state == RequestState.SUCCEEDED else None


def _ensure_fact(storage: Storage, fact: ValidationFact) -> ValidationFact:
    try:
        storage.facts.create(fact)
    except AlreadyExists:
        stored = storage.facts.get(fact.uri, fact.project)
        if stored.request_id != fact.request_id:
            key = FACTS.show((fact.queue, fact.uri, fact.project))
            raise Inconsistent(f"{key} is another request's than {fact.request_id}") from None
        return stored
    return fact


def _always(_queue: Queue, _request: Request) -> bool:
    return True


def _bookmark(storage: Storage, request: Request, advance: Advance) -> bool:
    """Move the bookmark to the request's commit unless a later one has it: whether this one has it."""

    def move(queue: Queue) -> Queue:
        if not is_newer(request.id, queue.last_green_request_id) or not advance(queue, request):
            return queue
        return queue.replace(last_green_uri=request.uri, last_green_request_id=request.id)

    return change_queue(storage, move).last_green_request_id == request.id
