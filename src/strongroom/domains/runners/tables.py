"""The tables of runners. The fleet leads every key, so that nothing of a fleet can be reached from another one.

What a fence counts is a range of rows that are only ever inserted and deleted: it is cheap to count on every engine,
also where a transaction holds a hundred items. These rows are written in the transaction of the attempt that they
follow from, and `SUBJECT` lets ``strongroom verify`` check them against it in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

from strongroom.domains.runners.attempts import MAX_SLOT, RunnerAttempt, attempt_refusal
from strongroom.domains.runners.hosts import FleetName, Host, Id, host_refusal
from strongroom.domains.runners.policies import ScalePolicy, policy_refusal
from strongroom.domains.runners.refusals import Invalid
from strongroom.domains.runners.words import Standing
from strongroom.errors import Corrupt
from strongroom.patterns import OrderedMapping, Subject
from strongroom.records import MEMBERSHIP, REPLACEABLE, Integer, Record, Schema, Table

R = TypeVar("R", bound=Record)
M = TypeVar("M", bound=Record)


class AttemptStanding(Record):
    """An attempt under its policy and what it still holds. Every attempt has exactly one."""

    fleet: FleetName
    policy_id: Id
    standing: Standing
    attempt_id: Id


class EphemeralAttempt(Record):
    """An ephemeral attempt that is not cleaned, whatever its policy."""

    fleet: FleetName
    attempt_id: Id


class SlotLease(Record):
    """Who holds a slot of a policy: a persistent attempt that is not cleaned. Its insertion decides."""

    fleet: FleetName
    policy_id: Id
    slot: Annotated[int, Integer(1, MAX_SLOT)]
    attempt_id: Id


def _told(refusal: Callable[[R], Invalid | None]) -> Callable[[R], str | None]:
    """A refusal as a table's rule."""

    def rule(record: R) -> str | None:
        found = refusal(record)
        return None if found is None else str(found)

    return rule


HOSTS: Final = Table("runners_hosts", Host, key=("fleet", "id"), scope=1, changes=REPLACEABLE, rule=_told(host_refusal))
POLICIES: Final = Table(
    "runners_policies", ScalePolicy, key=("fleet", "id"), scope=1, changes=REPLACEABLE, rule=_told(policy_refusal)
)
ATTEMPTS: Final = Table(
    "runners_attempts", RunnerAttempt, key=("fleet", "id"), scope=1, changes=REPLACEABLE, rule=_told(attempt_refusal)
)
STANDINGS: Final = Table(
    "runners_standings",
    AttemptStanding,
    key=("fleet", "policy_id", "standing", "attempt_id"),
    scope=1,
    changes=MEMBERSHIP,
)
EPHEMERALS: Final = Table(
    "runners_ephemerals", EphemeralAttempt, key=("fleet", "attempt_id"), scope=1, changes=MEMBERSHIP
)
LEASES: Final = Table("runners_slot_leases", SlotLease, key=("fleet", "policy_id", "slot"), scope=1, changes=MEMBERSHIP)

SCHEMA: Final = Schema("runners", HOSTS, POLICIES, ATTEMPTS, STANDINGS, EPHEMERALS, LEASES)
"""All tables of the domain."""


def standing_of(attempt: RunnerAttempt) -> AttemptStanding:
    """The row that says what the attempt still holds."""
    return AttemptStanding(attempt.fleet, attempt.policy_id, attempt.state.standing, attempt.id)


def ephemeral_of(attempt: RunnerAttempt) -> EphemeralAttempt | None:
    """The row that counts the attempt for its host; None if nothing of it lies under the host's runner root."""
    counts = attempt.is_ephemeral and attempt.state.is_uncleaned
    return EphemeralAttempt(attempt.fleet, attempt.id) if counts else None


def lease_of(attempt: RunnerAttempt) -> SlotLease | None:
    """The row by which the attempt holds its slot; None if it holds none."""
    if not attempt.holds_slot_lease or attempt.workspace_slot is None:
        return None
    return SlotLease(attempt.fleet, attempt.policy_id, attempt.workspace_slot, attempt.id)


class _Following(OrderedMapping[RunnerAttempt, M]):
    """The other direction: an attempt has the row that follows from it, where one does, and no row where none does."""

    def __init__(
        self,
        table: Table[M],
        *,
        locate: Callable[[RunnerAttempt], Sequence[Any]],
        follows: Callable[[RunnerAttempt], M | None],
        holder: Callable[[M], str],
    ) -> None:
        super().__init__(ATTEMPTS, table, locate=locate, agrees=lambda attempt, row: follows(attempt) == row)
        self._follows = follows
        self._holder = holder

    def fault(self, entry: RunnerAttempt, record: M | None) -> Corrupt | None:
        mine = record if record is not None and self._holder(record) == entry.id else None
        if mine == self._follows(entry):
            return None
        key = ATTEMPTS.key_in(entry)
        wrong = "lacks its row in" if mine is None else "has a row that it should not have in"
        return Corrupt(f"{ATTEMPTS.show(key)} {wrong} {self.table.name}", table=ATTEMPTS.name, key=key)


BY_STANDING: Final = OrderedMapping(
    STANDINGS,
    ATTEMPTS,
    locate=lambda row: (row.fleet, row.attempt_id),
    agrees=lambda row, attempt: row == standing_of(attempt),
)
BY_EPHEMERAL: Final = OrderedMapping(
    EPHEMERALS,
    ATTEMPTS,
    locate=lambda row: (row.fleet, row.attempt_id),
    agrees=lambda row, attempt: row == ephemeral_of(attempt),
)
BY_LEASE: Final = OrderedMapping(
    LEASES,
    ATTEMPTS,
    locate=lambda row: (row.fleet, row.attempt_id),
    agrees=lambda row, attempt: row == lease_of(attempt),
)

SUBJECT: Final = Subject(
    SCHEMA,
    mappings=(
        BY_STANDING,
        BY_EPHEMERAL,
        BY_LEASE,
        _Following(
            STANDINGS,
            locate=lambda attempt: (attempt.fleet, attempt.policy_id, attempt.state.standing, attempt.id),
            follows=standing_of,
            holder=lambda row: row.attempt_id,
        ),
        _Following(
            EPHEMERALS,
            locate=lambda attempt: (attempt.fleet, attempt.id),
            follows=ephemeral_of,
            holder=lambda row: row.attempt_id,
        ),
        _Following(
            LEASES,
            locate=lambda attempt: (attempt.fleet, attempt.policy_id, attempt.workspace_slot or 1),
            follows=lease_of,
            holder=lambda row: row.attempt_id,
        ),
    ),
)
"""What must hold in a store of this domain, for the operator's tools."""
