"""Guards of partitions: what is relied on is settled before, and stays as it was until the commit (T2)."""

from __future__ import annotations

from typing import Any

import pytest

from strongroom.engine import Transaction
from strongroom.engines.dynamodb import DynamoEngine
from strongroom.engines.dynamodb.places import key_of, partition_of, place_of
from strongroom.records import encode_key
from tests.engines.dynamodb.calls import Calls, cancelled, lost
from tests.engines.dynamodb.conftest import Open
from tests.engines.shelf import BOOKS, LOANS, SCORES, Book, Loan, Score

MAPS = partition_of(LOANS, encode_key(LOANS, ("maps",)))
WRITE = "TransactWriteItems"


def guard(store: DynamoEngine, partition: bytes = MAPS) -> dict[str, Any]:
    """A partition's guard, as it is stored."""
    found = store._store.service.get((partition, b"\0"))
    assert found is not None
    return found


def slots(store: DynamoEngine) -> list[str]:
    return [name for name in guard(store) if name.startswith("_s")]


def test_what_changes_the_rows_of_a_partition_is_counted_by_its_guard(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "atlas"))
    store.insert(LOANS, Loan("maps", "globe"))
    store.delete(LOANS, "maps", "atlas")
    store.delete(LOANS, "maps", "atlas")  # it is gone: nothing changes
    assert guard(store)["_n"] == {"N": "3"}


def test_an_update_in_place_is_not_counted(store: DynamoEngine) -> None:
    store.insert(BOOKS, Book("maps", "atlas"))
    store.update(BOOKS, Book("maps", "atlas", version=2), expect=1)
    store.write(lambda tx: tx.update(BOOKS, Book("maps", "atlas", version=3), expect=2))
    assert guard(store, partition_of(BOOKS, encode_key(BOOKS, ("maps",))))["_n"] == {"N": "1"}


def test_a_guard_names_the_rows_that_an_engine_changed_last(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "atlas"))
    store.insert(LOANS, Loan("maps", "globe"))
    [slot] = slots(store)
    _token, *sorts = guard(store)[slot]["L"]
    assert sorts == [{"B": place_of(LOANS, ("maps", "globe"))[1]}]


def test_another_engine_s_change_is_settled_before_a_walk_relies_on_it(open_store: Open) -> None:
    writer, reader = open_store(), open_store()
    writer.insert(LOANS, Loan("maps", "atlas"))
    calls = Calls(reader)
    calls.answer("TransactGetItems", cancelled("TransactionConflict"))  # the row is yet to come
    assert reader.scan(LOANS, "maps", limit=5) == [Loan("maps", "atlas")]
    assert calls.names == ["GetItem", "TransactGetItems", "TransactGetItems", "Query", "TransactGetItems"]
    [settling, again, proof] = calls.of("TransactGetItems")
    assert settling["TransactItems"][0]["Get"]["Key"] == key_of(place_of(LOANS, ("maps", "atlas")))
    assert again == settling
    assert proof["TransactItems"][0]["Get"]["Key"] == key_of((MAPS, b"\0"))


def test_an_engine_s_own_changes_are_settled_when_they_are_acknowledged(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "atlas"))
    calls = Calls(store)
    for title in ("globe", "chart"):
        store.insert(LOANS, Loan("maps", title))
    assert len(store.scan(LOANS, "maps", limit=5)) == 3
    assert calls.names == [WRITE, WRITE, "Query", "TransactGetItems"]


def test_a_guard_that_somebody_else_changed_is_found_out_and_read_again(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.insert(LOANS, Loan("maps", "atlas"))
    other.insert(LOANS, Loan("maps", "globe"))
    one.insert(LOANS, Loan("maps", "chart"))  # blindly: it takes its own for the second change
    calls = Calls(one)
    assert len(one.scan(LOANS, "maps", limit=5)) == 3
    proofs = [len(sent["TransactItems"]) for sent in calls.of("TransactGetItems")]
    assert proofs == [1, 1, 1], "the guard is another, the other's row is settled, the guard is as it was"


def test_what_an_unanswered_change_left_in_a_slot_stays_there_until_it_is_settled(store: DynamoEngine) -> None:
    store.insert(LOANS, Loan("maps", "atlas"))
    before = set(slots(store))
    store._store.service.timeout = 0.2
    calls = Calls(store)
    calls.answer(WRITE, *[lost] * 1000)
    with pytest.raises(Exception, match="no answer"):
        store.insert(LOANS, Loan("maps", "globe"))
    calls.answer_no_more()
    store._store.service.timeout = 30
    store.insert(LOANS, Loan("maps", "chart"))
    assert before < set(slots(store))


def test_the_slots_of_engines_that_are_gone_are_taken_away(open_store: Open) -> None:
    last = open_store()
    for number in range(9):
        open_store().insert(LOANS, Loan("maps", f"{number}"))
    assert len(slots(last)) == 9
    last.insert(LOANS, Loan("maps", "last"))
    assert len(slots(last)) == 1
    assert len(last.scan(LOANS, "maps", limit=20)) == 10


def test_rows_that_came_into_a_range_meanwhile_make_the_function_run_again(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.insert(LOANS, Loan("maps", "atlas"))
    runs: list[int] = []

    def move_in(transaction: Transaction) -> bool:
        there = transaction.count(LOANS, "maps", limit=5)
        runs.append(there)
        if len(runs) == 1:
            other.insert(LOANS, Loan("maps", "rival"))
        if there == 1:
            transaction.insert(SCORES, Score("maps", 1.0, "alone"))
        return there == 1

    assert one.write(move_in) is False
    assert runs == [1, 2]
    assert one.count(SCORES, "maps", limit=5) == 0


def test_rows_that_a_walk_saw_and_that_were_updated_meanwhile_make_the_function_run_again(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.insert(BOOKS, Book("maps", "atlas"))
    runs: list[int] = []

    def lend(transaction: Transaction) -> None:
        [book] = transaction.scan(BOOKS, "maps", limit=5)
        runs.append(book.version)
        if len(runs) == 1:
            other.update(BOOKS, book.replace(version=2), expect=1)
        transaction.insert(LOANS, Loan("maps", f"{book.title} {book.version}"))

    one.write(lend)
    assert runs == [1, 2]
    assert one.scan(LOANS, "maps", limit=5) == [Loan("maps", "atlas 2")]


def test_a_walk_across_partitions_holds_for_partitions_that_are_yet_to_come(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.insert(LOANS, Loan("maps", "atlas"))
    runs: list[int] = []

    def count(transaction: Transaction) -> None:
        there = transaction.count(LOANS, limit=9)
        runs.append(there)
        if len(runs) == 1:
            other.insert(LOANS, Loan("novels", "emma"))
        transaction.insert(BOOKS, Book("maps", "count", copies=there))

    one.write(count)
    assert runs == [1, 2]
    assert one.read(lambda reader: reader.count(LOANS, limit=9)) == 2
