"""T2 for who waits for a turn: a lease has one holder, and each piece of work one worker, in order."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from functools import partial

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.pattern_tables import (
    CLAIMED,
    EFFECTS,
    JOBS,
    LEASED,
    LEASES,
    QUEUE,
    TASKS,
    Claimant,
    Effect,
    Job,
    Task,
    another,
    prepared,
)
from strongroom.conformance.threads import Ended, errors_of, together
from strongroom.conformance.timed import write_at
from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import Conflict, Unsupported
from strongroom.patterns import ClaimLost, LeaseHeld, LeaseLost

NAME = ("t", "dispatcher")
NOW = 1_000_000


def acquire(engine: Engine, holder: str, now: int) -> Claimant:
    """The lease, for a second, where the engine's clock stands at `now`."""
    return write_at(engine, now, lambda transaction: LEASES.acquire_in(transaction, *NAME, holder=holder, for_ms=1000))


@case("T2", strength=Strength.MULTI_RECORD)
def a_live_lease_has_one_holder_by_the_engine_s_clock(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    checks.equal(acquire(engine, "a", NOW), Claimant(*NAME, "a", 1, NOW + 1000), "the lease")
    for holder in ("b", "a"):
        fault = checks.raises(LeaseHeld, f"{holder} at its last millisecond", acquire, engine, holder, NOW + 999)
        checks.equal((fault.retryable, fault.expires_at), (True, NOW + 1000), "what the fault says")
    checks.equal(acquire(engine, "b", NOW + 1000), Claimant(*NAME, "b", 2, NOW + 2000), "the lease when it has ended")


@case("T2", strength=Strength.MULTI_RECORD)
def every_holder_of_a_lease_has_a_greater_token_also_after_a_release(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    tokens = []
    for turn in range(4):
        lease = acquire(engine, "a", NOW + turn)
        tokens.append(lease.token)
        released = [write_at(engine, NOW + turn, partial(LEASES.release_in, lease=lease)) for _ in range(2)]
        checks.equal(released, [True, False], "whether it was released, twice")
    checks.equal(tokens, [1, 2, 3, 4], "tokens")


@case("T2", strength=Strength.MULTI_RECORD)
def a_late_write_under_a_lease_that_ended_is_refused_and_nothing_kept(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)

    def work(transaction: Transaction, lease: Claimant, name: str) -> None:
        transaction.insert(EFFECTS, Effect("t", name))
        LEASES.check(transaction, lease)

    old = acquire(engine, "a", NOW)
    write_at(engine, NOW + 999, partial(work, lease=old, name="in time"))
    checks.raises(LeaseLost, "at its end", write_at, engine, NOW + 1000, partial(work, lease=old, name="late"))
    checks.raises(
        LeaseLost, "a renewal at its end", write_at, engine, NOW + 1000, partial(LEASES.renew_in, lease=old, for_ms=9)
    )
    new = acquire(engine, "a", NOW + 1000)
    fault = checks.raises(LeaseLost, "by token", write_at, engine, NOW + 1001, partial(work, lease=old, name="later"))
    checks.equal(fault.retryable, False, "whether it may be tried again")
    checks.equal(write_at(engine, NOW + 1001, partial(LEASES.release_in, lease=old)), False, "a release by token")
    renewed = write_at(engine, NOW + 1999, partial(LEASES.renew_in, lease=new, for_ms=1000))
    checks.equal((renewed.token, renewed.expires_at), (2, NOW + 2999), "the token and the end of what was renewed")
    write_at(engine, NOW + 2998, partial(work, lease=new, name="renewed"))
    checks.equal([one.name for one in engine.scan(EFFECTS, "t", limit=9)], ["in time", "renewed"], "what was kept")


@case("T2", strength=Strength.MULTI_RECORD)
def of_many_who_ask_for_a_lease_at_once_one_has_it(kit: Kit) -> None:
    engines = [prepared(kit, CLAIMED), another(kit, CLAIMED)]
    calls = [
        partial(LEASES.acquire, engines[one % 2], *NAME, holder=f"holder {one}", for_ms=600_000) for one in range(6)
    ]
    ended = together(calls, "a holder")
    checks.equal([type(fault) for fault in errors_of(ended)], [LeaseHeld] * 5, "the faults of five of six")
    (lease,) = (one.result for one in ended if one.result is not None)
    checks.equal((lease.token, LEASES.last(engines[0], *NAME)), (1, lease), "the token, and what is stored")


@case("T2", below=Strength.MULTI_RECORD)
def leases_and_queues_are_refused_where_transactions_are_too_weak(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    engine.insert(JOBS, Job("t", 1, "a"))
    naming = [engine.name, "multi-record"]
    checks.raises(Unsupported, "a lease", LEASES.acquire, engine, *NAME, holder="a", for_ms=1, naming=naming)
    checks.raises(Unsupported, "a claim", QUEUE.claim, engine, "t", take=lambda _transaction, job: job, naming=naming)
    checks.equal(engine.count(JOBS, limit=5), 1, "what waits")


def claim(engine: Engine, worker: str, limit: int = 1) -> list[str]:
    """Claim jobs, and keep who did each: a job that is given twice is refused there."""

    def take(transaction: Transaction, job: Job) -> str:
        transaction.insert(EFFECTS, Effect("t", job.name))
        return job.name

    return QUEUE.claim(engine, "t", limit=limit, take=take)


@case("T2", strength=Strength.MULTI_RECORD)
def work_is_claimed_in_order_and_a_claim_that_fails_leaves_it_there(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    kit.keep(JOBS, [Job("t", place, f"job {9 - place}") for place in (3, 1, 2, 4)])
    kit.keep(JOBS, [Job("another", 1, "not ours")])

    def fail(transaction: Transaction, job: Job) -> None:
        transaction.insert(EFFECTS, Effect("t", job.name))
        raise LookupError(job.name)

    checks.raises(LookupError, "a claim that fails", QUEUE.claim, engine, "t", limit=2, take=fail, naming=["job 8"])
    claimed = [claim(engine, "a"), claim(engine, "a", limit=2), claim(engine, "a", limit=9), claim(engine, "a")]
    checks.equal(claimed, [["job 8"], ["job 7", "job 6"], ["job 5"], []], "what was claimed, call by call")
    checks.equal(engine.count(JOBS, "another", limit=5), 1, "what waits in another queue")


@case("T2", strength=Strength.MULTI_RECORD)
def each_piece_of_work_is_claimed_once_by_whoever_asks_at_once(kit: Kit) -> None:
    jobs, workers = 20, 4
    engines = [prepared(kit, CLAIMED), another(kit, CLAIMED)]
    kit.keep(JOBS, [Job("t", place, f"job {place}") for place in range(1, jobs + 1)])

    def work(worker: int) -> list[str]:
        mine: list[str] = []
        while True:
            try:
                some = claim(engines[worker % 2], f"worker {worker}", limit=1 + worker % 2)
            except Conflict:
                continue
            if not some:
                return mine
            mine += some

    ended: list[Ended[list[str]]] = together([partial(work, worker) for worker in range(workers)], "a worker")
    checks.equal(errors_of(ended), [], "faults")
    claimed = [name for one in ended for name in one.value()]
    checks.equal(sorted(claimed), sorted(f"job {place}" for place in range(1, jobs + 1)), "what was claimed by all")
    checks.equal(
        (engines[0].count(EFFECTS, limit=99), engines[1].count(JOBS, limit=99)), (jobs, 0), "done, and waiting"
    )


@case("T2", strength=Strength.MULTI_RECORD)
def work_whose_claim_ran_out_is_given_again_under_a_greater_token(kit: Kit) -> None:
    engine = prepared(kit, CLAIMED)
    kit.keep(TASKS, [Task("t", NOW + 5, "late"), Task("t", NOW, "a"), Task("t", NOW - 1, "b")])

    def take(now: int, holder: str) -> list[tuple[str, str, int]]:
        claimed = write_at(
            engine, now, lambda transaction: LEASED.claim_for_in(transaction, "t", holder=holder, for_ms=100, limit=9)
        )
        held.update({(task.name, task.token): task for task in claimed})
        return [(task.name, task.holder, task.token) for task in claimed]

    held: dict[tuple[str, int], Task] = {}
    checks.equal(take(NOW - 2, "x"), [], "what is ready too early")
    checks.equal(take(NOW, "x"), [("b", "x", 1), ("a", "x", 1)], "what is ready, the oldest first")
    checks.equal(take(NOW + 99, "y"), [("late", "y", 1)], "what is ready while the others are claimed")
    checks.equal(take(NOW + 100, "z"), [("a", "z", 2), ("b", "z", 2)], "what is ready when its claim ran out")

    def finish(transaction: Transaction, task: Task) -> None:
        transaction.insert(EFFECTS, Effect("t", task.holder))
        LEASED.finish(transaction, task)

    checks.raises(ClaimLost, "a late finish", engine.write, partial(finish, task=held["a", 1]))
    checks.raises(ClaimLost, "a late renewal", LEASED.renew, engine, held["a", 1], 1000)
    checks.raises(ClaimLost, "what is given back late", LEASED.give_back, engine, held["a", 1])
    engine.write(partial(finish, task=held["a", 2]))
    checks.equal([one.name for one in engine.scan(EFFECTS, "t", limit=9)], ["z"], "what was kept")
    checks.equal({task.name for task in engine.scan(TASKS, "t", limit=9)}, {"b", "late"}, "what waits")
