"""A transaction whose engine's clock says what a case wants it to: leases run out without anybody waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from strongroom.engine import Engine, Transaction

T = TypeVar("T")


class _At:
    def __init__(self, transaction: Transaction, now: int) -> None:
        self._transaction = transaction
        self._now = now

    def now(self) -> int:
        return self._now

    def __getattr__(self, operation: str) -> Any:
        return getattr(self._transaction, operation)


def write_at(engine: Engine, now: int, change: Callable[[Transaction], T]) -> T:
    """As ``engine.write(change)``, but that the transaction's clock stands at `now`, in Unix milliseconds."""
    return engine.write(lambda transaction: change(cast("Transaction", _At(transaction, now))))
