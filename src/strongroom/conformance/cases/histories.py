"""Longer histories: several threads and several processes at once, and what must hold over all that they were told."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

from strongroom.conformance import checks
from strongroom.conformance.cases.schemas import THREE, steps, use
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.processes import workers
from strongroom.conformance.tables import (
    ACCOUNTS,
    LOG,
    MARKS,
    MEMBERS,
    PAIRS,
    THINGS,
    Account,
    Entry,
    Mark,
    Member,
    Pair,
    Thing,
)
from strongroom.conformance.threads import errors_of, together
from strongroom.engine import Sharing, Strength, Transaction
from strongroom.errors import AlreadyExists, VersionMismatch

THREADS: Final = 4
PROCESSES: Final = 3


@case("W2")
def every_version_is_won_by_exactly_one_writer(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 0))
    engines = [kit.engine, kit.another()]

    def raise_it(writer: int) -> list[int]:
        won = []
        for _ in range(15):
            while True:
                engine = engines[writer % 2]
                thing = engine.get(THINGS, "a")
                assert thing is not None
                try:
                    engine.update(THINGS, Thing("a", thing.version + 1, str(writer)), expect=thing.version)
                except VersionMismatch:
                    continue
                won.append(thing.version + 1)
                break
        return won

    ended = together([partial(raise_it, writer) for writer in range(THREADS)])
    won = sorted(version for one in ended for version in one.value())
    checks.equal(won, list(range(1, THREADS * 15 + 1)), "the versions that writers were told they wrote")
    thing = kit.engine.get(THINGS, "a")
    checks.equal(thing and thing.version, THREADS * 15, "the version in the end")


@case("W1")
def every_key_is_created_by_exactly_one_writer(kit: Kit) -> None:
    tasks = 25
    engines = [kit.engine, kit.another()]

    def claim(writer: int) -> list[int]:
        order = list(range(tasks))
        random.Random(writer).shuffle(order)
        mine = []
        for task in order:
            try:
                engines[writer % 2].insert(MARKS, Mark(f"{task:02}", str(writer)))
            except AlreadyExists:
                continue
            mine.append(task)
        return mine

    ended = together([partial(claim, writer) for writer in range(THREADS)])
    claimed = [task for one in ended for task in one.value()]
    checks.equal(sorted(claimed), list(range(tasks)), "the tasks that writers were told are theirs")
    for writer, one in enumerate(ended):
        for task in one.value():
            checks.equal(kit.engine.get(MARKS, f"{task:02}"), Mark(f"{task:02}", str(writer)), "the row of a task")


@case("T2", strength=Strength.MULTI_RECORD, across=True)
def what_producers_put_in_claimers_take_out_exactly_once(kit: Kit) -> None:
    producers, claimers, each = 2, 3, 15
    engines = [kit.engine, kit.another()]
    produced = threading.Event()
    left = threading.Semaphore(0)

    def produce(producer: int) -> list[str]:
        for number in range(each):
            engines[producer % 2].insert(MEMBERS, Member("queue", f"{number:02} of {producer}"))
        left.release()
        return []

    def take(claimer: int) -> list[str]:
        mine: list[str] = []
        while True:
            last = produced.is_set()
            taken = engines[claimer % 2].write(partial(_take_first, claimer))
            if taken is not None:
                mine.append(taken)
            elif last:
                return mine

    def watch() -> list[str]:
        for _ in range(producers):
            left.acquire()
        produced.set()
        return []

    calls: list[Callable[[], list[str]]] = [partial(produce, number) for number in range(producers)]
    calls += [partial(take, number) for number in range(claimers)]
    ended = together([*calls, watch])
    checks.equal(errors_of(ended), [], "faults")
    taken = sorted(name for one in ended for name in one.value())
    checks.equal(taken, sorted(f"{n:02} of {p}" for n in range(each) for p in range(producers)), "what was taken")
    checks.equal(kit.engine.count(MEMBERS, "queue", limit=5), 0, "what is left in the queue")
    checks.equal(kit.engine.count(MEMBERS, "done", limit=1000), producers * each, "what is done")


def _take_first(claimer: int, transaction: Transaction) -> str | None:
    first = transaction.scan(MEMBERS, "queue", limit=1)
    if not first:
        return None
    transaction.delete(MEMBERS, "queue", first[0].name)
    transaction.insert(MEMBERS, Member("done", first[0].name, str(claimer)))
    return first[0].name


@case("R1", Ability.PROCESSES, sharing=Sharing.HOST)
def another_process_sees_what_was_acknowledged_here(kit: Kit) -> None:
    kit.engine.insert(ACCOUNTS, Account("t", "shared", 0))
    with workers(kit, ("look",)) as (worker,):
        checks.equal(worker.line(), "ready", "what the process says first")
        for version in range(1, 30):
            kit.engine.update(ACCOUNTS, Account("t", "shared", version), expect=version - 1)
            checks.equal(worker.ask(), str(version), "the version as another process reads it")
        worker.let_go()
        worker.finish()


@case("D4", Ability.PROCESSES, sharing=Sharing.HOST)
def processes_share_a_store(kit: Kit) -> None:
    each = 25
    kit.engine.insert(ACCOUNTS, Account("t", "shared", 0))
    with workers(kit, *[("increment", str(each))] * 2) as started:
        mine: list[int] = []
        while len(mine) < each:
            account = kit.engine.get(ACCOUNTS, "t", "shared")
            assert account is not None
            new = account.replace(version=account.version + 1, balance=account.balance + 1)
            try:
                kit.engine.update(ACCOUNTS, new, expect=account.version)
            except VersionMismatch:
                continue
            mine.append(new.version)
        won = sorted(mine + [int(line) for worker in started for line in worker.finish()])
    checks.equal(won, list(range(1, 3 * each + 1)), "the versions that processes were told they wrote")
    account = kit.engine.get(ACCOUNTS, "t", "shared")
    checks.equal(account, Account("t", "shared", 3 * each, 3 * each), "the row in the end")


@case("T2", Ability.PROCESSES, sharing=Sharing.HOST, strength=Strength.MULTI_RECORD, slow=True)
def increments_by_many_processes_are_all_counted(kit: Kit) -> None:
    each = 100
    kit.engine.put(PAIRS, Pair("shared", "", 0))
    with workers(kit, *[("add", str(each))] * PROCESSES) as started:
        told = sorted(int(line) for worker in started for line in worker.finish())
    checks.equal(told, list(range(1, PROCESSES * each + 1)), "the numbers that processes were told they wrote")
    checks.equal(kit.engine.get(PAIRS, "shared", ""), Pair("shared", "", PROCESSES * each), "the row in the end")


@case("T2", Ability.PROCESSES, sharing=Sharing.HOST, strength=Strength.MULTI_RECORD, slow=True)
def processes_do_not_skew_each_other_s_writes(kit: Kit) -> None:
    kit.keep(MEMBERS, [Member("t", "a"), Member("t", "b")])
    with workers(kit, ("step_down", "a", "b"), ("step_down", "b", "a")) as started:
        # Each comes back after it left; that nobody is there must not be seen at any moment.
        alone = 0
        while any(worker.running for worker in started):
            alone += kit.engine.count(MEMBERS, "t", limit=5) == 0
        lines = [worker.finish() for worker in started]
    checks.equal(alone, 0, "moments at which both members had left")
    checks.true(any(lines), "neither process ever left: the case shows nothing")


@case("W1", Ability.PROCESSES, sharing=Sharing.HOST, slow=True)
def every_task_is_claimed_by_exactly_one_process(kit: Kit) -> None:
    tasks = 200
    kit.engine.count(MARKS, limit=1)
    with workers(kit, *[("claim", str(tasks))] * PROCESSES) as started:
        claimed = sorted(int(line) for worker in started for line in worker.finish())
    checks.equal(claimed, list(range(tasks)), "the tasks that processes were told are theirs")
    checks.equal(kit.engine.count(MARKS, limit=10_000), tasks, "rows")


@case("L2", Ability.PROCESSES, sharing=Sharing.HOST, slow=True)
def whoever_follows_a_log_misses_nothing_that_processes_append(kit: Kit) -> None:
    _follow(kit, "append", 150)


@case("L2", Ability.PROCESSES, sharing=Sharing.HOST, strength=Strength.MULTI_RECORD, slow=True)
def whoever_follows_a_log_misses_nothing_however_long_appends_stay_open(kit: Kit) -> None:
    _follow(kit, "append_slowly", 40)


def _follow(kit: Kit, job: str, each: int) -> None:
    """Follow a log by its cursor while processes append to it, more of them than a few retries would serve."""
    writers = PROCESSES + 1
    engine = kit.engine
    seen: list[Entry] = []
    cursor = None
    with workers(kit, *[(job, str(n), str(each)) for n in range(writers)]) as started:
        last = False
        while True:
            page = LOG.page(engine, "s", cursor=cursor, limit=50)
            seen += page.entries
            cursor = page.cursor
            if not page.entries:
                if last:
                    break
                last = not any(worker.running for worker in started)
        told = [[int(line) for line in worker.finish()] for worker in started]
    checks.equal([entry.position for entry in seen], list(range(1, writers * each + 1)), "the positions seen")
    checks.equal(
        sorted(p for positions in told for p in positions), [e.position for e in seen], "those told to writers"
    )
    for writer, positions in enumerate(told):
        own = [entry for entry in seen if entry.text.startswith(f"{writer}.")]
        checks.equal([entry.position for entry in own], positions, f"the positions of process {writer}")


@case("M3", Ability.PROCESSES, sharing=Sharing.HOST, reopens=True, slow=True)
def processes_that_open_at_once_migrate_once(kit: Kit) -> None:
    for _ in range(3):
        kit.fresh()
        with workers(kit, *[("prepare",)] * PROCESSES) as started:
            for worker in started:
                worker.finish()
        engine = kit.open(THREE)
        checks.equal([step.number for step in steps(engine)], [1, 2, 3], "the steps on record")
        use(engine)


@case("C2", Ability.PROCESSES, sharing=Sharing.HOST, slow=True)
def a_child_that_ends_leaves_its_parent_s_store_alone(kit: Kit) -> None:
    kit.engine.count(MARKS, limit=1)
    with workers(kit, ("fork",)) as (worker,):
        checks.equal(worker.finish(), ["child refused", "parent has 2"], "what the child and its parent say")
    names = [account.name for account in kit.engine.scan(ACCOUNTS, "t", limit=9)]
    checks.equal(names, ["after", "before"], "the rows afterwards")
