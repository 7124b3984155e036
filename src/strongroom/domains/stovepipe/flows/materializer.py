"""The materializer: a request's history, how the request is shown, and its place in the list of acceptances.

What happened is logged first, under an id that is the same on every retry; the summary is projected from the log and
the acceptance from the summary. Whichever of the three writes a caller stopped at, persisting the same log again makes
the rest. Which state is shown is decided by the request's version, never by a clock.
"""

from __future__ import annotations

import hashlib
from typing import Final

from strongroom.domains.stovepipe.faults import AlreadyExists, NotFound
from strongroom.domains.stovepipe.flows.faults import Inconsistent
from strongroom.domains.stovepipe.records import REQUEST_LOG, Request, RequestAcceptance, RequestLog, RequestSummary
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import REASONS, MetadataKey, OutcomeReason, RequestEvent, RequestState
from strongroom.engine import retry

LOG_ID_BYTES: Final = 255
"""The most bytes of a log's id. A build's id alone may have as many."""

_SEMANTICS: Final = ("state", "event", "request_version", "outcome_reason")
"""What two logs of one occurrence must agree on; times are left out, and metadata compared key by key."""


def persist_log(storage: Storage, log: RequestLog, *, now: int | None = None) -> RequestLog:
    """Have the occurrence on record, and for a state also the request's summary and acceptance: the stored log.

    An occurrence that is on record keeps its time, and everything after it follows the stored one. A log with
    `timestamp_ms` 0 gets `now` (Unix ms; by default the engine's clock). Metadata keys that only one of the two has
    are let pass, so that a later release may log more.

    Safe to stop at every write and to run again. Raises `InvalidArgument` and `ScopeMismatch`, nothing written, for
    a log that can't be kept; `Inconsistent` where the stored log says something else, where the summary disagrees
    with it, or where the request has no uri; `NotFound` where a summary is to be made for a request that there is
    not; `Conflict` (retryable) where others kept changing the summary.
    """
    if log.timestamp_ms == 0:
        log = log.replace(timestamp_ms=storage.engine.now() if now is None else now)
    stored = _keep(storage, log)
    if not _agree(log, stored):
        raise Inconsistent(f"{_name(log)} is on record as something else")
    _materialize(storage, stored)
    return stored


def ensure_state(
    storage: Storage, request: Request, *, if_failed: OutcomeReason = OutcomeReason.PROCESSING_FAILED, now: int
) -> RequestLog:
    """Have the request's present state on record, whoever brought it there: the stored log.

    For a caller that wrote the state, or finds the request in it: where whoever wrote it stopped before logging it,
    this logs it; where it is logged, the stored reason stays, and the summary and acceptance are made good. A failed
    request's reason is `if_failed`, every other state has but one or none. Raises as `persist_log`.
    """
    log = state_log(request, _reason(request.state, if_failed), now=now)
    stored = _keep(storage, log)
    if (stored.state, stored.request_version) != (log.state, log.request_version):
        raise Inconsistent(f"{_name(log)} is on record as something else")
    _materialize(storage, stored)
    return stored


def _reason(state: RequestState, if_failed: OutcomeReason) -> OutcomeReason | None:
    return if_failed if state == RequestState.FAILED else next(iter(REASONS[state]), None)


def state_log(request: Request, reason: OutcomeReason | None = None, *, now: int) -> RequestLog:
    """The log that `request` came into the state that it is in, at `now` (Unix ms)."""
    return RequestLog(
        request.queue,
        request.id,
        state_log_id(request.version),
        now,
        state=request.state,
        request_version=request.version,
        outcome_reason=reason,
        metadata=_base(request),
    )


def event_log(
    request: Request, event: RequestEvent, occurrence: str, metadata: dict[MetadataKey, str], *, now: int
) -> RequestLog:
    """The log that `event` happened to `request` at `now` (Unix ms); `occurrence` tells it from others of its kind."""
    given = {str(key): value for key, value in metadata.items()}
    return RequestLog(
        request.queue, request.id, event_log_id(event, occurrence), now, event=event, metadata=_base(request) | given
    )


def state_log_id(version: int) -> str:
    """The id of the log of the state that the request came into with this version."""
    return f"state/{version}"


