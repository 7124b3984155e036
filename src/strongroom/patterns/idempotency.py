"""Idempotency: a request that is made again under the same key is answered, and not carried out a second time.

The key's row is written in the same transaction as the effect, so that there is never one without the other (T1). An
exact replay gets the first row back, and costs no flush (T5); the same key with another request is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from strongroom.engine import Engine, Reader, Strength, Transaction
from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.records import Identifier, Record, Table

M = TypeVar("M", bound=Record)


class IdempotencyConflict(AlreadyExists):
    """The key belongs to another request; nothing was written."""


@dataclass(frozen=True, slots=True)
class Once(Generic[M]):
    """What came of a request: its row, and whether that was there before."""

    entry: M
    replayed: bool


class Idempotency(Generic[M]):
    """The requests that were carried out, kept in `table`.

    Arguments:
        table: its key is what a request is known by: a scope, a caller and the caller's key, say. Beside the digest,
            its columns are the domain's own: they name what the request made. Rows are never updated.
        digest: the column with the digest of the request, a text that is not empty.
        conflict: what is raised for a key that belongs to another request.

    Raises TypeError for a table that can't keep requests.
    """

    def __init__(
        self,
        table: Table[M],
        *,
        digest: str = "digest",
        conflict: type[IdempotencyConflict] = IdempotencyConflict,
    ) -> None:
        at = table.index.get(digest)
        if at is None or digest in table.key_names or not isinstance(table.columns[at].kind, Identifier):
            raise TypeError(f"{table.name}: {digest!r} is not an identifier beside the key")
        if table.changes.update or table.changes.put:
            raise TypeError(f"{table.name}: what a key stands for never changes")
        self.table = table
        self._digest = digest
        self._conflict = conflict

    def find(self, reader: Reader, *key: Any, digest: str) -> M | None:
        """The row of the request that was made under `key`; None if there was none.

        Raises the domain's `IdempotencyConflict` if that was a request with another digest; `InvalidArgument` for a
        key or digest that the table can't have.
        """
        self.table.check_value(self._digest, digest)
        entry = reader.get(self.table, *key)
        if entry is not None and getattr(entry, self._digest) != digest:
            raise self._conflict(f"{self.table.show(key)} is the key of another request")
        return entry

    def keep(self, transaction: Transaction, entry: M) -> M:
        """Keep the row of a request that the same transaction carries out. `AlreadyExists` if its key has one."""
        transaction.insert(self.table, entry)
        return entry

    def once(self, engine: Engine, *key: Any, digest: str, effect: Callable[[Transaction], M]) -> Once[M]:
        """Carry a request out, unless it was: its row, once that is durable together with all that `effect` wrote.

        `effect` carries it out, and returns the row to keep, with this key and digest; it is not called for a replay,
        and may be called again where rivals won (T4). What it raises comes out as it is, and nothing is kept. Raises
        as `find`; `InvalidArgument` for a row with another key or digest; `Unsupported` on a single-record engine.
        """
        engine.require(Strength.MULTI_RECORD, f"idempotency by {self.table.name}")

        def change(transaction: Transaction) -> Once[M]:
            known = self.find(transaction, *key, digest=digest)
            if known is not None:
                return transaction.abandon(Once(known, True))
            entry = effect(transaction)
            self.table.check_type(entry)
            if self.table.key_in(entry) != key or getattr(entry, self._digest) != digest:
                raise InvalidArgument(f"{self.table.name}: the row made for a request has another key or digest")
            return Once(self.keep(transaction, entry), False)

        return engine.write(change)
