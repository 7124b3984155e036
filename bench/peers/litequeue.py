"""litequeue: a message queue that keeps what was done.

Its ``put``, ``pop`` and ``done`` are our enqueue, claim and finish (`bench.queue`): three commits either way, and the
finished message stays in the table. Its message is a text; ours is a record of seven fields with a version, and its
finish checks that nobody else changed it meanwhile. With threads each has a `LiteQueue` of its own on the one file.
``PRAGMA synchronous = FULL`` is given to its public `conn` after it was opened (it opens with NORMAL).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bench.measure import Line
from bench.peers.common import GROUP, LOCK_TIMEOUT, THREADS, Case, Work, Workshop, against, check_flush, peer
from bench.queue import JobQueue
from bench.tables import PAYLOAD, QUEUE


def prepared(shop: Workshop) -> tuple[Work, str]:
    """The peer's side on a new queue of its own, and what its connection says of its flush."""
    file = shop.folder() / "queue.db"
    queues = [peer("litequeue").LiteQueue(str(file), timeout=LOCK_TIMEOUT) for _ in range(THREADS)]
    for queue in queues:
        shop.closing(queue.conn.close)
        queue.conn.execute("PRAGMA synchronous = FULL")
    flush = check_flush("litequeue", lambda sql: queues[0].conn.execute(sql).fetchone()[0])

    def theirs(caller: int, n: int) -> None:
        queue: Any = queues[caller]
        for _ in range(n):
            queue.put(PAYLOAD)
            queue.done(queue.pop().message_id)

    return theirs, flush


def cycle(shop: Workshop) -> Iterator[Line]:
    theirs, flush = prepared(shop)
    ours = JobQueue(shop.room(), QUEUE).cycle
    yield from against(shop, "litequeue", "litequeue put, pop, done", ours, theirs, flush)


CASES: Final = (Case(GROUP, "litequeue cycle", cycle, "enqueue, claim and finish a job"),)
