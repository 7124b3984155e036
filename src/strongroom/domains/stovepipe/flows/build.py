"""Build: a request that is being processed gets a build, as its runner names it.

The runner is asked before anything is written, as only it knows the name. A caller that stops after asking has started
a build that nobody follows; the next run asks again. Several builds of one request are therefore nothing special: the
first one that ends decides.
"""

from __future__ import annotations

from collections.abc import Callable

from strongroom.domains.stovepipe.faults import AlreadyExists
from strongroom.domains.stovepipe.flows._common import moment
from strongroom.domains.stovepipe.flows.faults import Inconsistent, NotReady
from strongroom.domains.stovepipe.flows.materializer import event_log, persist_log
from strongroom.domains.stovepipe.records import BUILDS, Build, Request
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import MetadataKey, RequestEvent

Trigger = Callable[[Request], str]
"""Has a runner start a build for the request, from its strategy and base: the build's id, of 1 to 255 bytes."""


def build(storage: Storage, request_id: str, trigger: Trigger, *, now: int | None = None) -> Build | None:
    """Have a build for the request, and log that it was triggered; None, untriggered, for one that has ended.

    `trigger` is asked once on every run. A runner that answers with a build that is known, of this request, finds it
    as it is stored. `now` (Unix ms; by default the engine's clock) is when the event is logged.

    Safe to stop at every write and to run again. Raises `NotFound` for a request that is not there, `NotReady`
    (retryable), untriggered, for one that has no strategy yet; `Inconsistent` where the runner names another
    request's build; `InvalidArgument` for a name or time out of range; what `trigger` raises; and as `persist_log`.
    """
    now = moment(storage, now)
    request = storage.requests.get(request_id)
    if request.state.is_terminal:
        return None
    if request.build_strategy is None:
        raise NotReady(f"request {request_id} has no strategy to be built by")
    built = _ensure_build(storage, Build(storage.queue, trigger(request), request.id))
    metadata = {MetadataKey.BUILD_ID: built.id}
    persist_log(storage, event_log(request, RequestEvent.BUILD_TRIGGERED, built.id, metadata, now=now))
    return built


def _ensure_build(storage: Storage, build: Build) -> Build:
    try:
        storage.builds.create(build)
    except AlreadyExists:
        stored = storage.builds.get(build.id)
        if stored.request_id != build.request_id:
            raise Inconsistent(f"{BUILDS.show((build.queue, build.id))} is another request's") from None
        return stored
    return build
