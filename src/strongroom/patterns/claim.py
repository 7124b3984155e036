"""Claims: work that waits in order, each piece given to one worker, also when many ask at once.

The queue is a table of what waits, in the order of its key. A claim takes rows out of it in the transaction that
writes what becomes of them, so that no piece is lost or given twice. Where workers may die, a `LeasedQueue` keeps what
was claimed, and has it ready again when its time is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from strongroom.engine import Engine, Reader, Strength, Transaction
from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.patterns.lease import checked_duration, columns_are
from strongroom.records import MAX_INTEGER, Identifier, Integer, Record, Table

Q = TypeVar("Q", bound=Record)
T = TypeVar("T")


class ClaimLost(StrongroomError):
    """What was claimed is another worker's by now, or was finished or given back; nothing was written."""


class Queue(Generic[Q]):
    """What waits in `table`: whoever inserts a row there queues it, and a claim removes it.

    Arguments:
        table: its key is the queue's name (zero or more columns), and then what the order goes by. Rows are inserted
            and deleted (``MEMBERSHIP``).
        ready_at: the key column behind the queue's name with the time from which a row may be claimed, in
            milliseconds by the engine's clock; empty where all of them may be at once.

    Raises TypeError for a table that can't be a queue.
    """

    def __init__(self, table: Table[Q], *, ready_at: str = "") -> None:
        if not table.changes.delete or table.changes.put or table.changes.update:
            raise TypeError(f"{table.name}: what waits in a queue comes and goes, and never changes")
        if ready_at and ready_at not in table.key_names:
            raise TypeError(f"{table.name}: {ready_at!r} is not in the key, so it orders nothing")
        self.table = table
        self._name = table.key_names.index(ready_at) if ready_at else None
        if self._name is not None:
            part = table.key[self._name]
            if part.descending or not isinstance(part.column.kind, Integer):
                raise TypeError(f"{table.name}: {ready_at!r} is not an ascending time")

    def ready(self, transaction: Transaction, *queue: Any, limit: int) -> list[Q]:
        """The rows that may be claimed now, the oldest first, at most `limit` of them."""
        if self._name is None:
            return transaction.scan(self.table, *queue, limit=limit)
        if len(queue) != self._name:
            raise InvalidArgument(f"{self.table.name}: a queue's name has {self._name} values, not {len(queue)}")
        return transaction.scan(self.table, *queue, stop=(min(self._now(transaction) + 1, MAX_INTEGER),), limit=limit)

    def claim_in(self, transaction: Transaction, *queue: Any, limit: int = 1) -> list[Q]:
        """Take the oldest rows that are ready out of the queue, at most `limit`: they are claimed if this commits.

        Each is claimed once, whoever asks at the same time (T2). Raises as `scan`.
        """
        found = self.ready(transaction, *queue, limit=limit)
        return [entry for entry in found if self._take(transaction, entry)]

    def claim(self, engine: Engine, *queue: Any, limit: int = 1, take: Callable[[Transaction, Q], T]) -> list[T]:
        """Claim up to `limit` rows in one transaction, and what `take` makes of each, in their order.

        `take` writes what becomes of a row, in the same transaction, and may be called again where rivals won (T4).
        Nothing ready is an empty list, and costs no flush. How many rows a transaction may hold is the engine's:
        some dozens are safe everywhere. Raises what `take` raises, nothing claimed; `Unsupported` on a
        single-record engine.
        """
        engine.require(Strength.MULTI_RECORD, f"the queue {self.table.name}")

        def change(transaction: Transaction) -> list[T]:
            found = self.claim_in(transaction, *queue, limit=limit)
            return [take(transaction, entry) for entry in found] if found else transaction.abandon([])

        return engine.write(change)

    def first(self, reader: Reader, *queue: Any) -> Q | None:
        """The row that comes first, ready or not yet; None for an empty queue."""
        found = reader.scan(self.table, *queue, limit=1)
        return found[0] if found else None

    def _take(self, transaction: Transaction, entry: Q) -> bool:
        """Take exactly this row out of the queue; whether it was there."""
        return transaction.delete(self.table, *self.table.key_in(entry), expect=entry)

    def _now(self, transaction: Transaction) -> int:
        return transaction.now()


