"""The store of one fleet: hosts, scale policies and the journal of attempts, and the fences between them.

Whatever a write depends on is checked in its own transaction: a revision, a count of attempts, a runner root, a slot.
Where a check fails nothing is written, and the fault says what was expected and what was found.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from strongroom.domains.runners import journal
from strongroom.domains.runners.attempts import MAX_SLOT, RunnerAttempt, repaired
from strongroom.domains.runners.checks import check_attempt, check_count, check_host, check_policy, check_revision
from strongroom.domains.runners.dump import dump_text
from strongroom.domains.runners.faults import (
    ActiveCountChanged,
    AlreadyExists,
    NotFound,
    RunnerRootChanged,
    StaleRevision,
    UncleanedCountChanged,
)
from strongroom.domains.runners.hosts import Host
from strongroom.domains.runners.paths import local_absolute_path
from strongroom.domains.runners.policies import ScalePolicy
from strongroom.domains.runners.reading import in_our_words, walk
from strongroom.domains.runners.tables import (
    ATTEMPTS,
    BY_EPHEMERAL,
    BY_LEASE,
    BY_STANDING,
    EPHEMERALS,
    HOSTS,
    LEASES,
    POLICIES,
    SCHEMA,
    STANDINGS,
)
from strongroom.domains.runners.words import Standing
from strongroom.engine import Engine, Reader, Strength, Transaction
from strongroom.errors import InvalidArgument, clip
from strongroom.patterns import OrderedMapping, ScopedTable
from strongroom.records import MAX_LIMIT, Record

T = TypeVar("T")
M = TypeVar("M", bound=Record)

_log: Final = logging.getLogger("strongroom.runners")

Check = Callable[[Transaction], None]


class RunnerStore:
    """The hosts, policies and attempts of one fleet; nothing of another can be seen or touched through it (S1).

    Making one asks the engine nothing, and a fleet needs no registration; `InvalidArgument` for a name that is empty or
    has more than 255 bytes (S3). Threads may share one (C1), and any number of stores in any number of processes may be
    open on a fleet. Times are Unix milliseconds.

    Every write raises, before the engine is asked, `ScopeMismatch` for another fleet's record (S2), the domain's
    `Invalid` for a record that contradicts itself, and `InvalidArgument` for a value that a column can't hold
    (`UnrepresentableInteger` beyond 63 bits). Every read and write raises `CorruptColumn`, `CorruptHost`,
    `CorruptHostWorkspace`, `CorruptPolicy` or `CorruptAttempt` for a row that is not what it has to be (R4), and
    `strongroom.Corrupt` where two rows contradict each other. A list is one moment of the store, and one corrupt row
    fails it whole.
    """

    def __init__(self, engine: Engine, fleet: str) -> None:
        self.engine = engine
        self.fleet = fleet
        self._hosts = ScopedTable(engine, HOSTS, (fleet,))
        self._policies = ScopedTable(engine, POLICIES, (fleet,))
        self._attempts = ScopedTable(engine, ATTEMPTS, (fleet,))
        self._repairs = 0
        self._repairing = threading.Lock()

    def __repr__(self) -> str:
        return f"<runner store of {self.fleet!r} in {self.engine!r}>"

    @property
    def clock_skew_repairs(self) -> int:
        """How many times of attempts this object had to move up to `created_at`, on writing and on reading."""
        return self._repairs

    # Hosts

    def put_host(self, host: Host) -> Host:
        """Keep a host, over every column of what is stored but `created_at`; returns it as it is stored now.

        It overwrites what others have changed since the host was read: change a runner root by
        `set_runner_root_override`, and anything else of a host that others change too by `change_host`.
        """
        check_host(self._hosts, host)

        def change(transaction: Transaction) -> Host:
            stored = transaction.get(HOSTS, self.fleet, host.id)
            kept = host if stored is None else host.replace(created_at=stored.created_at)
            transaction.put(HOSTS, kept)
            return kept

        return self._write(change)

    def change_host(self, id: str, change: Callable[[Host | None], Host]) -> Host:
        """Keep what `change` makes of the stored host, in one transaction: nothing that others write meanwhile is lost.

        Arguments:
            change: gets the host, None where there is none, and gives the one to keep, whose `created_at` and
                `runner_root_override` are only its own where there was none. It may run more than once.

        Returns the host as it is now. Raises what `change` does, nothing written; `InvalidArgument` for another id.
        """

        def write(transaction: Transaction) -> Host:
            stored = transaction.get(HOSTS, self.fleet, id)
            made = change(stored)
            check_host(self._hosts, made)
            if made.id != id:
                raise InvalidArgument(f"the changed host has the id {clip(made.id)}, not {clip(id)}")
            if stored is not None:
                made = made.replace(created_at=stored.created_at, runner_root_override=stored.runner_root_override)
            if made != stored:
                transaction.put(HOSTS, made)
            return made

        return self._write(write)

    def host(self, id: str) -> Host | None:
        """One host, or None."""
        return in_our_words(self.engine, lambda: self._hosts.find(id))

    def hosts(self) -> list[Host]:
        """Every host, oldest first, then by id."""
        hosts = self._read(lambda reader: list(walk(reader, HOSTS, self.fleet)))
        return sorted(hosts, key=lambda host: host.created_at)

    def set_runner_root_override(
        self, id: str, expected: str | None, new_root: str | None, expected_uncleaned: int
    ) -> Host:
        """Change a host's runner root and nothing else, while it is as `expected` and the count of attempts holds.

        From a root to the same one nothing changes, and both are checked all the same. Returns the host as it is now.

        Arguments:
            expected: the root that the caller read; None is the system's default.
            new_root: the root to keep, brought to normal form; None for the system's default.
            expected_uncleaned: how many `uncleaned_ephemeral_attempts` the caller saw.

        Raises, nothing written, `NotFound`, then `RunnerRootChanged`, then `UncleanedCountChanged`; `InvalidPath` for
        a new root that is no path of the host's system.
        """
        check_count(expected_uncleaned)

        def change(transaction: Transaction) -> Host:
            host = transaction.get(HOSTS, self.fleet, id)
            if host is None:
                raise NotFound("host", id)
            new = None if new_root is None else local_absolute_path(new_root, host.os)
            if host.runner_root_override != expected:
                raise RunnerRootChanged(id, expected, host.runner_root_override)
            found = journal.count_uncleaned_ephemeral(transaction, self.fleet)
            if found != expected_uncleaned:
                raise UncleanedCountChanged("host", id, expected_uncleaned, found)
            changed = host.replace(runner_root_override=new)
            if changed != host:
                transaction.put(HOSTS, changed)
            return changed

        return self._write(change)

    # Policies

    def insert_policy(self, policy: ScalePolicy) -> None:
        """Keep a new policy as it is, its revision too. Raises `AlreadyExists`, what is stored untouched."""
        check_policy(self._policies, policy)

        def change(transaction: Transaction) -> None:
            if transaction.get(POLICIES, self.fleet, policy.id) is not None:
                raise AlreadyExists("policy", policy.id)
            transaction.insert(POLICIES, policy)

        self._write(change)

    def update_policy(self, policy: ScalePolicy, expected_revision: int) -> None:
        """Put a changed policy over the stored one, if that has the revision that the caller read.

        `policy` carries the revision that it is to have: every change of a record advances it by one. Raises, nothing
        written, `NotFound` or `StaleRevision`.
        """
        self._update(policy, expected_revision, lambda _transaction: None)

    def update_policy_confirming_active_count(
        self, policy: ScalePolicy, expected_revision: int, expected_active: int
    ) -> None:
        """As `update_policy`, if the policy has so many `active_attempts_for_policy` too.

        Raises, nothing written, `NotFound`, then `StaleRevision`, then `ActiveCountChanged`.
        """
        check_count(expected_active)

        def confirm(transaction: Transaction) -> None:
            found = journal.count_active(transaction, self.fleet, policy.id)
            if found != expected_active:
                raise ActiveCountChanged(policy.id, expected_active, found)

        self._update(policy, expected_revision, confirm)

    def update_policy_confirming_uncleaned_count(
        self, policy: ScalePolicy, expected_revision: int, expected_uncleaned: int
    ) -> None:
        """As `update_policy`, if the policy has so many `uncleaned_attempts_for_policy` too.

        Raises, nothing written, `NotFound`, then `StaleRevision`, then `UncleanedCountChanged`.
        """
        check_count(expected_uncleaned)

        def confirm(transaction: Transaction) -> None:
            found = journal.count_uncleaned(transaction, self.fleet, policy.id)
            if found != expected_uncleaned:
                raise UncleanedCountChanged("policy", policy.id, expected_uncleaned, found)

        self._update(policy, expected_revision, confirm)

    def remove_policy(self, id: str, expected_revision: int) -> None:
        """Remove a policy, if it has the revision that the caller read. Its attempts stay.

        Raises, nothing written, `NotFound` or `StaleRevision`.
        """
        check_revision(expected_revision)

        def change(transaction: Transaction) -> None:
            self._check_revision(transaction, id, expected_revision)
            transaction.delete(POLICIES, self.fleet, id)

        self._write(change)

    def policy(self, id: str) -> ScalePolicy | None:
        """One policy, or None."""
        return in_our_words(self.engine, lambda: self._policies.find(id))

    def policies(self) -> list[ScalePolicy]:
        """Every policy, by id."""
        return self._read(lambda reader: list(walk(reader, POLICIES, self.fleet)))

    # Attempts

    def record_attempt(self, attempt: RunnerAttempt, *, while_revision: int | None = None) -> RunnerAttempt:
        """Keep an attempt, new or over the stored one but for its `created_at` and workspace; returns what is stored.

        There is no revision: the agent that runs the attempts is the journal's only writer. Its policy need not exist.
        A `last_state_change_at` or `terminal_at` before `created_at` is moved up to it, see `clock_skew_repairs`.

        Arguments:
            while_revision: the policy's revision that the attempt was made under; it is written only while the policy
                has it, so that no attempt slips in behind a change that was made because there was none.

        Raises, nothing written, `SlotAlreadyLeased`; `UnrepresentablePath` for a path that is no UTF-8 text; with
        `while_revision` also `NotFound` and `StaleRevision`.
        """
        check_attempt(self._attempts, attempt)
        if while_revision is not None:
            check_revision(while_revision)

        def change(transaction: Transaction) -> journal.Written:
            if while_revision is not None:
                self._check_revision(transaction, attempt.policy_id, while_revision)
            return journal.record(transaction, attempt)

        return self._count_repairs(self._write(change))

    def allocate_slot(
        self,
        policy_id: str,
        make: Callable[[int], RunnerAttempt],
        *,
        slots: int = MAX_SLOT,
        while_revision: int | None = None,
    ) -> RunnerAttempt:
        """Keep a new attempt in the lowest free slot of a policy, and return it: no slot is ever given twice.

        Arguments:
            make: builds the attempt for the slot that it gets; called again where a rival took that slot.
            slots: the highest slot that may be given, 1 to 65,535.
            while_revision: as in `record_attempt`.

        Raises, nothing written, `NoFreeSlot`, `AlreadyExists` for an attempt that is known, `InvalidArgument` for one
        that was made for another policy or slot, and as `record_attempt`.
        """
        if type(slots) is not int or not 1 <= slots <= MAX_SLOT:
            raise InvalidArgument(f"slots: expected an integer from 1 to {MAX_SLOT}")
        if while_revision is not None:
            check_revision(while_revision)

        def change(transaction: Transaction) -> journal.Written:
            if while_revision is not None:
                self._check_revision(transaction, policy_id, while_revision)
            slot = journal.lowest_free_slot(transaction, self.fleet, policy_id, slots)
            attempt = make(slot)
            check_attempt(self._attempts, attempt)
            if (attempt.policy_id, attempt.workspace_slot, attempt.holds_slot_lease) != (policy_id, slot, True):
                raise InvalidArgument(f"the attempt made for slot {slot} is of another policy or slot, or is cleaned")
            if transaction.get(ATTEMPTS, self.fleet, attempt.id) is not None:
                raise AlreadyExists("attempt", attempt.id)
            return journal.record(transaction, attempt)

        return self._count_repairs(self._write(change))

    def attempt(self, id: str) -> RunnerAttempt | None:
        """One attempt, or None."""
        found = in_our_words(self.engine, lambda: self._attempts.find(id))
        return None if found is None else self._repair([found])[0]

    def attempts(self) -> list[RunnerAttempt]:
        """Every attempt, oldest first, then by id: what the recovery begins with."""
        return self._repair(self._read(lambda reader: list(walk(reader, ATTEMPTS, self.fleet))))

    def attempts_for_policy(self, policy_id: str) -> list[RunnerAttempt]:
        """Every attempt of a policy, oldest first, then by id."""
        return self._standing(policy_id, *Standing)

    def active_attempts_for_policy(self, policy_id: str) -> list[RunnerAttempt]:
        """The attempts of a policy that count against its host's capacity, oldest first, then by id."""
        return self._standing(policy_id, Standing.ACTIVE)

    def uncleaned_attempts_for_policy(self, policy_id: str) -> list[RunnerAttempt]:
        """The attempts of a policy that are not cleaned, oldest first, then by id: the active ones, and others."""
        return self._standing(policy_id, Standing.ACTIVE, Standing.CONCLUDED)

    def slot_leases_for_policy(self, policy_id: str) -> list[RunnerAttempt]:
        """The attempts that hold a slot of the policy, oldest first, then by id: persistent ones that are not cleaned.

        One whose cleanup has failed is among them. No filesystem is asked.
        """
        return self._listed(BY_LEASE, lambda reader: walk(reader, LEASES, self.fleet, policy_id))

    def uncleaned_ephemeral_attempts(self) -> list[RunnerAttempt]:
        """The ephemeral attempts that are not cleaned, whatever their policies, oldest first, then by id.

        They are those whose directories lie under the host's runner root, also where the policy is gone. In a fleet of
        several hosts they are counted for each of them: nothing says any more whose an attempt without a policy was.
        """
        return self._listed(BY_EPHEMERAL, lambda reader: walk(reader, EPHEMERALS, self.fleet))

    def uncleaned_attempts(self) -> list[RunnerAttempt]:
        """Every attempt that is not cleaned, whatever its policy, oldest first, then by id. History is not read."""

        def look(reader: Reader) -> list[RunnerAttempt]:
            ephemeral = _records(reader, BY_EPHEMERAL, list(walk(reader, EPHEMERALS, self.fleet)))
            return ephemeral + _records(reader, BY_LEASE, list(walk(reader, LEASES, self.fleet)))

        return self._repair(self._read(look))

    def remove_attempt(self, id: str) -> bool:
        """Forget an attempt, and the slot that it holds: whether it was there."""
        return self._write(lambda transaction: journal.remove(transaction, self.fleet, id))

    # The whole

    def dump_text(self) -> str:
        """Every row of the fleet as text, see `dump`; columns that are sensitive are hidden."""
        return self._read(lambda reader: dump_text(reader, self.fleet))

    # How it is done.

    def _read(self, look: Callable[[Reader], T]) -> T:
        return in_our_words(self.engine, lambda: self.engine.read(look))

    def _write(self, change: Callable[[Transaction], T]) -> T:
        return in_our_words(self.engine, lambda: self.engine.write(change))

    def _update(self, policy: ScalePolicy, expected_revision: int, confirm: Check) -> None:
        check_policy(self._policies, policy)
        check_revision(expected_revision)

        def change(transaction: Transaction) -> None:
            self._check_revision(transaction, policy.id, expected_revision)
            confirm(transaction)
            transaction.put(POLICIES, policy)

        self._write(change)

    def _check_revision(self, transaction: Transaction, policy_id: str, expected: int) -> None:
        stored = transaction.get(POLICIES, self.fleet, policy_id)
        if stored is None:
            raise NotFound("policy", policy_id)
        if stored.revision != expected:
            raise StaleRevision(policy_id, expected, stored.revision)

    def _standing(self, policy_id: str, *standings: Standing) -> list[RunnerAttempt]:
        return self._listed(
            BY_STANDING,
            lambda reader: (
                row for standing in standings for row in walk(reader, STANDINGS, self.fleet, policy_id, standing)
            ),
        )

    def _listed(
        self, mapping: OrderedMapping[M, RunnerAttempt], entries: Callable[[Reader], Iterable[M]]
    ) -> list[RunnerAttempt]:
        return self._repair(self._read(lambda reader: _records(reader, mapping, list(entries(reader)))))

    def _repair(self, attempts: Iterable[RunnerAttempt]) -> list[RunnerAttempt]:
        whole = [self._count_repairs(journal.Written(*repaired(attempt))) for attempt in attempts]
        return sorted(whole, key=lambda attempt: (attempt.created_at, attempt.id.encode()))

    def _count_repairs(self, written: journal.Written) -> RunnerAttempt:
        if written.repairs:
            with self._repairing:
                self._repairs += written.repairs
            _log.warning("%r: %d times were before created_at", written.attempt, written.repairs)
        return written.attempt


def _records(reader: Reader, mapping: OrderedMapping[M, RunnerAttempt], entries: list[M]) -> list[RunnerAttempt]:
    pages = (entries[at : at + MAX_LIMIT] for at in range(0, len(entries), MAX_LIMIT))
    return [attempt for page in pages for attempt in mapping.records(reader, page)]


class Runners:
    """The runners domain in an engine, and the way to each fleet's store."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def for_fleet(self, fleet: str) -> RunnerStore:
        """The store of one fleet, whose name has 1 to 255 bytes; `InvalidArgument` for another (S3)."""
        return RunnerStore(self.engine, fleet)


def open(engine: Engine) -> Runners:
    """The runners domain on an open engine, its tables made or brought up to date. Closing the engine is the caller's.

    It needs multi-record transactions: `Unsupported` on an engine without (T7). Else raises as `Engine.prepare`.
    """
    engine.require(Strength.MULTI_RECORD, "runners")
    engine.prepare(SCHEMA)
    return Runners(engine)
