"""Claims on every room: in order, each piece of work given once, and back in the queue when its claim has run out."""

from __future__ import annotations

import threading
from functools import partial
from typing import Annotated

import pytest

from strongroom.conformance.timed import write_at
from strongroom.engine import Engine, Strength, Transaction
from strongroom.errors import Conflict, InvalidArgument, Unsupported
from strongroom.patterns import ClaimLost, LeasedQueue, Queue
from strongroom.records import MEMBERSHIP, Identifier, Integer, Millis, Record, Schema, Table, desc


class Waiting(Record):
    queue: Annotated[str, Identifier(64)]
    position: Annotated[int, Integer(1)]
    run: Annotated[str, Identifier(64)]


class Claimed(Record):
    queue: Annotated[str, Identifier(64)]
    run: Annotated[str, Identifier(64)]
    worker: Annotated[str, Identifier(64)]


class Task(Record):
    queue: Annotated[str, Identifier(64)]
    ready_at: Annotated[int, Millis()]
    name: Annotated[str, Identifier(64)]
    holder: Annotated[str, Identifier(64, empty=True)] = ""
    token: Annotated[int, Integer(0)] = 0


WAITING = Table("waiting", Waiting, key=("queue", "position"), scope=1, changes=MEMBERSHIP)
CLAIMED = Table("claimed", Claimed, key=("queue", "run"), scope=1)
TASKS = Table("tasks", Task, key=("queue", "ready_at", "name"), scope=1, changes=MEMBERSHIP)
RUNS = Queue(WAITING)
WORK = LeasedQueue(TASKS)
NOW = 1_000_000


@pytest.fixture
def desk(room: Engine) -> Engine:
    room.prepare(Schema("queues", WAITING, CLAIMED, TASKS))
    if room.claims.strength < Strength.MULTI_RECORD:
        with pytest.raises(Unsupported, match="waiting"):
            claim(room, "ada")
        with pytest.raises(Unsupported, match="tasks"):
            WORK.claim_for(room, "q", holder="ada", for_ms=1)
        pytest.skip("multi-record transactions only")
    return room


def fill(engine: Engine, count: int, queue: str = "q") -> None:
    for number in range(1, count + 1):
        engine.insert(WAITING, Waiting(queue, number, f"run-{100 - number}"))


def claim(engine: Engine, worker: str, limit: int = 1) -> list[str]:
    def take(transaction: Transaction, entry: Waiting) -> str:
        transaction.insert(CLAIMED, Claimed("q", entry.run, worker))
        return entry.run

    return RUNS.claim(engine, "q", limit=limit, take=take)


def test_the_oldest_is_claimed_first_and_once(desk: Engine) -> None:
    fill(desk, 3)
    fill(desk, 1, "other")
    assert [claim(desk, "ada") for _ in range(4)] == [["run-99"], ["run-98"], ["run-97"], []]
    assert RUNS.first(desk, "q") is None
    assert RUNS.first(desk, "other") == Waiting("other", 1, "run-99")


def test_claims_are_carried_in_groups(desk: Engine) -> None:
    fill(desk, 5)
    assert claim(desk, "ada", limit=3) == ["run-99", "run-98", "run-97"]
    assert claim(desk, "ada", limit=3) == ["run-96", "run-95"]


def test_a_claim_that_fails_leaves_the_queue_as_it_was(desk: Engine) -> None:
    fill(desk, 2)

    def fail(transaction: Transaction, entry: Waiting) -> None:
        transaction.insert(CLAIMED, Claimed("q", entry.run, "ada"))
        raise LookupError(entry.run)

    with pytest.raises(LookupError, match="run-99"):
        RUNS.claim(desk, "q", limit=2, take=fail)
    assert desk.count(CLAIMED, limit=9) == 0
    assert claim(desk, "bob", limit=9) == ["run-99", "run-98"]


def test_many_claimers_and_producers_lose_nothing_and_give_nothing_twice(desk: Engine) -> None:
    faults: list[BaseException] = []
    filled = threading.Event()

    def produce(producer: int) -> None:
        for number in range(5):
            desk.insert(WAITING, Waiting("q", producer * 100 + number + 1, f"run-{producer}-{number}"))

    def work(worker: str) -> None:
        while True:
            last = filled.is_set()
            try:
                if not claim(desk, worker, limit=2) and last:
                    return
            except Conflict:
                continue

    def guarded(call: partial[None]) -> None:
        try:
            call()
        except BaseException as fault:
            faults.append(fault)

    producers = [threading.Thread(target=guarded, args=(partial(produce, number),)) for number in range(3)]
    workers = [threading.Thread(target=guarded, args=(partial(work, f"worker-{number}"),)) for number in range(4)]
    for thread in producers + workers:
        thread.start()
    for thread in producers:
        thread.join()
    filled.set()
    for thread in workers:
        thread.join()
    assert faults == []
    assert desk.count(WAITING, limit=99) == 0
    assert desk.count(CLAIMED, limit=99) == 15


