"""Enablement: whether a queue is enabled, since when and from which commit, decided by its log alone.

Whoever creates the log's next occurrence has made the change. The operation's name, the queue's row and the summary
follow it, by whoever comes first: the caller that made it or, where that one stopped, the next caller, who settles
the last occurrence before anything else. Three counters stay apart: the occurrence's sequence, the row's version,
the projection's version.
"""

from __future__ import annotations

from collections.abc import Callable

from strongroom.domains.stovepipe.faults import FAULTS, AlreadyExists, NotFound, VersionMismatch
from strongroom.domains.stovepipe.flows._common import RIVALS, change_queue, creating, moment
from strongroom.domains.stovepipe.flows._named_log import NamedLog
from strongroom.domains.stovepipe.flows.faults import OperationConflict
from strongroom.domains.stovepipe.records import (
    ENABLEMENT_OPERATIONS,
    QUEUE_LOG,
    QUEUE_SUMMARIES,
    EnablementOperation,
    Queue,
    QueueLog,
    QueueSummary,
)
from strongroom.domains.stovepipe.storage import Storage
from strongroom.engine import retry
from strongroom.errors import Corrupt, InvalidArgument
from strongroom.patterns import ScopedTable


def set_enablement(
    storage: Storage,
    operation_id: str,
    enabled: bool,
    effective_commit_uri: str,
    reason: str,
    *,
    expected_sequence: int | None = None,
    now: int | None = None,
) -> QueueLog:
    """Enable or disable the queue: the occurrence in its log that did it.

    `operation_id` (1 to 255 bytes) is the caller's own name for the change: with the same one the same change can be
    asked for any number of times, and its first occurrence comes back, also after later changes. `effective_commit_uri`
    (at most 255 bytes) is the first commit that the change applies to, "" for no boundary; `reason` is free text of at
    most 4,096 bytes. With `expected_sequence` the change is only made if the log's last occurrence is that one (0:
    none yet), as the caller saw it. `now` (Unix ms; by default the engine's clock) is when it occurred.

    Safe to stop at every write and to run again, and repaired by the next caller, whichever change that one makes.
    Raises `InvalidArgument`, nothing written, for values out of range, and for a change to what the queue is
    already; `OperationConflict`, nothing written, where the operation id was used for another change;
    `VersionMismatch` (retryable) where another change came first, or the last occurrence is not the expected one;
    `Conflict` (retryable) where rivals won every attempt at the rows that follow.
    """
    wanted = QueueLog(storage.queue, 1, operation_id, enabled, effective_commit_uri, reason, moment(storage, now))
    QUEUE_LOG.check(wanted)
    if expected_sequence is not None and (type(expected_sequence) is not int or expected_sequence < 0):
        raise InvalidArgument("the expected sequence is that of an occurrence, or 0")

    def following(head: QueueLog | None) -> QueueLog:
        last = head.sequence if head else 0
        if expected_sequence not in (None, last):
            raise VersionMismatch(f"the last occurrence of {storage.queue} is {last}, not {expected_sequence}")
        if head is not None and head.enabled == enabled:
            raise InvalidArgument(f"{storage.queue} is {'enabled' if enabled else 'disabled'} already")
        return wanted.replace(sequence=last + 1)

    occurrence = _claim(_Operations(storage), operation_id, following)
    if _content(occurrence) != _content(wanted):
        raise OperationConflict(f"{QUEUE_LOG.show((storage.queue, occurrence.sequence))} has this operation's id")
    return occurrence


def settle_enablement(storage: Storage) -> QueueLog | None:
    """Have the queue's row and summary say what the log's last occurrence says: that one, None before the first.

    What the next change would do anyway, for whoever doesn't want to wait for one. Safe to stop at every write and
    to run again. Raises `Conflict` (retryable) where rivals won every attempt.
    """
    operations = _Operations(storage)
    head = operations.head()
    if head is not None:
        operations.settle(head)
    return head


def _claim(operations: _Operations, operation_id: str, make: Callable[[QueueLog | None], QueueLog]) -> QueueLog:
    try:
        return operations.claim(operation_id, make)
    except AlreadyExists as fault:
        lost = fault

    def after_the_winner(_head: QueueLog | None) -> QueueLog:
        raise VersionMismatch("another change of the queue came first") from lost

    # The winner may have been this very operation.
    return operations.claim(operation_id, after_the_winner)


def _content(occurrence: QueueLog) -> tuple[bool, str, str]:
    return occurrence.enabled, occurrence.effective_commit_uri, occurrence.reason


class _Operations(NamedLog[QueueLog]):
    """The queue's log, each occurrence claimed by one operation; settled is one that row and summary follow."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._names = ScopedTable(storage.engine, ENABLEMENT_OPERATIONS, (storage.queue,), FAULTS)

    def head(self) -> QueueLog | None:
        try:
            return self._storage.queue_log.latest()
        except NotFound:
            return None

    def name_of(self, entry: QueueLog) -> str:
        return entry.operation_id

    def find(self, name: str) -> QueueLog | None:
        registered = self._names.find(name)
        if registered is None:
            return None
        try:
            occurrence = self._storage.queue_log.get(registered.sequence)
        except NotFound:
            raise self._broken(registered) from None
        if occurrence.operation_id != name:
            raise self._broken(registered)
        return occurrence

    def add(self, entry: QueueLog) -> None:
        self._storage.queue_log.create(entry)

    def settle(self, entry: QueueLog) -> None:
        if self._names.find(entry.operation_id) is None:
            self._names.ensure(EnablementOperation(entry.queue, entry.operation_id, entry.sequence))
        change_queue(self._storage, lambda queue: _follow(queue, entry), create=True)
        retry(lambda: self._summarize(entry), backoff=RIVALS)

    def _summarize(self, entry: QueueLog) -> None:
        summary = _summary(entry)
        try:
            stored = self._storage.queue_summaries.get(entry.queue)
        except NotFound:
            with creating(QUEUE_SUMMARIES, entry.queue):
                self._storage.queue_summaries.create(summary)
            return
        if stored.enablement_sequence < entry.sequence:
            self._storage.queue_summaries.update_next(summary.replace(version=stored.version))

    def _broken(self, registered: EnablementOperation) -> Corrupt:
        key = (registered.queue, registered.sequence)
        return Corrupt(
            f"{QUEUE_LOG.show(key)} is missing, or not of the operation that is registered for it",
            table=QUEUE_LOG.name,
            key=key,
        )


def _follow(queue: Queue, entry: QueueLog) -> Queue:
    if queue.enablement_sequence >= entry.sequence:
        return queue
    return queue.replace(enabled=entry.enabled, enablement_sequence=entry.sequence)


def _summary(entry: QueueLog) -> QueueSummary:
    return QueueSummary(
        entry.queue,
        entry.enabled,
        enablement_sequence=entry.sequence,
        effective_commit_uri=entry.effective_commit_uri,
        reason=entry.reason,
        occurred_at_ms=entry.occurred_at_ms,
    )
