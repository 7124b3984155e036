"""T2 and T4: transactions on connections of their own that get in each other's way from both sides."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Final

from strongroom.conformance import checks
from strongroom.conformance.cases.isolation import MULTI, Rival, race
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, Mark, Member, Pair
from strongroom.conformance.threads import MEETING, Started, errors_of, together
from strongroom.engine import Engine, Reader, Transaction

CAPACITY: Final = 2

Meet = Callable[[], object]


def _both_ways(
    kit: Kit, begin: Callable[[Kit], None], one: Rival, other: Rival, wrong: Callable[[Reader], str]
) -> None:
    """Race two transactions twice, each of them once on the first connection and once on the second."""
    for rivals in ((one, other), (other, one)):
        kit.fresh()
        begin(kit)
        race(kit, *rivals)
        found = kit.engine.read(wrong)
        checks.true(not found, found)


@case("T2", strength=MULTI, across=True)
def a_range_that_was_counted_empty_stays_empty_for_whoever_relies_on_it(kit: Kit) -> None:
    def shut(transaction: Transaction, meet: Meet) -> None:
        free = transaction.count(MEMBERS, "t", limit=1) == 0
        meet()
        if free:
            transaction.insert(MARKS, Mark("shut"))

    def join(transaction: Transaction, meet: Meet) -> None:
        is_open = transaction.get(MARKS, "shut") is None
        meet()
        if is_open:
            transaction.insert(MEMBERS, Member("t", "a"))

    def wrong(reader: Reader) -> str:
        both = reader.get(MARKS, "shut") is not None and reader.count(MEMBERS, "t", limit=1)
        return "write skew: one relied on an empty range, the other on an absent row, and both went on" if both else ""

    _both_ways(kit, lambda kit: kit.engine.insert(MEMBERS, Member("s", "beside")), shut, join, wrong)


@case("T2", strength=MULTI, across=True)
def a_count_that_somebody_relies_on_is_not_lowered_meanwhile(kit: Kit) -> None:
    def certify(transaction: Transaction, meet: Meet) -> None:
        staffed = transaction.count(MEMBERS, "t", limit=9) >= 1
        meet()
        if staffed:
            transaction.insert(MARKS, Mark("staffed"))

    def leave(transaction: Transaction, meet: Meet) -> None:
        free = transaction.get(MARKS, "staffed") is None
        meet()
        if free:
            transaction.delete(MEMBERS, "t", "a")

    def wrong(reader: Reader) -> str:
        left = reader.get(MARKS, "staffed") is not None and not reader.count(MEMBERS, "t", limit=1)
        return "write skew: one relied on a count that the other lowered, and both went on" if left else ""

    _both_ways(kit, lambda kit: kit.engine.insert(MEMBERS, Member("t", "a")), certify, leave, wrong)


@case("T2", strength=MULTI)
def a_capacity_is_never_exceeded(kit: Kit) -> None:
    def join(name: str) -> Rival:
        def run(transaction: Transaction, meet: Meet) -> None:
            room = transaction.count(MEMBERS, "t", limit=CAPACITY) < CAPACITY
            meet()
            if room:
                transaction.insert(MEMBERS, Member("t", name))

        return run

    def wrong(reader: Reader) -> str:
        count = reader.count(MEMBERS, "t", limit=9)
        return f"a phantom: {count} came in where there was room for {CAPACITY}" if count > CAPACITY else ""

    # One is there; each of the two who come sees the last place free.
    _both_ways(kit, lambda kit: kit.engine.insert(MEMBERS, Member("t", "m")), join("a"), join("z"), wrong)


@case("T4", strength=MULTI)
def those_who_take_rows_crosswise_all_succeed_in_the_end(kit: Kit) -> None:
    for number in ("0", "1"):
        kit.engine.put(PAIRS, Pair("n", number, 0))

    def raise_both(first: str, second: str) -> Rival:
        def run(transaction: Transaction, meet: Meet) -> None:
            _add_one(transaction, first)
            meet()
            _add_one(transaction, second)

        return run

    for _ in range(3):
        ended = race(kit, raise_both("0", "1"), raise_both("1", "0"))
        checks.equal(errors_of(ended), [], "faults of two who take two rows crosswise")
    numbers = [pair.number for pair in kit.engine.scan(PAIRS, "n", limit=5)]
    checks.equal(numbers, [6, 6], "the numbers, raised six times each")


@case("T4", strength=MULTI)
def those_who_write_rows_crosswise_without_a_look_all_succeed_in_the_end(kit: Kit) -> None:
    def put_both(first: str, second: str) -> Rival:
        def run(transaction: Transaction, meet: Meet) -> None:
            transaction.put(PAIRS, Pair("n", first, int(second)))
            meet()
            transaction.put(PAIRS, Pair("n", second, int(second)))

        return run

    for _ in range(3):
        ended = race(kit, put_both("0", "1"), put_both("1", "0"))
        checks.equal(errors_of(ended), [], "faults of two who write two rows crosswise")
        numbers = {pair.number for pair in kit.engine.scan(PAIRS, "n", limit=5)}
        checks.equal(len(numbers), 1, "writers whose rows are there: both rows are of the last one")


@case("T4", strength=MULTI)
def many_who_take_rows_in_any_order_all_succeed_in_the_end(kit: Kit) -> None:
    rows, each, threads = 6, 10, 4
    for number in range(rows):
        kit.engine.put(PAIRS, Pair("n", str(number), 0))
    engines = [kit.engine, kit.another()]

    def raise_some(seed: int) -> None:
        mixed = random.Random(seed)
        for _ in range(each):
            chosen = [str(number) for number in mixed.sample(range(rows), 3)]

            def change(transaction: Transaction, chosen: list[str] = chosen) -> None:
                for number in chosen:
                    _add_one(transaction, number)

            engines[seed % 2].write(change)

    ended = together([partial(raise_some, seed) for seed in range(threads)])
    checks.equal(errors_of(ended), [], "faults of many who take rows in any order")
    total = sum(pair.number for pair in kit.engine.scan(PAIRS, "n", limit=rows))
    checks.equal(total, 3 * each * threads, "the sum of the numbers")


@case("T2", strength=MULTI, across=True)
def a_long_range_that_somebody_relies_on_keeps_all_of_its_rows(kit: Kit) -> None:
    """More rows than an engine may care to guard one by one."""
    rows = 200

    def certify(transaction: Transaction, meet: Meet) -> None:
        full = len(transaction.scan(MEMBERS, "t", limit=rows + 1)) == rows
        meet()
        if full:
            transaction.insert(MARKS, Mark("full"))

    def leave(transaction: Transaction, meet: Meet) -> None:
        free = transaction.get(MARKS, "full") is None
        meet()
        if free:
            transaction.delete(MEMBERS, "t", "007")

    def wrong(reader: Reader) -> str:
        left = reader.get(MARKS, "full") is not None and reader.count(MEMBERS, "t", limit=rows) < rows
        return "write skew: one relied on a row of many that the other took, and both went on" if left else ""

    members = [Member("t", f"{number:03}") for number in range(rows)]
    _both_ways(kit, lambda kit: kit.keep(MEMBERS, members), certify, leave, wrong)


Anomaly = Callable[[Engine], list[int]]

WATCHERS: Final[dict[str, Anomaly]] = {
    "a page": lambda engine: [pair.number for pair in engine.scan(PAIRS, "n", limit=5)],
    "many keys": lambda engine: [pair.number for pair in engine.get_many(PAIRS, [("n", "0"), ("n", "1")]) if pair],
    "a read function": lambda engine: engine.read(_each),
    "a write function": lambda engine: engine.write(_each),
}
"""Ways for one who changes nothing to look at both rows."""

STEPS: Final[dict[str, Callable[[Engine], object]]] = {
    "a single call": lambda engine: engine.put(PAIRS, Pair("n", "0", 1)),
    "a transaction": lambda engine: engine.write(lambda transaction: transaction.put(PAIRS, Pair("n", "0", 1))),
}
"""Ways to change the first row."""


@case("T2", strength=MULTI)
def whoever_only_looks_is_part_of_the_order_too(kit: Kit) -> None:
    """One transaction relies on the first row and writes the second; meanwhile the first changes, and is looked at.

    Without whoever looks there is an order: the one transaction, then the change. But if the change was seen, and the
    second row was not, then the change came first, and the transaction relied on what was no longer so.
    """
    other, third = kit.another(), kit.another()
    for step in STEPS.values():
        for watcher in WATCHERS.values():
            for name in ("0", "1"):
                kit.engine.put(PAIRS, Pair("n", name, 0))
            seen: list[list[int]] = []

            def meanwhile(
                step: Callable[[Engine], object] = step,
                watcher: Anomaly = watcher,
                engines: tuple[Engine, Engine] = (other, third),
                seen: list[list[int]] = seen,
            ) -> None:
                step(engines[0])
                seen.append(watcher(engines[1]))

            started: list[Started[None]] = []

            def rely(
                transaction: Transaction,
                started: list[Started[None]] = started,
                meanwhile: Callable[[], None] = meanwhile,
            ) -> None:
                first = transaction.get(PAIRS, "n", "0")
                if not started:
                    started.append(Started(meanwhile))
                    started[0].wait(MEETING)  # on an engine that lets one wait for the other it never ends here
                if first is not None and first.number == 0:
                    transaction.put(PAIRS, Pair("n", "1", 1))

            kit.engine.write(rely)
            started[0].end().value()
            after = [pair.number for pair in kit.engine.scan(PAIRS, "n", limit=5)]
            told = f"seen: {seen}, at the end: {after}"
            checks.true(after[1] == 0 or seen != [[1, 0]], f"what was seen was never so in any order; {told}")


def _each(reader: Reader) -> list[int]:
    rows = [reader.get(PAIRS, "n", name) for name in ("0", "1")]
    return [row.number for row in rows if row]


def _add_one(transaction: Transaction, number: str) -> None:
    pair = transaction.get(PAIRS, "n", number)
    assert pair is not None
    transaction.put(PAIRS, pair.replace(number=pair.number + 1))
