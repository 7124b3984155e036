"""huey: a task queue with a SQLite storage (`SqliteHuey`).

Calling a task enqueues it, ``dequeue`` claims it, ``execute`` runs it and stores its result: our enqueue, claim and
finish (`bench.queue`), three commits either way. The task does nothing, and its result stays, as our finished job
does. It takes a task out of the file when it claims it, so that a worker's death loses it; ours stays and says whose
it is. Threads share the one `SqliteHuey`, as its own workers do. ``fsync=True`` sets ``synchronous=FULL``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.measure import Line
from bench.peers.common import GROUP, LOCK_TIMEOUT, Case, Work, Workshop, against, check_flush, peer
from bench.queue import JobQueue
from bench.tables import PAYLOAD, QUEUE


def prepared(shop: Workshop) -> tuple[Work, str]:
    """The peer's side on a new queue of its own, and what its connection says of its flush."""
    file = shop.folder() / "huey.db"
    huey = peer("huey").SqliteHuey("bench", filename=str(file), fsync=True, timeout=LOCK_TIMEOUT)
    shop.closing(huey.storage.close)
    flush = check_flush("huey", lambda sql: huey.storage.sql(sql, results=True)[0][0])

    @huey.task()  # type: ignore[untyped-decorator]
    def nothing(payload: str) -> int:
        return len(payload)

    def theirs(_caller: int, n: int) -> None:
        for _ in range(n):
            nothing(PAYLOAD)
            huey.execute(huey.dequeue())

    return theirs, flush


def cycle(shop: Workshop) -> Iterator[Line]:
    theirs, flush = prepared(shop)
    ours = JobQueue(shop.room(), QUEUE).cycle
    yield from against(shop, "huey", "huey enqueue, dequeue, execute", ours, theirs, flush)


CASES: Final = (Case(GROUP, "huey cycle", cycle, "enqueue, claim and finish a job"),)
