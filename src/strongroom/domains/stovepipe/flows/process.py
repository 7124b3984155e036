"""Process: an accepted request is superseded, held back, or given a slot and a strategy and sent to be built.

The slot is claimed first and the request marked after it. A caller that stops between the two leaves a claim in the
request's own name, which the next run finds and goes on with; whoever finds the request ended gives it back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from strongroom.domains.stovepipe.flows._common import RIVALS, moment
from strongroom.domains.stovepipe.flows._slots import release_slot, with_slot
from strongroom.domains.stovepipe.flows.materializer import ensure_state
from strongroom.domains.stovepipe.flows.request_ids import is_newer
from strongroom.domains.stovepipe.records import Queue, Request
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import BuildStrategy, RequestState
from strongroom.engine import retry
from strongroom.errors import InvalidArgument, StrongroomError

Gate = Callable[[Queue, Request], bool]
"""Whether the queue lets the request pass now. Asked again on every attempt, so it must change nothing."""

Baseline = Callable[[Queue, Request], str]
"""The uri of the green commit that the request is built from, "" for a full build. Asked again on every attempt."""


class Verdict(StrEnum):
    """What is to be done with a request that was processed."""

    BUILD = "build"
    """Hand it to `build`."""
    FINISHED = "finished"
    """Nothing: it has ended, superseded or otherwise."""
    WAITING = "waiting"
    """Nothing: the queue has no latest request yet; its ingest is still to come this far, and hands it on again."""
    HELD = "held"
    """Process it again after a delay: the gate is closed, or all slots are taken."""


class Processed(NamedTuple):
    """What process came to."""

    verdict: Verdict
    request: Request


def process(
    storage: Storage,
    request_id: str,
    *,
    slots: int,
    gate: Gate | None = None,
    coalesce: bool = True,
    baseline: Baseline | None = None,
    now: int | None = None,
) -> Processed:
    """Bring the request as far as it can go now, and say what is to be done with it.

    A request that is older than the queue's latest is superseded, unless `coalesce` is false: for a queue whose every
    commit is to be built. Another one passes if `gate` lets it (without one it does), and claims one of the queue's
    `slots` (1 or more), never a second one; it is then marked as processing, to be built incrementally from what
    `baseline` says (without one, the last green commit) where there is such a commit, and in full otherwise. Every
    attempt that loses a compare-and-set begins again from what is stored then. `now` (Unix ms; by default the
    engine's clock) is when its new state is logged.

    A request that others ended meanwhile keeps no slot; nor does one whose processing failed here, as far as that
    can still be written. One that is held keeps the slot that a stopped run may have claimed for it. Safe to stop at
    every write and to run again, and beside other runs for the same request. Only where one run fails just when
    another is about to mark the request can that one go on without its slot: for a time one more request than
    `slots` is then built, rather than one less for ever.

    Raises `NotFound` for a request or a queue that is not there: never for one that is not there yet, as ingest
    wrote both. `InvalidArgument`, nothing written, for `slots` or `now` out of range or an id that is no request id;
    `Conflict` (retryable) where rivals won every attempt; and as `persist_log`.
    """
    now = moment(storage, now)
    if type(slots) is not int or slots < 1:
        raise InvalidArgument("a queue has 1 slot or more")
    verdict, request = _Run(storage, request_id, slots, gate or _open, coalesce, baseline or _last_green).run()
    # An outcome is logged by whoever decided it.
    if request.state in (RequestState.PROCESSING, RequestState.SUPERSEDED):
        ensure_state(storage, request, now=now)
    return Processed(verdict, request)


def _open(_queue: Queue, _request: Request) -> bool:
    return True


def _last_green(queue: Queue, _request: Request) -> str:
    return queue.last_green_uri


class _Run:
    def __init__(
        self, storage: Storage, request_id: str, slots: int, gate: Gate, coalesce: bool, baseline: Baseline
    ) -> None:
        self._storage = storage
        self._request_id = request_id
        self._slots = slots
        self._gate = gate
        self._coalesce = coalesce
        self._baseline = baseline
        self._claimed = False

    def run(self) -> Processed:
        try:
            done = retry(self._attempt, backoff=RIVALS)
        except StrongroomError:
            # What went wrong comes out. If even this can't be written, the claim is in the request's name, and its
            # next run goes on with it.
            with suppress(StrongroomError):
                self._give_back()
            raise
        if done.verdict == Verdict.FINISHED:
            release_slot(self._storage, self._request_id)
        return done

    def _attempt(self) -> Processed:
        # The queue's row is read before the request. So a slot is only ever claimed for a request that was accepted
        # while the row was as the claim expects it: not for one that came, was built and gave its slot back since.
        queue = self._storage.queues.get(self._storage.queue)
        request = self._storage.requests.get(self._request_id)
        if request.state == RequestState.PROCESSING:
            return Processed(Verdict.BUILD, request)
        if request.state != RequestState.ACCEPTED:
            return Processed(Verdict.FINISHED, request)
        if not queue.latest_request_id:
            return Processed(Verdict.WAITING, request)
        if self._coalesce and is_newer(queue.latest_request_id, request.id):
            superseded = request.replace(state=RequestState.SUPERSEDED)
            return Processed(Verdict.FINISHED, self._storage.requests.update_next(superseded))
        if not self._gate(queue, request) or not self._claim(queue):
            return Processed(Verdict.HELD, request)
        return Processed(Verdict.BUILD, self._storage.requests.update_next(self._with_strategy(request, queue)))

    def _claim(self, queue: Queue) -> bool:
        if self._request_id in queue.slot_holders:
            return True
        if queue.in_flight_count >= self._slots:
            return False
        self._storage.queues.update_next(with_slot(queue, self._request_id))
        self._claimed = True
        return True

    def _give_back(self) -> None:
        if self._claimed:
            request = self._storage.requests.get(self._request_id)
            if request.state != RequestState.PROCESSING:
                release_slot(self._storage, self._request_id)

    def _with_strategy(self, request: Request, queue: Queue) -> Request:
        base_uri = self._baseline(queue, request)
        return request.replace(
            state=RequestState.PROCESSING,
            build_strategy=BuildStrategy.INCREMENTAL_SINCE_GREEN if base_uri else BuildStrategy.FULL,
            base_uri=base_uri,
        )
