"""Leases, queues and requests with one safeguard broken: whose turn it is, and what was done already."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.patterns import Idempotency, LeasedQueue, Leases, Once, Queue

MEMORY = Ground.MEMORY
BOTH = (Ground.MEMORY, Ground.SQLITE)


def _clients_clock(_self: Any, _transaction: Any) -> int:
    return time.time_ns() // 1_000_000


@mutant("T2", on=BOTH)
def lease_ends_by_the_client_s_clock(patch: Patches) -> None:
    """Whether a lease is live is told by the clock of whoever asks."""
    patch.method(Leases, "_now", _clients_clock)


@mutant("T2", on=BOTH)
def lease_token_not_raised(patch: Patches) -> None:
    """The next holder of a lease has the token of the last one."""
    lease = Leases._lease
    patch.method(Leases, "_lease", lambda self, name, holder, token, expires: lease(self, name, holder, 1, expires))


@mutant("T2", on=MEMORY)
def lease_given_again_to_its_holder(patch: Patches) -> None:
    """Who has a lease, or another of the same name, may acquire it again while it is live."""
    acquire = Leases.acquire_in

    def familiar(self: Any, transaction: Any, *name: Any, holder: str, for_ms: int) -> Any:
        last = transaction.get(self.table, *name)
        if last is not None and getattr(last, self._holder) == holder and self._is_live(transaction, last):
            return self.renew_in(transaction, last, for_ms)
        return acquire(self, transaction, *name, holder=holder, for_ms=for_ms)

    patch.method(Leases, "acquire_in", familiar)


@mutant("T2", on=MEMORY)
def lease_taken_from_its_holder(patch: Patches) -> None:
    """A lease is had by who asked last, whether it is live or not."""
    acquire, live = Leases.acquire_in, Leases._is_live

    def greedy(self: Any, transaction: Any, *name: Any, holder: str, for_ms: int) -> Any:
        Leases._is_live = lambda *_: False  # type: ignore[method-assign]
        try:
            return acquire(self, transaction, *name, holder=holder, for_ms=for_ms)
        finally:
            Leases._is_live = live  # type: ignore[method-assign]

    patch.method(Leases, "acquire_in", greedy)


def _holding(patch: Patches, holds: Callable[[Any, Any, Any, Any], bool]) -> None:
    """Have a lease count as held wherever `holds` says so, given the transaction, the lease and what is stored."""
    held = Leases._held

    def lenient(self: Any, transaction: Any, lease: Any) -> Any:
        stored = transaction.get(self.table, *self.table.key_in(lease))
        return stored if holds(self, transaction, lease, stored) else held(self, transaction, lease)

    patch.method(Leases, "_held", lenient)


@mutant("T2", on=MEMORY)
def lease_token_not_compared(patch: Patches) -> None:
    """A late write counts while anybody of the same name has the lease."""
    _holding(patch, lambda self, transaction, lease, stored: stored is not None and self._is_live(transaction, stored))


@mutant("T2", on=MEMORY)
def lease_s_end_not_looked_at(patch: Patches) -> None:
    """A lease that has ended is good until another one has it."""
    _holding(patch, lambda self, transaction, lease, stored: stored is not None and stored.token == lease.token)


@mutant("T2", on=MEMORY)
def lease_not_checked_in_the_write(patch: Patches) -> None:
    """A write that relies on a lease takes its holder's word."""
    patch.method(Leases, "check", lambda self, transaction, lease: None)


@mutant("T2", on=BOTH)
def claim_of_the_newest_first(patch: Patches) -> None:
    """A queue is served from its end."""
    patch.method(
        Queue,
        "ready",
        lambda self, transaction, *queue, limit: transaction.scan(self.table, *queue, limit=limit, reverse=True),
    )


@mutant("T2", on=BOTH)
def claim_of_what_was_seen_before(patch: Patches) -> None:
    """A claimer looks at the queue first, and takes what it saw in a transaction of its own, whether it is there."""

    def claim(self: Any, engine: Any, *queue: Any, limit: int = 1, take: Any) -> Any:
        seen = self.ready(engine, *queue, limit=limit)
        time.sleep(0.001)

        def change(transaction: Any) -> Any:
            for entry in seen:
                self._take(transaction, entry)
            return [take(transaction, entry) for entry in seen]

        return engine.write(change)

    patch.method(Queue, "claim", claim)


@mutant("T2", on=MEMORY)
def claim_that_leaves_the_work_there(patch: Patches) -> None:
    """What was claimed stays in the queue."""
    patch.method(Queue, "_take", lambda self, transaction, entry: True)


