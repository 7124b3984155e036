"""Ingest: a commit becomes a request, once, whoever reports it and however often.

A commit's number is what decides: it is taken from the queue's own log of numbers, whose next position is created
once, and only then mapped to the commit's uri. A caller that stops between the two leaves a number that the next one
to come by maps. So ids are dense, none is wasted, and their numeric order is the order of ingest.
"""

from __future__ import annotations

from typing import NamedTuple

from strongroom.domains.stovepipe.faults import FAULTS, AlreadyExists, NotFound
from strongroom.domains.stovepipe.flows._common import RIVALS, change_queue, moment
from strongroom.domains.stovepipe.flows._named_log import NamedLog
from strongroom.domains.stovepipe.flows.faults import Inconsistent
from strongroom.domains.stovepipe.flows.materializer import ensure_state
from strongroom.domains.stovepipe.flows.request_ids import is_newer, request_number
from strongroom.domains.stovepipe.records import (
    REQUEST_NUMBERS,
    REQUEST_URIS,
    REQUESTS,
    Queue,
    Request,
    RequestNumber,
)
from strongroom.domains.stovepipe.storage import Storage
from strongroom.domains.stovepipe.words import RequestState
from strongroom.engine import retry
from strongroom.errors import InvalidArgument
from strongroom.patterns import ScopedTable


class Ingested(NamedTuple):
    """What ingest came to."""

    request: Request
    pending: bool
    """Whether the request is still to be processed: then, and only then, hand it to `process`."""


def ingest(storage: Storage, uri: str, *, now: int | None = None) -> Ingested:
    """Have a request for the commit `uri` (1 to 255 bytes): accepted, listed, and the queue's latest or older.

    The first ingest of a commit gives it its request, whose id is the next number of the queue; every later one,
    and the loser of a race, gets the same request, and makes good what an earlier one left undone. The time of
    acceptance is `now` (Unix ms; by default the engine's clock) of whoever logs it first. The pointer to the latest
    request only moves forward.

    Safe to stop at every write and to run again. Raises `InvalidArgument`, nothing written, for a uri or time out of
    range; `Inconsistent` where the commit is mapped to what is no request id, or to another commit's request;
    `Conflict` (retryable) where rivals won every attempt; and as `persist_log`.
    """
    now = moment(storage, now)
    request = _ensure_request(storage, _owner(storage, uri) or _give_number(storage, uri), uri)
    ensure_state(storage, Request(storage.queue, request.id, uri), now=now)
    change_queue(storage, lambda queue: _advance(queue, request.id), create=True)
    return Ingested(request, pending=request.state == RequestState.ACCEPTED)


def _advance(queue: Queue, request_id: str) -> Queue:
    newer = is_newer(request_id, queue.latest_request_id)
    return queue.replace(latest_request_id=request_id) if newer else queue


def _owner(storage: Storage, uri: str) -> str:
    """The id of the request that the commit is mapped to, "" if to none."""
    request_id = _mapped(storage, uri)
    if request_id:
        try:
            request_number(request_id)
        except InvalidArgument as fault:
            raise Inconsistent(f"{REQUEST_URIS.show((storage.queue, uri))}: {fault}") from None
    return request_id


def _mapped(storage: Storage, uri: str) -> str:
    try:
        return storage.request_uris.get_id_by_uri(uri)
    except NotFound:
        return ""


def _give_number(storage: Storage, uri: str) -> str:
    numbers = _Numbers(storage)

    def following(head: RequestNumber | None) -> RequestNumber:
        return RequestNumber(storage.queue, head.number + 1 if head else 1, uri)

    retry(lambda: numbers.claim(uri, following), on=AlreadyExists, backoff=RIVALS)
    return _owner(storage, uri)


def _ensure_request(storage: Storage, request_id: str, uri: str) -> Request:
    try:
        request = storage.requests.get(request_id)
    except NotFound:
        request = _create_request(storage, Request(storage.queue, request_id, uri))
    if request.uri != uri:
        raise Inconsistent(f"{REQUESTS.show((storage.queue, request_id))} is of another commit than is mapped to it")
    return request


def _create_request(storage: Storage, request: Request) -> Request:
    try:
        storage.requests.create(request)
    except AlreadyExists:
        return storage.requests.get(request.id)
    return request


class _Numbers(NamedLog[RequestNumber]):
    """The queue's numbers, each claimed by one commit's uri; a registered name is a mapped uri."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._rows = ScopedTable(storage.engine, REQUEST_NUMBERS, (storage.queue,), FAULTS)

    def head(self) -> RequestNumber | None:
        last = self._rows.scan(limit=1, reverse=True)
        return last[0] if last else None

    def name_of(self, entry: RequestNumber) -> str:
        return entry.uri

    def find(self, name: str) -> RequestNumber | None:
        owner = _owner(self._storage, name)
        return RequestNumber(self._storage.queue, request_number(owner), name) if owner else None

    def add(self, entry: RequestNumber) -> None:
        self._rows.insert(entry)

    def settle(self, entry: RequestNumber) -> None:
        if not _mapped(self._storage, entry.uri):
            try:
                self._storage.request_uris.create(entry.uri, str(entry.number))
            except AlreadyExists:
                return
