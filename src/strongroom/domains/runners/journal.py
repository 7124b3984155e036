"""The journal of attempts inside a transaction: an attempt's own row, and with it the rows that follow from it.

Nothing else writes attempts. So the counts that fences ask for, and who holds which slot, are true whenever the
attempts are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from strongroom.domains.runners.attempts import MAX_SLOT, RunnerAttempt, repaired
from strongroom.domains.runners.faults import NoFreeSlot, SlotAlreadyLeased
from strongroom.domains.runners.reading import count_exactly, walk
from strongroom.domains.runners.tables import (
    ATTEMPTS,
    EPHEMERALS,
    LEASES,
    STANDINGS,
    ephemeral_of,
    lease_of,
    standing_of,
)
from strongroom.domains.runners.words import Standing
from strongroom.engine import Reader, Transaction
from strongroom.patterns import UniqueMapping
from strongroom.records import Record, Table

R = TypeVar("R", bound=Record)

_LEASES = UniqueMapping(LEASES)


@dataclass(frozen=True, slots=True)
class Written:
    """An attempt as it is stored now, and how many of its times had to be repaired for that."""

    attempt: RunnerAttempt
    repairs: int


def record(transaction: Transaction, attempt: RunnerAttempt) -> Written:
    """Keep the attempt, over whatever is stored under its id, but for what never changes.

    Raises `SlotAlreadyLeased`, nothing written, if another attempt holds its slot.
    """
    stored = transaction.get(ATTEMPTS, attempt.fleet, attempt.id)
    if stored is not None:
        attempt = attempt.replace(
            created_at=stored.created_at,
            workspace_mode=stored.workspace_mode,
            workspace_slot=stored.workspace_slot,
        )
    attempt, repairs = repaired(attempt)
    if stored != attempt:
        _lease(transaction, stored, attempt)
        if stored is None:
            transaction.insert(ATTEMPTS, attempt)
        else:
            transaction.put(ATTEMPTS, attempt)
        _move(transaction, STANDINGS, standing_of(stored) if stored else None, standing_of(attempt))
        _move(transaction, EPHEMERALS, ephemeral_of(stored) if stored else None, ephemeral_of(attempt))
    return Written(attempt, repairs)


def remove(transaction: Transaction, fleet: str, id: str) -> bool:
    """Remove an attempt, and what follows from it: whether it was there."""
    stored = transaction.get(ATTEMPTS, fleet, id)
    if stored is None:
        return transaction.abandon(False)
    transaction.delete(ATTEMPTS, fleet, id)
    _move(transaction, STANDINGS, standing_of(stored), None)
    _move(transaction, EPHEMERALS, ephemeral_of(stored), None)
    _move(transaction, LEASES, lease_of(stored), None)
    return True


def lowest_free_slot(reader: Reader, fleet: str, policy_id: str, slots: int = MAX_SLOT) -> int:
    """The lowest slot, from 1 to `slots`, that no attempt holds; `NoFreeSlot` if all are held."""
    free = 1
    for lease in walk(reader, LEASES, fleet, policy_id):
        if lease.slot > free:
            break
        free = lease.slot + 1
    if free > slots:
        raise NoFreeSlot(policy_id, slots)
    return free


def count_active(reader: Reader, fleet: str, policy_id: str) -> int:
    """How many attempts of the policy count against capacity."""
    return count_exactly(reader, STANDINGS, fleet, policy_id, Standing.ACTIVE)


def count_uncleaned(reader: Reader, fleet: str, policy_id: str) -> int:
    """How many attempts of the policy are not cleaned."""
    concluded = count_exactly(reader, STANDINGS, fleet, policy_id, Standing.CONCLUDED)
    return count_active(reader, fleet, policy_id) + concluded


def count_uncleaned_ephemeral(reader: Reader, fleet: str) -> int:
    """How many ephemeral attempts are not cleaned, whatever their policies."""
    return count_exactly(reader, EPHEMERALS, fleet)


def _lease(transaction: Transaction, stored: RunnerAttempt | None, attempt: RunnerAttempt) -> None:
    held, wanted = None if stored is None else lease_of(stored), lease_of(attempt)
    if held == wanted:
        return
    if wanted is not None:
        owner = _LEASES.claim(transaction, wanted)
        if owner != wanted:
            raise SlotAlreadyLeased(wanted.policy_id, wanted.slot, wanted.attempt_id, owner.attempt_id)
    if held is not None:
        _LEASES.release(transaction, held)


def _move(transaction: Transaction, table: Table[R], old: R | None, new: R | None) -> None:
    if old == new:
        return
    if old is not None:
        transaction.delete(table, *table.key_in(old))
    if new is not None:
        transaction.insert(table, new)
