"""The queue's slots: how many requests are built at once, and which.

The queue's row names the holders beside their count, in one compare-and-set. That is what makes a claim and a release
safe to repeat: a caller that stopped after one finds it done, and no retry ever takes or gives back another
request's slot.
"""

from __future__ import annotations

from strongroom.domains.stovepipe.flows._common import change_queue
from strongroom.domains.stovepipe.records import Queue
from strongroom.domains.stovepipe.storage import Storage


def with_slot(queue: Queue, request_id: str) -> Queue:
    """The row once the request, which holds none, has a slot."""
    return queue.replace(in_flight_count=queue.in_flight_count + 1, slot_holders=(*queue.slot_holders, request_id))


def without_slot(queue: Queue, request_id: str) -> Queue:
    """The row once the request has no slot; the same row where it has none. The count never goes below 0."""
    if request_id not in queue.slot_holders:
        return queue
    holders = tuple(holder for holder in queue.slot_holders if holder != request_id)
    return queue.replace(in_flight_count=max(0, queue.in_flight_count - 1), slot_holders=holders)


def release_slot(storage: Storage, request_id: str) -> None:
    """Give back the request's slot if it holds one; no write otherwise. Raises as `change_queue`."""
    change_queue(storage, lambda queue: without_slot(queue, request_id))
