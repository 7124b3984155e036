"""What is the memory engine's own: versions that are kept as long as somebody sees them, and rows in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sortedcontainers import sorteddict, sortedlist

import strongroom
from strongroom.engine import Reader, Transaction
from strongroom.engines import memory
from strongroom.engines.memory import MemoryEngine, _Version
from strongroom.errors import Corrupt
from strongroom.records import encode_key
from tests.engines.shelf import BOOKS, LOANS, SHELF, Book, Loan
from tests.interrupts import interrupted_everywhere


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with MemoryEngine() as made:
        made.prepare(SHELF)
        yield made


def versions(engine: MemoryEngine, table: str) -> int:
    count = 0
    for newest in engine._store.tables[table].values():
        version: _Version | None = newest
        while version is not None:
            count += 1
            version = version.before
    return count


def test_without_snapshots_one_version_of_each_row_is_kept_and_none_of_a_deleted_one(engine: MemoryEngine) -> None:
    engine.insert(BOOKS, Book("a", "b"))
    for n in range(1, 5):
        engine.update(BOOKS, Book("a", "b", version=n + 1), expect=n)
    engine.insert(LOANS, Loan("a", "b"))
    engine.delete(LOANS, "a", "b")
    assert (versions(engine, "books"), versions(engine, "loans")) == (1, 0)


def test_what_a_snapshot_sees_is_kept_until_it_ends_and_no_longer(engine: MemoryEngine) -> None:
    engine.insert(BOOKS, Book("a", "b"))
    engine.insert(LOANS, Loan("a", "b"))

    def look(reader: Reader) -> None:
        other = MemoryEngine(engine._store)
        other.update(BOOKS, Book("a", "b", version=2), expect=1)
        other.update(BOOKS, Book("a", "b", version=3), expect=2)
        other.delete(LOANS, "a", "b")
        assert reader.get(BOOKS, "a", "b") == Book("a", "b", version=1)
        assert reader.get(LOANS, "a", "b") == Loan("a", "b")
        other.close()

    engine.read(look)
    assert engine.get(BOOKS, "a", "b") == Book("a", "b", version=3)
    assert (versions(engine, "books"), versions(engine, "loans")) == (1, 0)


def test_a_whole_row_that_was_copied_under_another_key_is_corrupt(engine: MemoryEngine) -> None:
    engine.insert(BOOKS, Book("a", "b"))
    rows = engine._store.tables["books"]
    rows[encode_key(BOOKS, ("a", "c"))] = rows[encode_key(BOOKS, ("a", "b"))]
    assert engine.get(BOOKS, "a", "b") == Book("a", "b")
    with pytest.raises(Corrupt):
        engine.get(BOOKS, "a", "c")
    with pytest.raises(Corrupt):
        engine.scan(BOOKS, "a", limit=9)


def test_many_records_are_read_from_one_snapshot(engine: MemoryEngine) -> None:
    engine.insert(BOOKS, Book("a", "b"))
    real = engine._read
    asked: list[int] = []

    def counting(work: object) -> object:
        asked.append(1)
        return real(work)  # type: ignore[arg-type]

    engine._read = counting  # type: ignore[method-assign, assignment]
    assert engine.get_many(BOOKS, [("a", "b"), ("a", "c")]) == [Book("a", "b"), None]
    assert asked == [1]


def test_a_named_store_is_shared_by_all_who_open_its_name() -> None:
    with strongroom.open("memory://shelf-test") as one, strongroom.open("memory://shelf-test") as two:
        one.prepare(SHELF)
        one.insert(BOOKS, Book("a", "b"))
        assert two.get(BOOKS, "a", "b") == Book("a", "b")


def change_much(transaction: Transaction) -> None:
    for title in "bdf":
        transaction.insert(LOANS, Loan("a", title))
    for title in "ace":
        assert transaction.delete(LOANS, "a", title)
    transaction.update(BOOKS, Book("a", "b", version=2), expect=1)


def change_and_raise(transaction: Transaction) -> None:
    change_much(transaction)
    raise LookupError


def abandon(transaction: Transaction) -> None:
    change_much(transaction)
    transaction.abandon(None)


def shelved(engine: MemoryEngine) -> tuple[str, int]:
    book = engine.get(BOOKS, "a", "b")
    assert book is not None
    loans = engine.scan(LOANS, "a", limit=99)
    assert [engine.get(LOANS, "a", loan.title) for loan in loans] == loans
    return "".join(loan.title for loan in loans), book.version


@pytest.mark.parametrize("change", [change_much, change_and_raise, abandon])
def test_an_interrupted_transaction_is_seen_whole_or_not_at_all_also_after_the_next_one(
    change: Callable[[Transaction], None],
) -> None:
    before, after = ("ace", 1), ("bdf", 2)
    for interrupt in interrupted_everywhere(memory, sorteddict, sortedlist):
        engine = MemoryEngine()
        engine.prepare(SHELF)
        engine.insert(BOOKS, Book("a", "b"))
        for title in "ace":
            engine.insert(LOANS, Loan("a", title))

        def call(engine: MemoryEngine = engine) -> None:
            try:
                engine.write(change)
            except LookupError:
                assert change is change_and_raise

        interrupt.run(call)
        found = shelved(engine)
        assert found in ((before, after) if change is change_much else (before,)), interrupt.where
        assert interrupt.where or change is not change_much or found == after
        engine.insert(LOANS, Loan("a", "x"))
        assert shelved(engine) == (found[0] + "x", found[1]), interrupt.where


def test_an_interrupted_read_keeps_no_version_for_ever(engine: MemoryEngine) -> None:
    engine.insert(BOOKS, Book("a", "b"))
    for interrupt in interrupted_everywhere(memory):
        interrupt.run(lambda: engine.read(lambda reader: reader.get(BOOKS, "a", "b")))
        assert not engine._store.snapshots, interrupt.where