@mutant("T2", on=MEMORY)
def claim_kept_apart_from_its_effect(patch: Patches) -> None:
    """Work is taken out of the queue in one transaction, and what becomes of it is written in the next."""

    def claim(self: Any, engine: Any, *queue: Any, limit: int = 1, take: Any) -> Any:
        entries = engine.write(lambda transaction: self.claim_in(transaction, *queue, limit=limit))
        return engine.write(lambda transaction: [take(transaction, entry) for entry in entries])

    patch.method(Queue, "claim", claim)


@mutant("T2", on=MEMORY)
def claim_of_another_queue_s_work(patch: Patches) -> None:
    """A claimer whose queue is empty takes what waits in another one."""
    ready = Queue.ready
    patch.method(
        Queue,
        "ready",
        lambda self, transaction, *queue, limit: (
            ready(self, transaction, *queue, limit=limit) or transaction.scan(self.table, limit=limit)
        ),
    )


@mutant("T2", on=MEMORY)
def claim_ready_by_the_client_s_clock(patch: Patches) -> None:
    """When work is ready is told by the clock of whoever asks."""
    patch.method(Queue, "_now", _clients_clock)


@mutant("T2", on=MEMORY)
def claim_finished_whoever_has_it(patch: Patches) -> None:
    """A late worker finishes what another one has claimed since."""

    def careless(self: Any, transaction: Any, claim: Any) -> None:
        self._take(transaction, claim)

    patch.method(LeasedQueue, "finish", careless)


@mutant("T2", on=MEMORY)
def claim_token_not_raised(patch: Patches) -> None:
    """Work that is given again has the token that it had."""
    put = LeasedQueue._put

    def stuck(self: Any, transaction: Any, entry: Any, in_ms: int, **claimed: Any) -> Any:
        return put(self, transaction, entry, in_ms, **{**claimed, self._token: 1})

    patch.method(LeasedQueue, "_put", stuck)


@mutant("T1", on=BOTH)
def replay_ignores_the_digest(patch: Patches) -> None:
    """Another request under a key gets the first one's result."""
    patch.method(Idempotency, "find", lambda self, reader, *key, digest: reader.get(self.table, *key))


def _once(patch: Patches, broken: Callable[..., Any]) -> None:
    patch.method(Idempotency, "once", broken)


@mutant("T1", on=MEMORY)
def replay_carried_out_again(patch: Patches) -> None:
    """A request that is made again is carried out again, and its row is kept once."""

    def again(self: Any, engine: Any, *key: Any, digest: str, effect: Any) -> Any:
        def change(transaction: Any) -> Any:
            known = self.find(transaction, *key, digest=digest)
            entry = effect(transaction)
            return Once(known, True) if known else Once(self.keep(transaction, entry), False)

        return engine.write(change)

    _once(patch, again)


@mutant("T1", on=MEMORY)
def request_kept_apart_from_its_effect(patch: Patches) -> None:
    """A request's row is kept in a transaction of its own, after the one of its effect."""

    def apart(self: Any, engine: Any, *key: Any, digest: str, effect: Any) -> Any:
        known = self.find(engine, *key, digest=digest)
        if known is not None:
            return Once(known, True)
        entry = engine.write(effect)
        return Once(engine.write(lambda transaction: self.keep(transaction, entry)), False)

    _once(patch, apart)


@mutant("T1", on=MEMORY)
def request_kept_under_another_key(patch: Patches) -> None:
    """Nobody looks whether the row of a request has its key and digest."""

    def trusting(self: Any, engine: Any, *key: Any, digest: str, effect: Any) -> Any:
        def change(transaction: Any) -> Any:
            known = self.find(transaction, *key, digest=digest)
            if known is not None:
                return transaction.abandon(Once(known, True))
            return Once(self.keep(transaction, effect(transaction)), False)

        return engine.write(change)

    _once(patch, trusting)


@mutant("T5", on=Ground.WATCHED)
def replay_that_commits(patch: Patches) -> None:
    """A replay writes what is there already, and so costs a flush."""
    once = Idempotency.once

    def eager(self: Any, engine: Any, *key: Any, digest: str, effect: Any) -> Any:
        known = self.find(engine, *key, digest=digest)
        if known is None:
            return once(self, engine, *key, digest=digest, effect=effect)
        engine.insert(self.table, known.replace(**{self.table.key_names[-1]: f"seen {time.time_ns()}"}))
        return Once(known, True)

    _once(patch, eager)
