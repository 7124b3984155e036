"""R1 and R2: what a reader sees of those who write."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

import threading
from functools import partial
from typing import Any

from strongroom.conformance import checks
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import MARKS, MEMBERS, PAIRS, THINGS, Mark, Member, Pair, Thing
from strongroom.conformance.threads import Started, errors_of, together
from strongroom.engine import Reader, Strength, Transaction


@case("R1")
def a_read_sees_every_write_that_was_acknowledged_before(kit: Kit) -> None:
    one, other = kit.engine, kit.another()
    one.insert(THINGS, Thing("a", 0))
    for version in range(1, 12):
        writer, reader = (one, other) if version % 2 else (other, one)
        thing = Thing("a", version, f"text {version}")
        writer.update(THINGS, thing, expect=version - 1)
        writer.insert(MARKS, Mark(f"m{version:02}"))
        for port in (reader, writer):
            checks.equal(port.get(THINGS, "a"), thing, f"get after write {version}")
            checks.equal(port.get_many(THINGS, [("a",)]), [thing], f"get_many after write {version}")
            checks.equal(port.count(MARKS, limit=100), version, f"count after write {version}")
            checks.equal(
                port.scan(MARKS, limit=1, reverse=True), [Mark(f"m{version:02}")], f"scan after write {version}"
            )
            checks.equal(port.read(lambda r: r.get(THINGS, "a")), thing, f"a snapshot after write {version}")
            checks.equal(port.write(lambda t: t.get(THINGS, "a")), thing, f"a transaction after write {version}")


@case("R1", strength=Strength.MULTI_RECORD)
def whoever_is_told_of_a_commit_can_read_it_anywhere(kit: Kit) -> None:
    other = kit.another()
    missed: list[str] = []

    def write(writer: int) -> None:
        for turn in range(8):
            name = f"{writer} {turn}"

            def change(transaction: Transaction, name: str = name) -> str:
                transaction.insert(MARKS, Mark(name))
                transaction.put(PAIRS, Pair("p", name))
                return name

            told = kit.engine.write(change)
            if other.get(MARKS, told) is None or kit.engine.get(PAIRS, "p", told) is None:
                missed.append(told)

    ended = together([partial(write, writer) for writer in range(6)])
    checks.equal(errors_of(ended), [], "faults")
    checks.equal(missed, [], "rows that were not there when their writer was told that they are kept")


@case("R1")
def a_delete_that_was_acknowledged_is_seen_everywhere(kit: Kit) -> None:
    one, other = kit.engine, kit.another()
    for turn in range(6):
        one.insert(MEMBERS, Member("t", "a", str(turn)))
        checks.equal(other.get(MEMBERS, "t", "a"), Member("t", "a", str(turn)), "the row, read elsewhere")
        checks.true(other.delete(MEMBERS, "t", "a"), "the row was deleted elsewhere")
        checks.equal(one.get(MEMBERS, "t", "a"), None, "the row after it was deleted elsewhere")
        checks.equal((one.scan(MEMBERS, limit=5), one.count(MEMBERS, limit=5)), ([], 0), "the rows left")


@case("R2", strength=Strength.MULTI_RECORD, across=True)
def a_read_function_sees_one_moment(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    kit.engine.insert(MEMBERS, Member("t", "leaves"))
    other = kit.another()

    def change(transaction: Transaction) -> None:
        transaction.update(THINGS, Thing("a", 2), expect=1)
        transaction.insert(THINGS, Thing("b", 2))
        transaction.insert(MEMBERS, Member("t", "comes"))
        transaction.delete(MEMBERS, "t", "leaves")

    started: list[Started[Any]] = []

    def look(reader: Reader) -> tuple[Any, Any]:
        def all_rows() -> list[Any]:
            return [
                reader.get(THINGS, "a"),
                reader.get_many(THINGS, [("a",), ("b",)]),
                reader.scan(THINGS, limit=5),
                reader.scan(MEMBERS, "t", limit=5, reverse=True),
                reader.count(THINGS, limit=5),
                reader.count(MEMBERS, "t", limit=5),
            ]

        first = all_rows()
        # An engine may let the writer wait for the reader; if it does not, the reader must not see what was written.
        started.append(Started(lambda: other.write(change)))
        started[-1].wait(0.2)
        return first, all_rows()

    first, second = kit.engine.read(look)
    checks.equal(second, first, "the second look inside one read function")
    started[0].end("the writer").value()
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 2), "the row afterwards")


@case("R2", strength=Strength.MULTI_RECORD)
def a_snapshot_is_taken_before_the_first_row_is_read(kit: Kit) -> None:
    """What a read function read first must not decide from when the rest is."""
    kit.engine.insert(MARKS, Mark("old"))
    other = kit.another()

    def change(transaction: Transaction) -> None:
        transaction.insert(MARKS, Mark("new"))
        transaction.insert(THINGS, Thing("new"))

    def look(reader: Reader) -> tuple[int, int]:
        marks = reader.count(MARKS, limit=5)
        Started(lambda: other.write(change)).wait(0.2)
        return marks, reader.count(THINGS, limit=5)

    checks.true(kit.engine.read(look) in ((1, 0), (2, 1)), "the two halves of a transaction were seen apart")


@case("R2", strength=Strength.MULTI_RECORD)
def rows_that_belong_together_are_read_together(kit: Kit) -> None:
    stop = threading.Event()
    other = kit.another()
    torn: list[Any] = []

    def put_all(number: int) -> None:
        def change(transaction: Transaction) -> None:
            for index in range(8):
                transaction.put(PAIRS, Pair("p", str(index), number))

        kit.engine.write(change)

    put_all(0)

    def write() -> None:
        for number in range(1, 30):
            put_all(number)
        stop.set()

    def read() -> None:
        while not stop.wait(0):
            looks = (
                other.scan(PAIRS, "p", limit=10),
                other.scan(PAIRS, "p", limit=10, reverse=True),
                other.read(lambda reader: [reader.get(PAIRS, "p", str(i)) for i in range(8)]),
            )
            torn.extend(rows for rows in looks if len({row.number for row in rows if row}) != 1)

    reader = Started(read)
    writer = Started(write)
    writer.end("the writer").value()
    stop.set()
    reader.end("the reader").value()
    checks.equal(torn[:1], [], "a scan or a read function that saw two moments")
