"""Against libraries that keep state in SQLite too: the same job, done as each one's documentation does it.

All flush at every commit (``synchronous=FULL``) and use the WAL, as Strongroom does; where that is not a peer's own
setting it is set through its documented way, and it is always read back from the peer's own connection before
anything is measured. Each module says how its peer's job maps to ours. Every job is measured with one caller and with
eight threads.
"""

from __future__ import annotations

from bench.peers import diskcache, eventsourcing, huey, litequeue, persist_queue, sqlalchemy

PEER_CASES = (
    *sqlalchemy.CASES,
    *eventsourcing.CASES,
    *diskcache.CASES,
    *litequeue.CASES,
    *persist_queue.CASES,
    *huey.CASES,
)

__all__ = ["PEER_CASES"]
