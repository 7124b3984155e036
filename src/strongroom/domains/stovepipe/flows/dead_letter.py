"""Dead letters: what becomes of a request whose message could not be worked off, so that it blocks nothing.

The request fails, for a reason that is given, and its slot goes back first. No fact is made of it: that nothing could
be found out about a commit does not make it a broken one. A result that comes in at the same time wins.
"""

from __future__ import annotations

from collections.abc import Mapping

from strongroom.domains.stovepipe.faults import NotFound
from strongroom.domains.stovepipe.flows._common import moment
from strongroom.domains.stovepipe.flows._slots import release_slot
from strongroom.domains.stovepipe.flows.materializer import ensure_state, event_log, persist_log
from strongroom.domains.stovepipe.flows.record import REPOSITORY, Advance, Promote, Recorded, record
from strongroom.domains.stovepipe.records import Request
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import REASONS, OutcomeReason, RequestEvent, RequestState
from strongroom.errors import InvalidArgument


def dead_letter(
    storage: Storage,
    request_id: str,
    *,
    reason: OutcomeReason = OutcomeReason.PROCESSING_FAILED,
    now: int | None = None,
) -> Request | None:
    """End a request whose processing, build or polling was given up: the request as it ended; None for no request.

    One that has ended already keeps its end, whatever that was; what was left undone about it, its log or its slot,
    is done. Another one gives its slot back and then fails, for one of the reasons that a request fails for. `now`
    (Unix ms; by default the engine's clock) is when that is logged.

    Safe to stop at every write and to run again. Raises `InvalidArgument`, nothing written, for a reason that is
    none for a failure and a time out of range; `VersionMismatch` (retryable) where the request changed meanwhile, so
    that the next try sees what it changed to; and as `persist_log`.
    """
    now = moment(storage, now)
    if reason not in REASONS[RequestState.FAILED]:
        raise InvalidArgument(f"{reason} is no reason for a request to fail")
    try:
        request = storage.requests.get(request_id)
    except NotFound:
        return None
    release_slot(storage, request.id)
    if not request.state.is_terminal:
        request = storage.requests.update_next(request.replace(state=RequestState.FAILED))
    ensure_state(storage, request, if_failed=reason, now=now)
    return request


def dead_letter_record(
    storage: Storage,
    request_id: str,
    projects: Mapping[str, float] | None = None,
    *,
    promote: Promote,
    advance: Advance | None = None,
    now: int | None = None,
) -> Recorded:
    """Run `record` once more for a request whose recording was given up; a promotion that fails again is logged.

    What `promote` raises comes out all the same, so that the message is delivered again. Raises as `record`.
    """
    now = moment(storage, now)

    def promote_or_log(request: Request) -> None:
        try:
            promote(request)
        except Exception:
            persist_log(storage, event_log(request, RequestEvent.PROMOTION_FAILED, REPOSITORY, {}, now=now))
            raise

    return record(storage, request_id, projects, promote=promote_or_log, advance=advance, now=now)
