"""T2 and T4: what transactions that run at once may do to one another."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    ENTRIES,
    LOG,
    MARKS,
    MEMBERS,
    PAIRS,
    THINGS,
    Entry,
    Mark,
    Member,
    Pair,
    Thing,
)
from strongroom.conformance.threads import Ended, Meeting, errors_of, together
from strongroom.engine import Engine, Reader, Strength, Transaction
from strongroom.errors import AlreadyExists, Conflict

MULTI: Final = Strength.MULTI_RECORD

Rival = Callable[[Transaction, Callable[[], object]], Any]
"""A transaction that looks, meets its rival, and acts on what it saw."""


def race(kit: Kit, *rivals: Rival) -> list[Ended[Any]]:
    """What comes of transactions on connections of their own, each brought between its look and its act at once."""
    meeting = Meeting(len(rivals))
    engines = [kit.engine] + [kit.another() for _ in rivals[1:]]

    def run(engine: Engine, rival: Rival) -> Callable[[], Any]:
        tries: list[int] = []

        def attempt(transaction: Transaction) -> Any:
            tries.append(1)
            return rival(transaction, meeting.meet if len(tries) == 1 else bool)

        return lambda: engine.write(attempt)

    ended = together([run(engine, rival) for engine, rival in zip(engines, rivals, strict=True)], "a rival")
    for error in errors_of(ended):
        if not isinstance(error, Conflict | AlreadyExists):
            raise error
    return ended


def _numbers(kit: Kit, *numbers: int) -> None:
    for index, number in enumerate(numbers):
        kit.engine.put(PAIRS, Pair("n", str(index), number))


def _sum(kit: Kit) -> int:
    return sum(pair.number for pair in kit.engine.scan(PAIRS, "n", limit=100))


@case("T2", strength=MULTI)
def two_increments_at_once_are_both_counted(kit: Kit) -> None:
    _numbers(kit, 0)

    def increment(transaction: Transaction, meet: Callable[[], object]) -> None:
        pair = transaction.get(PAIRS, "n", "0")
        meet()
        transaction.put(PAIRS, Pair("n", "0", 1 + (pair.number if pair else 0)))

    ended = race(kit, increment, increment)
    checks.equal(_sum(kit), 2 - len(errors_of(ended)), "the number after two increments")


@case("T2", strength=MULTI)
def two_increments_at_once_are_both_counted_when_read_by_a_scan(kit: Kit) -> None:
    _numbers(kit, 0)

    def increment(transaction: Transaction, meet: Callable[[], object]) -> None:
        (pair,) = transaction.scan(PAIRS, limit=5)
        meet()
        transaction.put(PAIRS, pair.replace(number=pair.number + 1))

    ended = race(kit, increment, increment)
    checks.equal(_sum(kit), 2 - len(errors_of(ended)), "the number after two increments")


Look = Callable[[Reader], int]

LOOKS: Final[dict[str, Look]] = {
    "get": lambda t: sum(p.number for p in (t.get(PAIRS, "n", "0"), t.get(PAIRS, "n", "1")) if p),
    "get_many": lambda t: sum(p.number for p in t.get_many(PAIRS, [("n", "0"), ("n", "1")]) if p),
    "scan": lambda t: sum(p.number for p in t.scan(PAIRS, "n", limit=5)),
    "reverse": lambda t: sum(p.number for p in t.scan(PAIRS, "n", limit=5, reverse=True)),
    "bounds": lambda t: sum(p.number for p in t.scan(PAIRS, start=("n",), stop=("o",), limit=5)),
}
"""Ways to read two rows."""


def _skew(kit: Kit, look: Look) -> None:
    """Either may step down while the other stays: of two that do so at once, one must see that it is the last."""
    _numbers(kit, 1, 1)

    def step_down(own: str) -> Rival:
        def run(transaction: Transaction, meet: Callable[[], object]) -> None:
            on_call = look(transaction)
            meet()
            if on_call > 1:
                transaction.put(PAIRS, Pair("n", own, 0))

        return run

    race(kit, step_down("0"), step_down("1"))
    checks.true(_sum(kit) >= 1, "write skew: each of two transactions relied on the row that the other changed")


@case("T2", strength=MULTI)
def rows_that_were_read_hold_still_until_the_commit(kit: Kit) -> None:
    _skew(kit, LOOKS["get"])


@case("T2", strength=MULTI)
def rows_that_were_read_together_hold_still_until_the_commit(kit: Kit) -> None:
    _skew(kit, LOOKS["get_many"])


@case("T2", strength=MULTI)
def rows_that_were_scanned_hold_still_until_the_commit(kit: Kit) -> None:
    _skew(kit, LOOKS["scan"])


@case("T2", strength=MULTI)
def rows_that_were_scanned_in_reverse_hold_still_until_the_commit(kit: Kit) -> None:
    _skew(kit, LOOKS["reverse"])


@case("T2", strength=MULTI)
def rows_within_bounds_hold_still_until_the_commit(kit: Kit) -> None:
    _skew(kit, LOOKS["bounds"])


@case("T2", strength=MULTI)
def a_key_that_was_absent_stays_absent_until_the_commit(kit: Kit) -> None:
    def take(own: str, other: str) -> Rival:
        def run(transaction: Transaction, meet: Callable[[], object]) -> None:
            free = transaction.get(MARKS, other) is None
            meet()
            if free:
                transaction.insert(MARKS, Mark(own))

        return run

    race(kit, take("a", "b"), take("b", "a"))
    checks.true(kit.engine.count(MARKS, limit=5) <= 1, "write skew: each of two transactions relied on an absent key")


def _phantom(kit: Kit, empty: Callable[[Reader], bool]) -> None:
    """Only one may move into an empty range."""

    def move_in(own: str) -> Rival:
        def run(transaction: Transaction, meet: Callable[[], object]) -> None:
            free = empty(transaction)
            meet()
            if free:
                transaction.insert(MEMBERS, Member("t", own))

        return run

    kit.engine.insert(MEMBERS, Member("s", "before"))
    kit.engine.insert(MEMBERS, Member("u", "behind"))
    race(kit, move_in("a"), move_in("z"))
    checks.true(kit.engine.count(MEMBERS, "t", limit=5) <= 1, "a phantom: two rows came into a range found empty")


@case("T2", strength=MULTI)
def a_range_that_was_scanned_stays_as_it_was_until_the_commit(kit: Kit) -> None:
    _phantom(kit, lambda transaction: not transaction.scan(MEMBERS, "t", limit=10))


@case("T2", strength=MULTI, across=True)
def a_range_between_bounds_stays_as_it_was_until_the_commit(kit: Kit) -> None:
    _phantom(kit, lambda transaction: not transaction.scan(MEMBERS, start=("t",), stop=("t~",), limit=10, reverse=True))


@case("T2", strength=MULTI)
def a_range_that_was_counted_stays_as_it_was_until_the_commit(kit: Kit) -> None:
    _phantom(kit, lambda transaction: transaction.count(MEMBERS, "t", limit=10) == 0)


@case("T2", strength=MULTI)
def a_count_that_was_relied_on_stays_as_it_was_when_rows_leave(kit: Kit) -> None:
    for name in ("a", "b"):
        kit.engine.insert(MEMBERS, Member("t", name))

    def leave(own: str) -> Rival:
        def run(transaction: Transaction, meet: Callable[[], object]) -> None:
            others = transaction.count(MEMBERS, "t", limit=10) - 1
            meet()
            if others:
                transaction.delete(MEMBERS, "t", own)

        return run

    race(kit, leave("a"), leave("b"))
    checks.true(kit.engine.count(MEMBERS, "t", limit=5) >= 1, "write skew: each relied on the row that the other took")


@case("T2", strength=MULTI, across=True)
def a_row_that_was_relied_on_is_not_deleted_meanwhile(kit: Kit) -> None:
    kit.engine.insert(MEMBERS, Member("t", "parent"))

    def add_child(transaction: Transaction, meet: Callable[[], object]) -> None:
        parent = transaction.get(MEMBERS, "t", "parent")
        meet()
        if parent is not None:
            transaction.insert(THINGS, Thing("child"))

    def delete_parent(transaction: Transaction, meet: Callable[[], object]) -> None:
        childless = transaction.get(THINGS, "child") is None
        meet()
        if childless:
            transaction.delete(MEMBERS, "t", "parent")

    race(kit, add_child, delete_parent)
    parent, child = kit.engine.get(MEMBERS, "t", "parent"), kit.engine.get(THINGS, "child")
    checks.true(child is None or parent is not None, "write skew: a child was left without its parent")


@case("T2", strength=MULTI)
def two_appends_at_once_take_two_positions(kit: Kit) -> None:
    def append(text: str) -> Rival:
        def run(transaction: Transaction, meet: Callable[[], object]) -> int:
            head = LOG.head(transaction, "s")
            meet()
            transaction.insert(ENTRIES, Entry("s", head + 1, text))
            return head + 1

        return run

    ended = race(kit, append("a"), append("b"))
    kept = [(entry.position, entry.text) for entry in LOG.read(kit.engine, "s", limit=10)]
    checks.equal(len(kept), 2 - len(errors_of(ended)), "entries")
    checks.equal(sorted(one.value() for one in ended if not one.error), [p for p, _ in kept], "positions")


@case("T4", strength=MULTI)
def rivals_for_one_row_all_succeed_in_the_end(kit: Kit) -> None:
    _numbers(kit, 0)

    def increment(transaction: Transaction, meet: Callable[[], object]) -> None:
        pair = transaction.get(PAIRS, "n", "0")
        assert pair is not None
        meet()
        transaction.put(PAIRS, pair.replace(number=pair.number + 1))

    ended = race(kit, increment, increment)
    checks.equal(errors_of(ended), [], "faults")
    checks.equal(_sum(kit), 2, "the number after two increments")


@case("T4", strength=MULTI)
def a_write_function_that_runs_again_begins_from_nothing(kit: Kit) -> None:
    runs: list[int] = []

    def change(transaction: Transaction) -> int:
        runs.append(1)
        transaction.insert(MARKS, Mark("once"))
        number = transaction.get(PAIRS, "n", "0")
        transaction.put(PAIRS, Pair("n", "0", (number.number if number else 0) + 1))
        return len(runs)

    def spoil(transaction: Transaction) -> None:
        transaction.put(PAIRS, Pair("n", "0", 100))
        raise ValueError("spoiled")

    ended = together([lambda: kit.engine.write(change), *[lambda: kit.engine.write(spoil)] * 5])
    checks.equal(ended[0].value(), len(runs), "the result, which is that of the last run")
    checks.equal(kit.engine.get(PAIRS, "n", "0"), Pair("n", "0", 1), "the number, however often the function ran")


@case("T2", strength=MULTI)
def money_is_neither_made_nor_lost_by_many_threads(kit: Kit) -> None:
    accounts, money = 5, 100
    _numbers(kit, *[money] * accounts)
    engines = [kit.engine, kit.another()]
    sums: list[int] = []

    def transfer(seed: int) -> None:
        mixed = random.Random(seed)
        for _ in range(20):
            source, target = mixed.sample(range(accounts), 2)
            amount = mixed.randrange(1, 50)

            def change(transaction: Transaction, source: int = source, target: int = target, n: int = amount) -> None:
                payer, payee = transaction.get_many(PAIRS, [("n", str(source)), ("n", str(target))])
                assert payer is not None
                assert payee is not None
                if payer.number >= n:
                    transaction.put(PAIRS, payer.replace(number=payer.number - n))
                    transaction.put(PAIRS, payee.replace(number=payee.number + n))

            engines[seed % 2].write(change)

    def each(reader: Reader) -> int:
        rows = [reader.get(PAIRS, "n", str(i)) for i in range(accounts)]
        return sum(row.number for row in rows if row)

    def audit() -> None:
        for turn in range(30):
            look = LOOKS["scan"] if turn % 2 else LOOKS["bounds"]
            sums.append(engines[turn % 2].read(look) if turn % 3 else engines[turn % 2].read(each))

    calls: list[Callable[[], None]] = [audit, *(partial(transfer, seed) for seed in range(4))]
    ended = together(calls)
    checks.equal(errors_of(ended), [], "faults")
    checks.equal(set(sums), {accounts * money}, "the sums that a reader found")
    checks.equal(_sum(kit), accounts * money, "the sum at the end")
    checks.true(all(p.number >= 0 for p in kit.engine.scan(PAIRS, limit=9)), "an account was overdrawn")
