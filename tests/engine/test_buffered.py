"""Buffered transactions and their groups: right as the memory engine is, in as few trips as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

import pytest

from strongroom.conformance import UrlHarness, WrappedHarness, conformance_tests
from strongroom.conformance.mutants.ground_buffered import BufferedEngine
from strongroom.engine import Job, Transaction, Work
from strongroom.engine.operations import OpenTransaction
from strongroom.errors import AlreadyExists, InvalidArgument, StrongroomError, TooLarge, VersionMismatch
from strongroom.patterns import Log
from strongroom.records import MEMBERSHIP, REPLACEABLE, VERSIONED, Identifier, Integer, Record, Schema, Table, desc

test_conformance = conformance_tests(
    lambda _folder: WrappedHarness(UrlHarness("memory://buffered"), BufferedEngine, name="buffered memory")
)


class Count(Record):
    name: Annotated[str, Identifier(20)]
    number: int = 1


class Entry(Record):
    log: Annotated[str, Identifier(20)]
    position: Annotated[int, Integer(1)]
    text: Annotated[str, Identifier(20)] = "x"


COUNTS = Table("counts", Count, key=("name",), changes=VERSIONED("number"))
MEMBERS = Table("members", Entry, key=("log", "position"), changes=MEMBERSHIP)
NOTES = Table("notes", Entry, key=("log", "position"), changes=REPLACEABLE)
ENTRIES = Table("entries", Entry, key=("log", "position"))
SCHEMA = Schema("buffered", COUNTS, MEMBERS, NOTES, ENTRIES)


@pytest.fixture
def engine() -> Iterator[BufferedEngine]:
    with BufferedEngine() as made:
        made.prepare(SCHEMA)
        yield made


def together(engine: BufferedEngine, *changes: Callable[[Transaction], object]) -> list[object]:
    """What each function returned, or the fault that it raised, run as one group."""
    jobs = [Job(_work(engine, change)) for change in changes]
    engine.runner.run(jobs)
    return [job.result if job.error is None else job.error for job in jobs]


def _work(engine: BufferedEngine, change: Callable[[Transaction], object]) -> Work:
    return Work(lambda rows: change(OpenTransaction(rows, engine._codecs)))


def trips(engine: BufferedEngine) -> list[str]:
    return engine.sessions[-1].trips


def bump(transaction: Transaction) -> int:
    found = transaction.get(COUNTS, "a")
    assert found is not None
    transaction.update(COUNTS, Count("a", found.number + 1), expect=found)
    return found.number + 1


class TestTrips:
    def test_a_read_and_the_write_of_what_was_read_are_two(self, engine: BufferedEngine) -> None:
        engine.insert(COUNTS, Count("a"))
        engine.write(bump)
        assert trips(engine) == ["fetch", "commit"]

    def test_a_new_row_is_not_looked_for(self, engine: BufferedEngine) -> None:
        engine.write(lambda tx: tx.insert(COUNTS, Count("a")))
        assert trips(engine) == ["commit"]

    def test_many_bumps_of_one_counter_read_it_once(self, engine: BufferedEngine) -> None:
        engine.insert(COUNTS, Count("a"))
        assert together(engine, bump, bump, bump) == [2, 3, 4]
        assert trips(engine) == ["fetch", "commit"]
        assert engine.get(COUNTS, "a") == Count("a", 4)

    def test_appends_of_one_group_look_for_the_head_once(self, engine: BufferedEngine) -> None:
        log = Log(ENTRIES)

        def append(transaction: Transaction) -> int:
            return log.append_in(transaction, "l", make=lambda at: Entry("l", at)).position

        assert together(engine, append, append, append) == [1, 2, 3]
        assert trips(engine) == ["fetch_range", "commit"]
        assert together(engine, append, append) == [4, 5]
        assert trips(engine) == ["fetch_range", "commit"]


class TestGroups:
    def test_a_row_that_was_there_makes_the_group_run_again_and_each_is_told_the_truth(
        self, engine: BufferedEngine
    ) -> None:
        engine.insert(COUNTS, Count("a"))
        outcomes = together(
            engine,
            lambda tx: tx.insert(COUNTS, Count("b")),
            lambda tx: tx.insert(COUNTS, Count("a", 9)),
            lambda tx: tx.insert(COUNTS, Count("b")),
        )
        assert outcomes[0] is None
        assert isinstance(outcomes[1], AlreadyExists)
        assert isinstance(outcomes[2], AlreadyExists)
        assert engine.get(COUNTS, "a") == Count("a")
        before = len(engine.sessions)
        with pytest.raises(AlreadyExists):
            engine.write(lambda tx: tx.insert(COUNTS, Count("a", 9)))
        assert len(engine.sessions) == before + 1, "for a while, such rows are looked for first"

    def test_what_one_function_wrote_before_it_failed_is_gone_for_the_next(self, engine: BufferedEngine) -> None:
        def fail(transaction: Transaction) -> None:
            transaction.insert(COUNTS, Count("a"))
            transaction.put(NOTES, Entry("n", 1))
            raise InvalidArgument("no")

        outcomes = together(engine, fail, lambda tx: (tx.get(COUNTS, "a"), tx.count(NOTES, "n", limit=9)))
        assert isinstance(outcomes[0], InvalidArgument)
        assert outcomes[1] == (None, 0)
        assert engine.get(COUNTS, "a") is None

    def test_a_function_that_is_broken_by_the_database_does_not_break_its_neighbours(
        self, engine: BufferedEngine
    ) -> None:
        elsewhere = Table("elsewhere", Count, key=("name",), changes=VERSIONED("number"))
        outcomes = together(
            engine,
            lambda tx: tx.insert(COUNTS, Count("a")),
            lambda tx: tx.get(elsewhere, "a"),
            lambda tx: tx.insert(COUNTS, Count("b")),
        )
        assert isinstance(outcomes[1], InvalidArgument)
        assert engine.count(COUNTS, limit=9) == 2

    def test_a_function_that_fails_because_a_row_was_taken_for_new_is_run_again(self, engine: BufferedEngine) -> None:
        engine.insert(COUNTS, Count("a"))

        def insist(transaction: Transaction) -> str:
            try:
                transaction.insert(COUNTS, Count("a"))
            except AlreadyExists:
                return "it was there"
            raise InvalidArgument("it was not there")

        assert engine.write(insist) == "it was there"

    def test_what_is_abandoned_because_a_row_was_taken_for_new_is_run_again(self, engine: BufferedEngine) -> None:
        engine.insert(COUNTS, Count("a"))

        def look(transaction: Transaction) -> str:
            try:
                transaction.insert(COUNTS, Count("a"))
            except AlreadyExists:
                return "it was there"
            return transaction.abandon("it was not there")

        assert engine.write(look) == "it was there"

    def test_what_is_too_much_together_is_committed_in_parts_and_what_is_too_much_alone_is_refused_alone(
        self, engine: BufferedEngine
    ) -> None:
        def insert(name: str, rows: int) -> Callable[[Transaction], None]:
            def change(transaction: Transaction) -> None:
                for i in range(rows):
                    transaction.insert(COUNTS, Count(f"{name}{i}"))

            return change

        engine.most = 3
        outcomes = together(engine, *[insert(name, 4 if name == "c" else 1) for name in "abcdef"])
        assert [type(outcome) for outcome in outcomes] == [type(None)] * 2 + [TooLarge] + [type(None)] * 3
        assert [count.name for count in engine.scan(COUNTS, limit=9)] == ["a0", "b0", "d0", "e0", "f0"]

    def test_a_function_that_goes_on_after_a_fault_gets_the_fault_all_the_same(self, engine: BufferedEngine) -> None:
        elsewhere = Table("elsewhere", Count, key=("name",), changes=VERSIONED("number"))

        def go_on(transaction: Transaction) -> str:
            with pytest.raises(InvalidArgument):
                transaction.get(elsewhere, "a")
            transaction.insert(COUNTS, Count("a"))
            return "done"

        with pytest.raises(InvalidArgument, match="elsewhere"):
            engine.write(go_on)
        assert engine.get(COUNTS, "a") is None

    def test_of_many_rows_the_last_of_which_was_there_none_is_taken_for_new_again(self, engine: BufferedEngine) -> None:
        engine.insert(COUNTS, Count("299"))

        def insert_all(transaction: Transaction) -> None:
            for number in range(300):
                transaction.insert(COUNTS, Count(str(number)))

        before = len(engine.sessions)
        with pytest.raises(AlreadyExists, match="299"):
            engine.write(insert_all)
        assert len(engine.sessions) == before + 2
        assert engine.count(COUNTS, limit=9) == 1

    def test_a_row_that_can_not_be_looked_for_is_the_fault_of_whoever_asks_for_it(self, engine: BufferedEngine) -> None:
        elsewhere = Table("elsewhere", Count, key=("name",), changes=VERSIONED("number"))
        for name in "abcdefgh":
            engine.insert(COUNTS, Count(name))

        def update(table: Table[Count], name: str) -> Job[Work]:
            work = _work(engine, lambda tx: tx.update(table, Count(name, 2), expect=1))
            return Job(replace(work, touches=(table, (name,))))

        jobs = [update(elsewhere if name == "e" else COUNTS, name) for name in "abcdefgh"]
        engine.runner.run(jobs)
        assert [type(job.error) for job in jobs] == [type(None)] * 4 + [InvalidArgument] + [type(None)] * 3
        assert [count.number for count in engine.scan(COUNTS, limit=9)] == [2, 2, 2, 2, 1, 2, 2, 2]


class TestDeclarations:
    def test_two_equal_declarations_of_a_table_share_what_is_known_of_it(self, engine: BufferedEngine) -> None:
        again = Table("counts", Count, key=("name",), changes=VERSIONED("number"))
        engine.insert(COUNTS, Count("a"))
        outcomes = together(
            engine,
            lambda tx: tx.update(COUNTS, Count("a", 2), expect=1),
            lambda tx: tx.update(again, Count("a", 9), expect=1),
            lambda tx: tx.get(again, "a"),
        )
        assert isinstance(outcomes[1], VersionMismatch), "no update is lost"
        assert outcomes[2] == engine.get(COUNTS, "a") == Count("a", 2)

    def test_functions_with_different_declarations_of_a_table_run_apart(self, engine: BufferedEngine) -> None:
        turned = Table("counts", Count, key=(desc("name"),), changes=VERSIONED("number"))
        engine.insert(COUNTS, Count("a"))
        outcomes = together(
            engine,
            lambda tx: tx.update(COUNTS, Count("a", 2), expect=1),
            lambda tx: tx.update(turned, Count("a", 9), expect=1),
            bump,
        )
        assert isinstance(outcomes[1], VersionMismatch)
        assert outcomes[2] == 3

        def both(transaction: Transaction) -> None:
            transaction.insert(COUNTS, Count("b"))
            transaction.get(turned, "b")

        with pytest.raises(InvalidArgument, match="one declaration"):
            engine.write(both)
        assert engine.get(COUNTS, "b") is None


class TestOverlay:
    def test_a_count_has_what_the_function_changed(self, engine: BufferedEngine) -> None:
        for at in range(1, 6):
            engine.insert(MEMBERS, Entry("m", at))

        def change(transaction: Transaction) -> list[int]:
            counts = [transaction.count(MEMBERS, "m", limit=4)]
            for at in (1, 2, 3):
                transaction.delete(MEMBERS, "m", at)
            counts.append(transaction.count(MEMBERS, "m", limit=9))
            transaction.insert(MEMBERS, Entry("m", 9))
            transaction.insert(MEMBERS, Entry("other", 9))
            counts.append(transaction.count(MEMBERS, "m", limit=9))
            counts.append(transaction.count(MEMBERS, "m", limit=2))
            return counts

        assert engine.write(change) == [4, 2, 3, 2]
        assert engine.count(MEMBERS, "m", limit=9) == 3

    def test_a_row_put_without_a_look_counts_once(self, engine: BufferedEngine) -> None:
        engine.put(NOTES, Entry("n", 1))

        def change(transaction: Transaction) -> int:
            transaction.put(NOTES, Entry("n", 1, "again"))
            transaction.put(NOTES, Entry("n", 2))
            return transaction.count(NOTES, "n", limit=9)

        assert engine.write(change) == 2

    def test_a_page_has_what_the_function_changed_in_both_directions(self, engine: BufferedEngine) -> None:
        for at in (1, 3, 5, 7, 9):
            engine.insert(MEMBERS, Entry("m", at))

        def change(transaction: Transaction) -> list[list[int]]:
            for at in (3, 5):
                transaction.delete(MEMBERS, "m", at)
            for at in (4, 8, 11):
                transaction.insert(MEMBERS, Entry("m", at))
            pages = [
                transaction.scan(MEMBERS, "m", limit=3),
                transaction.scan(MEMBERS, "m", limit=3, reverse=True),
                transaction.scan(MEMBERS, "m", start=(4,), stop=(9,), limit=9),
                transaction.scan(MEMBERS, "m", after=(4,), limit=2),
            ]
            return [[entry.position for entry in page] for page in pages]

        assert engine.write(change) == [[1, 4, 7], [11, 9, 8], [4, 7, 8], [7, 8]]

    def test_a_row_that_is_inserted_and_removed_again_was_looked_for(self, engine: BufferedEngine) -> None:
        engine.insert(MEMBERS, Entry("m", 1))

        def change(transaction: Transaction) -> None:
            transaction.insert(MEMBERS, Entry("m", 1))
            transaction.delete(MEMBERS, "m", 1)

        with pytest.raises(AlreadyExists):
            engine.write(change)
        assert engine.count(MEMBERS, limit=9) == 1

    def test_a_new_row_that_was_walked_over_and_counted_can_be_removed_again(self, engine: BufferedEngine) -> None:
        def change(transaction: Transaction) -> list[object]:
            transaction.insert(MEMBERS, Entry("m", 1))
            seen: list[object] = [len(transaction.scan(MEMBERS, "m", limit=9)), transaction.count(MEMBERS, limit=9)]
            return [*seen, transaction.delete(MEMBERS, "m", 1), transaction.get(MEMBERS, "m", 1)]

        assert engine.write(change) == [1, 1, True, None]
        assert engine.count(MEMBERS, limit=9) == 0

    def test_a_walk_that_meets_a_row_which_was_taken_for_new_says_so(self, engine: BufferedEngine) -> None:
        engine.insert(MEMBERS, Entry("m", 1))
        told: list[object] = []

        def change(transaction: Transaction) -> None:
            transaction.insert(MEMBERS, Entry("m", 1, "mine"))
            try:
                transaction.scan(MEMBERS, "m", limit=9)
            except StrongroomError as fault:
                told.append(fault)

        with pytest.raises(AlreadyExists):
            engine.write(change)
        assert len(told) == 1, "also a function that goes on is run again"
        assert engine.get(MEMBERS, "m", 1) == Entry("m", 1)

    def test_a_change_back_to_what_was_is_no_change(self, engine: BufferedEngine) -> None:
        engine.insert(COUNTS, Count("a"))

        def change(transaction: Transaction) -> None:
            transaction.update(COUNTS, Count("a", 2), expect=1)
            with pytest.raises(VersionMismatch):
                transaction.update(COUNTS, Count("a", 3), expect=1)
            transaction.update(COUNTS, Count("a", 1), expect=2)

        engine.write(change)
        assert engine.get(COUNTS, "a") == Count("a")