class LeasedQueue(Queue[Q]):
    """A queue whose claims run out: what is not finished in time is ready again, behind what was ready before.

    A claimed row stays in the table, ready only when the claim's time is over, and says who has it under which token.
    The row itself is the claim: once another has claimed it, a late `finish`, `renew` or `give_back` finds another
    row, and is refused. A claim whose time is over is good as long as nobody else has claimed the row.

    Arguments:
        table: as of a `Queue`. What its key has behind the time must tell its rows apart.
        ready_at: the key column with the time from which a row may be claimed.
        holder: the column with who claimed the row, an identifier; an empty one for nobody is for the domain to allow.
        token: the column with how often the row was claimed, an integer from 0: the fencing token.

    Raises TypeError for a table that can't be such a queue.
    """

    def __init__(
        self, table: Table[Q], *, ready_at: str = "ready_at", holder: str = "holder", token: str = "token"
    ) -> None:
        super().__init__(table, ready_at=ready_at)
        if not columns_are(table, {holder: Identifier, token: Integer}):
            raise TypeError(f"{table.name}: beside its key are {holder} and {token}")
        if table.key_names[-1] == ready_at:
            raise TypeError(f"{table.name}: nothing behind {ready_at} tells rows of one moment apart")
        self._ready_at, self._holder, self._token = ready_at, holder, token

    def claim_for(self, engine: Engine, *queue: Any, holder: str, for_ms: int, limit: int = 1) -> list[Q]:
        """Claim up to `limit` rows for `for_ms` milliseconds (1 or more), the oldest first: the claims, durable.

        Each has a greater token than the claim of the same row before. Raises as `claim`.
        """
        engine.require(Strength.MULTI_RECORD, f"the queue {self.table.name}")

        def change(transaction: Transaction) -> list[Q]:
            claims = self.claim_for_in(transaction, *queue, holder=holder, for_ms=for_ms, limit=limit)
            return claims or transaction.abandon(claims)

        return engine.write(change)

    def claim_for_in(self, transaction: Transaction, *queue: Any, holder: str, for_ms: int, limit: int = 1) -> list[Q]:
        """`claim_for` inside a transaction."""
        checked_duration(self.table, for_ms)
        claims = []
        for entry in self.claim_in(transaction, *queue, limit=limit):
            claimed = {self._holder: holder, self._token: getattr(entry, self._token) + 1}
            claims.append(self._put(transaction, entry, for_ms, **claimed))
        return claims

    def finish(self, transaction: Transaction, claim: Q) -> None:
        """Take what was claimed off the queue for good, in the transaction that keeps what came of it.

        Raises `ClaimLost`, and nothing is kept unless that is caught.
        """
        if not self._take(transaction, claim):
            raise ClaimLost(f"{self.table.show(self.table.key_in(claim))} is not claimed under this token any more")

    def renew(self, engine: Engine, claim: Q, for_ms: int) -> Q:
        """The same claim, under the same token, from now for `for_ms` milliseconds. Raises `ClaimLost`."""
        checked_duration(self.table, for_ms)
        return self._move(engine, claim, for_ms)

    def give_back(self, engine: Engine, claim: Q, *, after_ms: int = 0) -> Q:
        """Have what was claimed ready again in `after_ms` milliseconds (0 or more): its row. Raises `ClaimLost`."""
        if type(after_ms) is not int or after_ms < 0:
            raise InvalidArgument(f"{self.table.name}: a row is ready in 0 ms or more")
        return self._move(engine, claim, after_ms)

    def _move(self, engine: Engine, claim: Q, in_ms: int) -> Q:
        engine.require(Strength.MULTI_RECORD, f"the queue {self.table.name}")

        def change(transaction: Transaction) -> Q:
            self.finish(transaction, claim)
            return self._put(transaction, claim, in_ms)

        return engine.write(change)

    def _put(self, transaction: Transaction, entry: Q, in_ms: int, **claimed: Any) -> Q:
        moved = entry.replace(**{self._ready_at: self._now(transaction) + in_ms}, **claimed)
        transaction.insert(self.table, moved)
        return moved