def claim_at(engine: Engine, now: int, holder: str = "ada", limit: int = 9) -> list[Task]:
    return write_at(
        engine,
        now,
        lambda transaction: WORK.claim_for_in(transaction, "q", holder=holder, for_ms=1000, limit=limit),
    )


def test_what_is_ready_later_waits_for_the_engines_clock(desk: Engine) -> None:
    for name, ready_at in (("late", NOW + 5), ("b", NOW), ("a", NOW)):
        desk.insert(TASKS, Task("q", ready_at, name))
    assert claim_at(desk, NOW - 1) == []
    assert [task.name for task in claim_at(desk, NOW + 4)] == ["a", "b"]
    assert [task.name for task in claim_at(desk, NOW + 5)] == ["late"]


def test_a_claim_that_ran_out_is_given_again_under_a_greater_token_and_the_late_one_is_refused(desk: Engine) -> None:
    desk.insert(TASKS, Task("q", NOW, "a"))
    (old,) = claim_at(desk, NOW)
    assert old == Task("q", NOW + 1000, "a", "ada", 1)
    assert claim_at(desk, NOW + 999) == []
    (new,) = claim_at(desk, NOW + 1000, "bob")
    assert (new.holder, new.token) == ("bob", 2)

    def finish(transaction: Transaction, task: Task) -> None:
        transaction.insert(CLAIMED, Claimed("q", task.name, task.holder))
        WORK.finish(transaction, task)

    with pytest.raises(ClaimLost) as caught:
        desk.write(lambda transaction: finish(transaction, old))
    assert not caught.value.retryable
    for call in (partial(WORK.renew, desk, old, 1000), partial(WORK.give_back, desk, old)):
        with pytest.raises(ClaimLost):
            call()
    desk.write(lambda transaction: finish(transaction, new))
    assert desk.scan(CLAIMED, limit=9) == [Claimed("q", "a", "bob")]
    assert desk.count(TASKS, limit=9) == 0


def test_a_claim_can_be_renewed_and_given_back(desk: Engine) -> None:
    desk.insert(TASKS, Task("q", NOW, "a"))
    (task,) = WORK.claim_for(desk, "q", holder="ada", for_ms=600_000)
    assert WORK.claim_for(desk, "q", holder="bob", for_ms=600_000) == []
    renewed = WORK.renew(desk, task, 900_000)
    assert (renewed.holder, renewed.token) == ("ada", 1)
    assert renewed.ready_at > task.ready_at
    WORK.give_back(desk, renewed)
    (again,) = WORK.claim_for(desk, "q", holder="bob", for_ms=600_000)
    assert (again.holder, again.token) == ("bob", 2)


def test_times_and_names_that_can_not_be_are_refused(desk: Engine) -> None:
    desk.insert(TASKS, Task("q", NOW, "a"))
    for for_ms in (0, -1, True, 1.5):
        with pytest.raises(InvalidArgument):
            WORK.claim_for(desk, "q", holder="ada", for_ms=for_ms)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        WORK.claim_for(desk, holder="ada", for_ms=1)
    (task,) = WORK.claim_for(desk, "q", holder="ada", for_ms=1000)
    with pytest.raises(InvalidArgument):
        WORK.give_back(desk, task, after_ms=-1)
    with pytest.raises(InvalidArgument):
        WORK.renew(desk, task, 0)


def test_a_table_that_can_not_be_a_queue_is_refused() -> None:
    with pytest.raises(TypeError, match="comes and goes"):
        Queue(CLAIMED)
    with pytest.raises(TypeError, match="orders nothing"):
        Queue(WAITING, ready_at="run")
    with pytest.raises(TypeError, match="ascending"):
        LeasedQueue(Table("upside_down", Task, key=("queue", desc("ready_at"), "name"), changes=MEMBERSHIP))
    with pytest.raises(TypeError, match="apart"):
        LeasedQueue(Table("alike", Task, key=("queue", "ready_at"), changes=MEMBERSHIP))
    with pytest.raises(TypeError, match="beside its key"):
        LeasedQueue(WAITING, ready_at="position")
