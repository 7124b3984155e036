"""What several flows do alike: the time they go by, and compare-and-set loops over a queue's row and a request's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from strongroom.domains.stovepipe.faults import AlreadyExists, NotFound, VersionMismatch
from strongroom.domains.stovepipe.records import QUEUES, Queue
from strongroom.domains.stovepipe.storage import Storage
from strongroom.engine import Backoff, retry
from strongroom.errors import InvalidArgument
from strongroom.records import MAX_INTEGER, AnyTable, Stored

RIVALS: Final = Backoff(attempts=64, first_ms=0.5, cap_ms=20)
"""For rows that all workers of a queue change: short waits, and more of them than rivals can be."""


def moment(storage: Storage, now: int | None) -> int:
    """The time that a flow logs by: `now`, or the engine's clock.

    Raises `InvalidArgument`, before anything is written, for anything but a positive number of Unix ms.
    """
    if now is None:
        return storage.engine.now()
    if type(now) is not int or not 0 < now <= MAX_INTEGER:
        raise InvalidArgument("now is a positive number of milliseconds since the Unix epoch")
    return now


def change_queue(storage: Storage, change: Callable[[Queue], Queue], *, create: bool = False) -> Queue:
    """The queue's row once it is what `change` makes of it; no write where that is what it is already.

    `change` may run more than once, on a fresher row each time: it changes its own fields and keeps all others.
    Raises `NotFound` where there is no row and `create` is false, `Conflict` (retryable) where rivals won every
    attempt, and what `change` raises.
    """

    def attempt() -> Queue:
        try:
            queue = storage.queues.get(storage.queue)
        except NotFound:
            if not create:
                raise
            created = change(Queue(storage.queue))
            with creating(QUEUES, storage.queue):
                storage.queues.create(created)
            return created
        changed = change(queue)
        return queue if changed == queue else storage.queues.update_next(changed)

    return retry(attempt, backoff=RIVALS)


@contextmanager
def creating(table: AnyTable, *key: Stored) -> Iterator[None]:
    """Create a row in a compare-and-set loop: where a rival was first, `VersionMismatch`, so that it is read again."""
    try:
        yield
    except AlreadyExists as fault:
        raise VersionMismatch(f"{table.show(key)} was created at this moment") from fault
