"""Leases: one holder at a time, for so long by the engine's clock, and a token that fences off the ones before.

A holder that was paused, or cut off, may still believe in its lease when another one has it. So every acquisition has
a greater token than all before it, and a write that relies on a lease checks it in its own transaction: then nobody
writes late, whatever the clocks of the clients say.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from strongroom.engine import Engine, Reader, Strength, Transaction
from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.records import AnyTable, Identifier, Integer, Record, Table

L = TypeVar("L", bound=Record)


class LeaseHeld(StrongroomError):
    """Somebody has the lease, until `expires_at` by the engine's clock unless it is renewed; nothing was written."""

    retryable = True

    def __init__(self, message: str, *, expires_at: int) -> None:
        super().__init__(message)
        self.expires_at = expires_at


class LeaseLost(StrongroomError):
    """The lease has expired, was released or is another one's by now; nothing was written. It must be acquired anew."""


class Leases(Generic[L]):
    """Leases kept in `table`, one row for each thing that was ever leased.

    A row stays when its lease is released, so that no token is given out twice: nobody may remove it.

    Arguments:
        table: its key names what is leased. Beside the key it has the columns below and no other, and it is
            ``VERSIONED`` by the token.
        holder: the column with who has the lease, an identifier.
        token: the column with the fencing token, an integer; 1 for the first holder.
        expires: the column with the end of the lease, a time in milliseconds by the engine's clock, excluded.

    Raises TypeError for a table that can't keep leases.
    """

    def __init__(
        self, table: Table[L], *, holder: str = "holder", token: str = "token", expires: str = "expires_at"
    ) -> None:
        kinds = {holder: Identifier, token: Integer, expires: Integer}
        if not columns_are(table, kinds) or len(table.columns) != len(table.key) + len(kinds):
            raise TypeError(f"{table.name}: beside its key are {holder}, {token} and {expires}, and nothing else")
        if not table.changes.update or table.changes.version != token or table.changes.delete:
            raise TypeError(f"{table.name}: leases are versioned by {token}, and never deleted")
        self.table = table
        self._holder, self._token, self._expires = holder, token, expires

    def acquire(self, engine: Engine, *name: Any, holder: str, for_ms: int) -> L:
        """Have the lease for `for_ms` milliseconds (1 or more), under a token greater than every one before.

        Raises `LeaseHeld` (retryable) while it is live, also for who holds it: that may be an earlier life of the
        same holder. Raises `InvalidArgument` for what the table can't hold, `Unsupported` on a single-record engine.
        """
        self._require(engine)
        return engine.write(lambda transaction: self.acquire_in(transaction, *name, holder=holder, for_ms=for_ms))

    def acquire_in(self, transaction: Transaction, *name: Any, holder: str, for_ms: int) -> L:
        """`acquire` inside a transaction: the lease is had if and only if it commits."""
        expires = self._end(transaction, for_ms)
        last = transaction.get(self.table, *name)
        if last is None:
            lease = self._lease(name, holder, 1, expires)
            transaction.insert(self.table, lease)
            return lease
        if self._is_live(transaction, last):
            raise LeaseHeld(f"{self.table.show(name)} is held", expires_at=getattr(last, self._expires))
        lease = self._lease(name, holder, getattr(last, self._token) + 1, expires)
        transaction.update(self.table, lease, expect=last)
        return lease

    def renew(self, engine: Engine, lease: L, for_ms: int) -> L:
        """The same lease, under the same token, from now for `for_ms` milliseconds.

        Raises `LeaseLost` if it has expired, also where nobody else took it; else raises as `acquire`.
        """
        self._require(engine)
        return engine.write(lambda transaction: self.renew_in(transaction, lease, for_ms))

    def renew_in(self, transaction: Transaction, lease: L, for_ms: int) -> L:
        """`renew` inside a transaction."""
        expires = self._end(transaction, for_ms)
        held = self._held(transaction, lease)
        renewed = held.replace(**{self._expires: expires})
        transaction.update(self.table, renewed, expect=held)
        return renewed

    def release(self, engine: Engine, lease: L) -> bool:
        """Give the lease up, so that another may have it at once; whether it was still held. Raises as `acquire`."""
        self._require(engine)
        return engine.write(lambda transaction: self.release_in(transaction, lease))

    def release_in(self, transaction: Transaction, lease: L) -> bool:
        """`release` inside a transaction."""
        try:
            held = self._held(transaction, lease)
        except LeaseLost:
            return False
        transaction.update(self.table, held.replace(**{self._expires: 0}), expect=held)
        return True

    def check(self, transaction: Transaction, lease: L) -> None:
        """Make sure that the lease is held, in the transaction of a write that relies on it.

        The write is kept only if nobody else had the lease until then (T2). Raises `LeaseLost`.
        """
        self._held(transaction, lease)

    def find(self, transaction: Transaction, *name: Any) -> L | None:
        """The lease that is live now; None if nobody has it."""
        last = transaction.get(self.table, *name)
        return last if last is not None and self._is_live(transaction, last) else None

    def last(self, reader: Reader, *name: Any) -> L | None:
        """The lease that was acquired last, live or not; None if none ever was."""
        return reader.get(self.table, *name)

    def _held(self, transaction: Transaction, lease: L) -> L:
        """The stored row of a lease that is held; its end may be later than the given one's, who was renewed."""
        self.table.check_type(lease)
        name = self.table.key_in(lease)
        stored = transaction.get(self.table, *name)
        if (
            stored is None
            or getattr(stored, self._token) != getattr(lease, self._token)
            or getattr(stored, self._holder) != getattr(lease, self._holder)
            or not self._is_live(transaction, stored)
        ):
            raise LeaseLost(f"{self.table.show(name)} is not held under this token any more")
        return stored

    def _is_live(self, transaction: Transaction, lease: L) -> bool:
        return bool(self._now(transaction) < getattr(lease, self._expires))

    def _now(self, transaction: Transaction) -> int:
        return transaction.now()

    def _end(self, transaction: Transaction, for_ms: int) -> int:
        return self._now(transaction) + checked_duration(self.table, for_ms)

    def _lease(self, name: tuple[Any, ...], holder: str, token: int, expires: int) -> L:
        values = {self._holder: holder, self._token: token, self._expires: expires}
        self.table.store_key(name)
        return self.table.record(**dict(zip(self.table.key_names, name, strict=True)), **values)

    def _require(self, engine: Engine) -> None:
        engine.require(Strength.MULTI_RECORD, f"leases in {self.table.name}")


def columns_are(table: AnyTable, kinds: dict[str, type[Identifier | Integer]]) -> bool:
    """Whether the table has these columns beside its key, of these kinds."""
    return all(
        name in table.index
        and name not in table.key_names
        and isinstance(table.columns[table.index[name]].kind, kind)
        and not table.columns[table.index[name]].nullable
        for name, kind in kinds.items()
    )


def checked_duration(table: AnyTable, for_ms: int) -> int:
    """`for_ms`; `InvalidArgument` unless it is a number of milliseconds from 1."""
    if type(for_ms) is not int or for_ms < 1:
        raise InvalidArgument(f"{table.name}: a lease is for 1 ms or more")
    return for_ms
