"""Against libraries that keep state in SQLite or PostgreSQL too: the same job, as each one's documentation does it.

All flush at every commit, as Strongroom does (SQLite: the WAL and ``synchronous=FULL``); where that is not a peer's own
setting it is set through its documented way, and it is always read back from the peer's own connection before
anything is measured. Each module says how its peer's job maps to ours. Every job is measured with one caller and with
eight threads.
"""

from __future__ import annotations

from bench.peers import diskcache, eventsourcing, huey, langgraph, litequeue, persist_queue, sqlalchemy
from bench.peers.places import FILES, SERVER

PEER_CASES = (
    *sqlalchemy.cases(FILES),
    *eventsourcing.cases(FILES),
    *diskcache.CASES,
    *litequeue.CASES,
    *persist_queue.CASES,
    *huey.CASES,
)
SERVER_PEER_CASES = (
    *sqlalchemy.cases(SERVER),
    *eventsourcing.cases(SERVER),
    *langgraph.CASES,
)

__all__ = ["PEER_CASES", "SERVER_PEER_CASES"]
