"""persist-queue: a queue whose consumers acknowledge (`SQLiteAckQueue`).

Its ``put``, ``get`` and ``ack`` are our enqueue, claim and finish (`bench.queue`): three commits either way. Its item
is a pickled text. It looks for the next item from the oldest on, acknowledged ones too, and its documentation has
``clear_acked_data`` called now and then: here at every 200th item, timed with the rest; ours keeps every finished job.
Threads share the one queue, made with ``multithreading=True``. Its connections have SQLite's default, FULL, already;
there is no documented way to them, so the setting is only read back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.measure import Line
from bench.peers.common import GROUP, LOCK_TIMEOUT, Case, Work, Workshop, against, check_flush, peer
from bench.queue import JobQueue
from bench.tables import PAYLOAD, QUEUE

_CLEAR_EVERY: Final = 200


def prepared(shop: Workshop) -> tuple[Work, str]:
    """The peer's side on a new queue of its own, and what its connection says of its flush."""
    make = peer("persistqueue").SQLiteAckQueue
    queue = make(str(shop.folder()), multithreading=True, timeout=LOCK_TIMEOUT)
    shop.closing(queue.close)
    flush = check_flush("persist-queue", lambda sql: queue._putter.execute(sql).fetchone()[0])

    def theirs(_caller: int, n: int) -> None:
        for _ in range(n):
            queue.put(PAYLOAD)
            item = queue.get(block=False, raw=True)["pqid"]
            queue.ack(id=item)
            if item % _CLEAR_EVERY == 0:
                queue.clear_acked_data(keep_latest=0)

    return theirs, flush


def cycle(shop: Workshop) -> Iterator[Line]:
    theirs, flush = prepared(shop)
    ours = JobQueue(shop.room(), QUEUE).cycle
    yield from against(shop, "persist-queue", "persist-queue put, get, ack", ours, theirs, flush)


CASES: Final = (Case(GROUP, "persist-queue cycle", cycle, "enqueue, claim and finish a job"),)
