"""T1, T3 and T5: all or nothing, the very exception, and transactions that are given up."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
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
from strongroom.conformance.threads import PATIENCE, Started, errors_of, together
from strongroom.engine import Reader, Strength, Transaction
from strongroom.errors import AlreadyExists, Conflict, VersionMismatch
from strongroom.records import AnyTable

MULTI: Final = Strength.MULTI_RECORD


class Oops(Exception):
    """What a write function raises here."""


class Halt(BaseException):
    """What a write function raises here that no `except Exception` stops."""


def all_rows(reader: Reader) -> list[Any]:
    """The rows of the tables that `change_everything` changes."""
    tables: tuple[AnyTable, ...] = (THINGS, MEMBERS, PAIRS, MARKS)
    return [row for table in tables for row in reader.scan(table, limit=100)]


def furnish(kit: Kit) -> Callable[[], list[Any]]:
    """Put something in several tables; answers a look at all of them."""
    kit.engine.insert(THINGS, Thing("changed", 1, "before"))
    kit.engine.insert(MEMBERS, Member("t", "deleted"))
    kit.engine.put(PAIRS, Pair("replaced", "", 1))
    kit.engine.insert(MARKS, Mark("kept"))

    def look() -> list[Any]:
        return all_rows(kit.engine)

    return look


def change_everything(transaction: Transaction) -> None:
    """Every kind of change, in several tables, some rows more than once."""
    transaction.insert(MARKS, Mark("new"))
    transaction.update(THINGS, Thing("changed", 2, "after"), expect=1)
    transaction.update(THINGS, Thing("changed", 3, "after all"), expect=2)
    transaction.put(PAIRS, Pair("replaced", "", 2))
    transaction.put(PAIRS, Pair("new", "", 2))
    transaction.delete(MEMBERS, "t", "deleted")
    transaction.insert(MEMBERS, Member("t", "new"))
    transaction.delete(MEMBERS, "t", "new")
    transaction.insert(MEMBERS, Member("t", "deleted", "again"))
    transaction.insert(THINGS, Thing("new", 1))


@case("T1", strength=MULTI, across=True)
def all_that_a_write_function_wrote_is_kept(kit: Kit) -> None:
    look = furnish(kit)
    checks.equal(kit.engine.write(change_everything), None, "the result")
    expected = [
        *(Thing("changed", 3, "after all"), Thing("new", 1), Member("t", "deleted", "again")),
        *(Pair("new", "", 2), Pair("replaced", "", 2), Mark("kept"), Mark("new")),
    ]
    checks.equal(look(), expected, "what is kept")


@case("T1", strength=MULTI, across=True)
def a_write_function_that_raises_after_its_last_write_leaves_nothing(kit: Kit) -> None:
    look = furnish(kit)
    before = look()
    for raised in (Oops("after the last write"), Halt("after the last write")):

        def change(transaction: Transaction, raised: BaseException = raised) -> None:
            change_everything(transaction)
            raise raised

        checks.same(checks.raises(type(raised), "the write", kit.engine.write, change), raised, "what came out")
        checks.equal(look(), before, f"the rows after a write function raised {type(raised).__name__}")
    kit.engine.write(change_everything)
    checks.equal(len(look()), 7, "rows after the same changes were made without a fault")


@case("T1")
def a_write_function_that_raises_after_its_only_write_leaves_nothing(kit: Kit) -> None:
    look = furnish(kit)
    before = look()
    operations: list[Callable[[Transaction], object]] = [
        lambda transaction: transaction.insert(MARKS, Mark("new")),
        lambda transaction: transaction.update(THINGS, Thing("changed", 2, "after"), expect=1),
        lambda transaction: transaction.put(PAIRS, Pair("replaced", "", 2)),
        lambda transaction: transaction.delete(MEMBERS, "t", "deleted"),
    ]
    for number, operation in enumerate(operations):

        def change(transaction: Transaction, operation: Callable[[Transaction], object] = operation) -> None:
            operation(transaction)
            raise Oops

        checks.raises(Oops, "the write", kit.engine.write, change)
        checks.equal(look(), before, f"the rows after operation {number} was followed by a fault")


@case("T1", strength=MULTI, across=True)
def a_transaction_sees_what_it_wrote_itself(kit: Kit) -> None:
    furnish(kit)

    def change(transaction: Transaction) -> None:
        change_everything(transaction)
        checks.equal(transaction.get(THINGS, "changed"), Thing("changed", 3, "after all"), "get of an updated row")
        checks.equal(transaction.get(MEMBERS, "t", "deleted"), Member("t", "deleted", "again"), "get of a row put back")
        checks.equal(transaction.get_many(MARKS, [("new",), ("none",)]), [Mark("new"), None], "get_many")
        checks.equal(transaction.scan(PAIRS, limit=5), [Pair("new", "", 2), Pair("replaced", "", 2)], "a scan")
        checks.equal(transaction.count(MARKS, limit=5), 2, "a count")
        transaction.delete(MEMBERS, "t", "deleted")
        checks.equal(transaction.scan(MEMBERS, limit=5), [], "a scan after a delete")
        checks.equal(transaction.count(MEMBERS, "t", limit=5), 0, "a count after a delete")

    kit.engine.write(change)


@case("T1", strength=MULTI, across=True)
def what_is_put_and_deleted_again_is_gone_whether_it_was_there_or_not(kit: Kit) -> None:
    kit.engine.put(PAIRS, Pair("old", "", 1))

    def come_and_go(transaction: Transaction) -> list[bool]:
        for name in ("old", "new"):
            transaction.put(PAIRS, Pair(name, "", 2))
        return [transaction.delete(PAIRS, name, "") for name in ("old", "new", "old")]

    checks.equal(kit.engine.write(come_and_go), [True, True, False], "what the deletes answered")
    checks.equal(kit.engine.scan(PAIRS, limit=9), [], "the rows")


@case("T1", strength=MULTI, across=True)
def nobody_sees_a_transaction_before_it_is_committed(kit: Kit) -> None:
    look = furnish(kit)
    before = look()
    other = kit.another()
    looks: list[Started[list[Any]]] = []

    def change(transaction: Transaction) -> None:
        change_everything(transaction)
        if not looks:
            looks.append(Started(look))
            looks.append(Started(lambda: kit.engine.read(all_rows)))
            looks.append(Started(lambda: other.read(all_rows)))
            # An engine may let a reader wait for the end of the transaction, but not see into it.
            for one in looks:
                one.wait(0.1)

    kit.engine.write(change)
    after = look()
    checks.true(after != before, "the transaction changed nothing")
    for one in looks:
        seen = one.end("a reader beside a transaction").value()
        if seen not in (before, after):
            # Four single reads may fall on both sides of the commit; a table by itself may not.
            parts = [[r for r in rows if type(r) is kind] for kind in (Thing, Member, Pair, Mark) for rows in (seen,)]
            for part in parts:
                both = [[r for r in rows if type(r) is type(part[0])] for rows in (before, after)]
                checks.true(part in both, f"a reader saw into a transaction: {checks.shown(part)}")


@case("T1", strength=MULTI, across=True)
def a_failed_transaction_was_never_seen_by_anybody(kit: Kit) -> None:
    furnish(kit)
    other = kit.another()
    seen: list[Started[tuple[Mark | None, Thing | None]]] = []

    def peek() -> tuple[Mark | None, Thing | None]:
        return other.get(MARKS, "new"), other.get(THINGS, "changed")

    def change(transaction: Transaction) -> None:
        change_everything(transaction)
        seen.append(Started(peek))
        seen[-1].wait(0.1)
        raise Oops

    checks.raises(Oops, "the write", kit.engine.write, change)
    for one in seen:
        checks.equal(one.end().value(), (None, Thing("changed", 1, "before")), "what a reader saw beside it")


def _crowd(kit: Kit, changes: list[Callable[[Transaction], Any]]) -> list[Any]:
    """What comes of changes that pile up behind a transaction in progress, as they do in a group commit."""
    holds, go = threading.Event(), threading.Event()

    def hold(_transaction: Transaction) -> None:
        holds.set()
        go.wait(PATIENCE)

    first = Started(lambda: kit.engine.write(hold))
    checks.true(holds.wait(PATIENCE), "the first transaction begins")
    waiting = [Started(partial(kit.engine.write, change)) for change in changes]
    for one in waiting:
        one.wait(0.01)
    go.set()
    first.end().value()
    return [one.end("a transaction behind another") for one in waiting]


@case("T1", strength=MULTI)
def a_function_that_raises_spoils_none_of_its_neighbours(kit: Kit) -> None:
    def change(number: int) -> Callable[[Transaction], int]:
        def run(transaction: Transaction) -> int:
            transaction.insert(THINGS, Thing(f"first {number}", number))
            transaction.insert(MARKS, Mark(f"second {number}"))
            if number % 3 == 1:
                raise Oops(number)
            return number

        return run

    ended = _crowd(kit, [change(number) for number in range(12)])
    good = [number for number in range(12) if number % 3 != 1]
    for number, one in enumerate(ended):
        if number in good:
            checks.equal(one.value(), number, f"the result of writer {number}")
        else:
            checks.equal((type(one.error), one.error.args), (Oops, (number,)), f"the fault of writer {number}")
    things = sorted(thing.version for thing in kit.engine.scan(THINGS, limit=100))
    checks.equal(things, good, "the writers whose first row is kept")
    checks.equal(kit.engine.count(MARKS, limit=100), len(good), "second rows kept")


@case("T1", strength=MULTI)
def neighbours_that_touch_the_same_row_each_see_the_truth(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("shared", 0))

    def raise_it(transaction: Transaction) -> int:
        thing = transaction.get(THINGS, "shared")
        assert thing is not None
        transaction.update(THINGS, thing.replace(version=thing.version + 1), expect=thing.version)
        return thing.version + 1

    def spoil(transaction: Transaction) -> int:
        raise_it(transaction)
        raise Oops

    ended = _crowd(kit, [spoil if number % 4 == 2 else raise_it for number in range(12)])
    results = sorted(one.result for one in ended if one.error is None)
    checks.equal(results, list(range(1, 10)), "the versions that the writers say they wrote")
    checks.equal(kit.engine.get(THINGS, "shared"), Thing("shared", 9), "the row")


@case("T1", strength=MULTI)
def of_neighbours_that_create_one_key_exactly_one_succeeds(kit: Kit) -> None:
    def create(number: int) -> Callable[[Transaction], int]:
        def run(transaction: Transaction) -> int:
            transaction.insert(MARKS, Mark("one", str(number)))
            if number < 3:
                raise Oops
            return number

        return run

    ended = _crowd(kit, [create(number) for number in range(8)])
    winners = [one.result for one in ended if one.error is None]
    checks.equal(len(winners), 1, "winners")
    checks.equal(kit.engine.get(MARKS, "one"), Mark("one", str(winners[0])), "the row")
    # One that failed may have been refused, or have raised; whoever was going to raise could not win.
    faults = {type(error) for error in errors_of(ended)}
    checks.true(faults <= {Oops, AlreadyExists}, f"faults other than these: {faults}")


@case("T1")
def neighbours_on_single_rows_each_get_their_own_answer(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("held", 1))
    calls: list[Callable[[], object]] = []
    for number in range(5):
        calls.append(partial(kit.engine.insert, THINGS, Thing(f"new {number}", number)))
        calls.append(partial(kit.engine.insert, THINGS, Thing("held", 9)))
        calls.append(partial(kit.engine.update, THINGS, Thing("held", 9), expect=7))
        calls.append(partial(kit.engine.delete, MEMBERS, "t", str(number)))
    ended = together(calls)
    for number in range(5):
        new, held, stale, absent = ended[4 * number : 4 * number + 4]
        checks.equal(new.error, None, "the fault of a good insert")
        checks.equal(type(held.error), AlreadyExists, "the fault of a second insert")
        checks.equal(type(stale.error), VersionMismatch, "the fault of a stale update")
        checks.equal((absent.error, absent.result), (None, False), "the answer to a delete of nothing")
    checks.equal(kit.engine.count(THINGS, limit=50), 6, "rows")


@case("T3")
def what_a_write_function_raises_comes_out_as_the_same_object(kit: Kit) -> None:
    for raised in (Oops("own"), Halt(), ValueError("own"), KeyError("k"), AlreadyExists("own"), Conflict("own")):

        def change(_transaction: Any, raised: BaseException = raised) -> None:
            raise raised

        for call in (kit.engine.write, kit.engine.read):
            try:
                call(change)
            except BaseException as found:
                checks.same(found, raised, f"what came out of {call.__name__}")
                checks.true(found.__cause__ is None, f"{call.__name__} gave {found!r} a cause")
            else:
                raise checks.Failed(f"{call.__name__} swallowed {raised!r}")


@case("T3", strength=MULTI)
def each_neighbour_gets_its_own_exception(kit: Kit) -> None:
    raised = [Oops(number) for number in range(8)]

    def change(number: int) -> Callable[[Transaction], None]:
        def run(transaction: Transaction) -> None:
            transaction.put(PAIRS, Pair("p", str(number)))
            raise raised[number]

        return run

    for number, one in enumerate(_crowd(kit, [change(number) for number in range(8)])):
        checks.same(one.error, raised[number], f"the fault of writer {number}")
    checks.equal(kit.engine.scan(PAIRS, limit=10), [], "the rows")


@case("T3", strength=MULTI)
def a_fault_that_is_raised_again_is_the_fault_of_the_operation(kit: Kit) -> None:
    kit.engine.insert(MARKS, Mark("a"))
    caught: list[BaseException] = []

    def change(transaction: Transaction) -> None:
        transaction.insert(MARKS, Mark("b"))
        try:
            transaction.insert(MARKS, Mark("a"))
        except AlreadyExists as fault:
            caught.append(fault)
            raise

    checks.same(checks.raises(AlreadyExists, "the write", kit.engine.write, change), caught[-1], "what came out")
    checks.equal(kit.engine.scan(MARKS, limit=5), [Mark("a")], "the rows")


@case("T5", strength=MULTI, across=True)
def an_abandoned_transaction_keeps_nothing_and_gives_out_its_result(kit: Kit) -> None:
    look = furnish(kit)
    before = look()
    result = object()

    def change(transaction: Transaction) -> object:
        change_everything(transaction)
        return transaction.abandon(result)

    checks.same(kit.engine.write(change), result, "the result")
    checks.equal(look(), before, "the rows")
    kit.engine.write(change_everything)
    checks.true(look() != before, "the next transaction is kept")


@case("T5")
def an_abandoned_insert_was_never_made(kit: Kit) -> None:
    def change(transaction: Transaction) -> str:
        transaction.insert(MARKS, Mark("a", "abandoned"))
        return transaction.abandon("result")

    for _ in range(2):
        checks.equal(kit.engine.write(change), "result", "the result")
        checks.equal(kit.engine.get(MARKS, "a"), None, "the row")
    kit.engine.insert(MARKS, Mark("a", "kept"))
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a", "kept"), "the row inserted afterwards")


@case("T5", strength=MULTI)
def an_abandoned_transaction_spoils_none_of_its_neighbours(kit: Kit) -> None:
    def change(number: int) -> Callable[[Transaction], int]:
        def run(transaction: Transaction) -> int:
            entry = LOG.append_in(transaction, "s", make=lambda position: Entry("s", position, str(number)))
            return transaction.abandon(entry.position) if number % 2 else entry.position

        return run

    ended = _crowd(kit, [change(number) for number in range(10)])
    checks.equal(errors_of(ended), [], "faults")
    entries = LOG.read(kit.engine, "s", limit=100)
    checks.equal(sorted(int(entry.text) for entry in entries), [0, 2, 4, 6, 8], "the entries of those who committed")


@case("T5", strength=MULTI)
def a_transaction_that_was_abandoned_still_raises(kit: Kit) -> None:
    def change(transaction: Transaction) -> None:
        transaction.insert(MARKS, Mark("a"))
        transaction.abandon(None)
        raise Oops

    checks.raises(Oops, "the write", kit.engine.write, change)
    checks.equal(kit.engine.get(MARKS, "a"), None, "the row")
