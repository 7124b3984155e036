"""Build signal: what a runner says of a build becomes its status and, at its end, the outcome of its request.

The slot is given back before the outcome is written. A caller that stops between the two lets one more request in for
a while; the other way round it would keep the slot for ever. Of several builds the first to write the outcome wins.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from strongroom.domains.stovepipe.flows._common import RIVALS, moment
from strongroom.domains.stovepipe.flows._slots import release_slot
from strongroom.domains.stovepipe.flows.materializer import ensure_state, event_log, persist_log
from strongroom.domains.stovepipe.records import Build, Request
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import BuildStatus, MetadataKey, OutcomeReason, RequestEvent, RequestState
from strongroom.engine import retry
from strongroom.errors import InvalidArgument

_OUTCOMES: Final = {
    BuildStatus.SUCCEEDED: RequestState.SUCCEEDED,
    BuildStatus.FAILED: RequestState.FAILED,
    BuildStatus.CANCELLED: RequestState.CANCELLED,
}


class Signal(StrEnum):
    """What is to be done after a build's signal."""

    POLL = "poll"
    """Wait for the build's next signal."""
    RECORD = "record"
    """Hand the request to `record`: it has its outcome."""
    IGNORE = "ignore"
    """Nothing: the request was superseded, or is not being processed."""


class Signalled(NamedTuple):
    """What a signal came to."""

    signal: Signal
    build: Build
    request: Request


def build_signal(storage: Storage, build_id: str, status: BuildStatus, *, now: int | None = None) -> Signalled:
    """Take in a build's status, and with its end give the request's slot back and write the request's outcome.

    A status only moves forward, and a terminal one stays: a later signal goes by the stored one. That the build
    finished and what came of the request are logged at `now` (Unix ms; by default the engine's clock). A request
    that has its outcome keeps it, whichever build it is from.

    Safe to stop at every write and to run again. Raises `NotFound` for a build or request that is not there;
    `InvalidArgument`, nothing written, for an unknown status and a time out of range; `Conflict` (retryable) where
    rivals won every attempt; and as `persist_log`. What fails before the outcome leaves the request without one.
    """
    now = moment(storage, now)
    if type(status) is not BuildStatus:
        raise InvalidArgument("a build's status is a BuildStatus")
    request = storage.requests.get(storage.builds.get(build_id).request_id)
    if not _is_for_builds(request):
        return Signalled(Signal.IGNORE, storage.builds.get(build_id), request)
    build = retry(lambda: _advance(storage, build_id, status), backoff=RIVALS)
    if not build.status.is_terminal:
        return Signalled(Signal.POLL, build, request)
    metadata = {MetadataKey.BUILD_ID: build.id}
    persist_log(storage, event_log(request, RequestEvent.BUILD_FINISHED, build.id, metadata, now=now))
    if not request.state.has_build_outcome:
        release_slot(storage, request.id)
        request = retry(lambda: _decide(storage, request.id, build.status), backoff=RIVALS)
    # A request that failed although this build did not was failed by something else than a build.
    failed_build = build.status == BuildStatus.FAILED
    reason = OutcomeReason.BUILD_FAILED if failed_build else OutcomeReason.PROCESSING_FAILED
    ensure_state(storage, request, if_failed=reason, now=now)
    return Signalled(Signal.RECORD, build, request)


def _is_for_builds(request: Request) -> bool:
    return request.state == RequestState.PROCESSING or request.state.has_build_outcome


def _advance(storage: Storage, build_id: str, status: BuildStatus) -> Build:
    build = storage.builds.get(build_id)
    late = status == BuildStatus.ACCEPTED  # the status that every build begins with says nothing new
    if build.status == status or build.status.is_terminal or late:
        return build
    return storage.builds.update_next(build.replace(status=status))


def _decide(storage: Storage, request_id: str, status: BuildStatus) -> Request:
    """The request once it has an outcome: this one, or that of whoever was first."""
    request = storage.requests.get(request_id)
    if request.state.is_terminal:
        return request
    return storage.requests.update_next(request.replace(state=_OUTCOMES[status]))
