"""Queues: coordination and present enablement, the log of what was ever enabled, and how it is shown.

The log decides: whoever creates sequence n + 1 made the change, and the other two rows follow it. Three counters are
kept apart: a place in the log, the version of the operational row, the version of the projection.
"""

from __future__ import annotations

from typing import Final

from strongroom.domains.stovepipe.faults import FAULTS, NotFound
from strongroom.domains.stovepipe.records import (
    QUEUE_LOG,
    QUEUE_SUMMARIES,
    QUEUES,
    Queue,
    QueueLog,
    QueueSummary,
)
from strongroom.domains.stovepipe.versioned import VersionedStore
from strongroom.engine import Writer
from strongroom.patterns import Log, ScopedTable
from strongroom.records import AnyTable


class QueueStore(VersionedStore[Queue]):
    """The queue's own row: at most one, as every other name is out of scope."""

    def __init__(self, port: Writer, queue: str) -> None:
        super().__init__(port, QUEUES, queue)

    def get(self, name: str) -> Queue:
        """The queue's row; `NotFound` if there is none, and for every other name (the engine is not asked then)."""
        _check_own(QUEUES, name, self._queue)
        return self._rows.get()


ENABLEMENTS: Final = Log(QUEUE_LOG)
"""The log as its readers see it: in order, and whole."""


class QueueLogStore:
    """The occurrences of the queue's enablement: immutable, numbered from 1 without gaps."""

    def __init__(self, port: Writer, queue: str) -> None:
        self._rows = ScopedTable(port, QUEUE_LOG, (queue,), FAULTS)
        self._port = port
        self._queue = queue

    def create(self, occurrence: QueueLog) -> None:
        """Keep an occurrence under its sequence, which is for the caller to choose: the last one and 1.

        Raises `AlreadyExists`, the original kept, if another was first; before the engine is asked `ScopeMismatch`
        for another queue's, and `InvalidArgument` for values out of range.
        """
        self._rows.insert(occurrence)

    def get(self, sequence: int) -> QueueLog:
        """The occurrence; `NotFound` if there is none (yet). `InvalidArgument` for a sequence below 1."""
        return self._rows.get(sequence)

    def latest(self) -> QueueLog:
        """The last occurrence; `NotFound` before the first."""
        last = self._rows.scan(limit=1, reverse=True)
        if not last:
            raise NotFound(f"{QUEUE_LOG.name}: nothing ever happened to this queue")
        return last[0]

    def list(self, *, after: int = 0, limit: int) -> list[QueueLog]:
        """The occurrences behind sequence `after` in order, at most `limit` (1 to 10,000) of them.

        Raises `InvalidArgument`, before the engine is asked, for a negative `after` or a limit out of range, and
        `Corrupt` where a sequence is missing: a broken history is never taken for a short one.
        """
        return ENABLEMENTS.read(self._port, self._queue, after=after, limit=limit)


class QueueSummaryStore(VersionedStore[QueueSummary]):
    """How the queue's enablement is shown. `version` counts the projection's writes, and nothing else."""

    def __init__(self, port: Writer, queue: str) -> None:
        super().__init__(port, QUEUE_SUMMARIES, queue)

    def get(self, name: str) -> QueueSummary:
        """The queue's summary; `NotFound` if there is none, and for every other name (the engine is not asked then)."""
        _check_own(QUEUE_SUMMARIES, name, self._queue)
        return self._rows.get()


def _check_own(table: AnyTable, name: str, queue: str) -> None:
    table.store_key((name,))
    if name != queue:
        raise NotFound(f"nothing is stored as {table.show((name,))} in this queue's scope")