def event_log_id(event: RequestEvent, occurrence: str) -> str:
    """The id of the log of one occurrence of an event; an occurrence too long for it is there as its digest."""
    log_id = f"event/{event}/{occurrence}"
    if len(log_id.encode()) <= LOG_ID_BYTES:
        return log_id
    return f"event/{event}/blake2b:{hashlib.blake2b(occurrence.encode(), digest_size=16).hexdigest()}"


def _base(request: Request) -> dict[str, str]:
    """The baseline, which is only known once there is a strategy; "" then says that the build is a full one."""
    return {} if request.build_strategy is None else {str(MetadataKey.BASE_URI): request.base_uri}


def _keep(storage: Storage, log: RequestLog) -> RequestLog:
    try:
        storage.request_log.create(log)
    except AlreadyExists:
        return storage.request_log.get(log.request_id, log.id)
    return log


def _agree(log: RequestLog, stored: RequestLog) -> bool:
    common = log.metadata.keys() & stored.metadata.keys()
    return all(getattr(log, name) == getattr(stored, name) for name in _SEMANTICS) and all(
        log.metadata[key] == stored.metadata[key] for key in common
    )


def _materialize(storage: Storage, stored: RequestLog) -> None:
    state = stored.state
    if state is not None:
        _list(storage, retry(lambda: _summarize(storage, stored, state)))


def _summarize(storage: Storage, log: RequestLog, state: RequestState) -> RequestSummary:
    """The summary once it says what `log` says; `VersionMismatch` where another change came between."""
    summary = _find_summary(storage, log.request_id)
    if summary is None:
        first = _first_summary(storage, log, state)
        try:
            storage.request_summaries.create(first)
        except AlreadyExists:
            summary = storage.request_summaries.get(log.request_id)
        else:
            return first
    updated = _project(summary, log, state)
    return summary if updated == summary else storage.request_summaries.update_next(updated)


def _find_summary(storage: Storage, request_id: str) -> RequestSummary | None:
    try:
        return storage.request_summaries.get(request_id)
    except NotFound:
        return None


def _first_summary(storage: Storage, log: RequestLog, state: RequestState) -> RequestSummary:
    # The request may be further on by now: what is shown is what is logged.
    request = storage.requests.get(log.request_id)
    if not request.uri:
        raise Inconsistent(f"{_name(log)}: the request has no uri, and can't be shown")
    return RequestSummary(
        log.queue,
        log.request_id,
        request.uri,
        state,
        request_version=log.request_version,
        state_timestamp_ms=log.timestamp_ms,
        accepted_at_ms=log.timestamp_ms if state == RequestState.ACCEPTED else 0,
        base_uri=log.metadata.get(MetadataKey.BASE_URI, ""),
        outcome_reason=log.outcome_reason,
    )


def _project(summary: RequestSummary, log: RequestLog, state: RequestState) -> RequestSummary:
    if state == RequestState.ACCEPTED:
        if summary.accepted_at_ms not in (0, log.timestamp_ms):
            raise Inconsistent(f"{_name(log)}: the summary has another time of acceptance")
        summary = summary.replace(accepted_at_ms=log.timestamp_ms)
    if log.request_version < summary.request_version:
        return summary
    base_uri = log.metadata.get(MetadataKey.BASE_URI, summary.base_uri)
    if log.request_version == summary.request_version:
        shown = (summary.state, summary.state_timestamp_ms, summary.base_uri)
        same_reason = summary.outcome_reason in (None, log.outcome_reason)
        if shown != (state, log.timestamp_ms, base_uri) or not same_reason:
            raise Inconsistent(f"{_name(log)}: the summary shows this version of the request as something else")
        return summary.replace(outcome_reason=log.outcome_reason)
    return summary.replace(
        state=state,
        request_version=log.request_version,
        state_timestamp_ms=log.timestamp_ms,
        outcome_reason=log.outcome_reason,
        base_uri=base_uri,
    )


def _list(storage: Storage, summary: RequestSummary) -> None:
    """Have the acceptance listed where its time is known: also when the summary needed no write."""
    if summary.accepted_at_ms:
        try:
            storage.acceptances.create(RequestAcceptance(summary.queue, summary.accepted_at_ms, summary.request_id))
        except AlreadyExists:
            return


def _name(log: RequestLog) -> str:
    return REQUEST_LOG.show((log.queue, log.request_id, log.id))
