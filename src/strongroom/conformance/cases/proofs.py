"""R4: every row is proved on every read. Each case changes stored rows behind the engine's back, or writes them as
code without this code's limits and rules would."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    LOOSE_SPANS,
    MARKS,
    READINGS,
    SAMPLES,
    SPANS,
    STAMPS,
    THINGS,
    LooseSpan,
    Mark,
    Reading,
    Sample,
    Span,
    Thing,
)
from strongroom.engine import Reader
from strongroom.errors import CLIP, Corrupt, InvalidArgument
from strongroom.records import SEAL, SEAL_BYTES, AnyTable, Stored

STORED: Final = Sample("s", 5, 5, 0.5, True, text="text", blob=b"blob", json="[1]", document={"a": 1}, secret="hunter2")


def reads_of(table: AnyTable, *key: Any) -> dict[str, Callable[[Reader], object]]:
    """Every kind of read that meets the row under `key`."""
    return {
        "get": lambda reader: reader.get(table, *key),
        "get_many": lambda reader: reader.get_many(table, [key]),
        "scan": lambda reader: reader.scan(table, limit=100),
        "scan of its prefix": lambda reader: reader.scan(table, *key[:-1], limit=100, reverse=True),
    }


def corrupt(kit: Kit, table: AnyTable, key: Sequence[Any], what: str, *, reads: Sequence[str] = ()) -> Corrupt:
    """The fault that every read of a row ends in, from the engine itself, a snapshot and a transaction."""
    fault = None
    for name, read in reads_of(table, *key).items():
        if reads and name not in reads:
            continue
        for port, call in (
            ("the engine", partial(read, kit.engine)),
            ("a snapshot", partial(kit.engine.read, read)),
            ("a transaction", partial(kit.engine.write, read)),
        ):
            fault = checks.raises(Corrupt, f"{name} in {port} after {what}", call, naming=[table.name])
            checks.equal(fault.table, table.name, f"the table that the fault names after {what}")
    assert fault is not None
    return fault


@case("R4", Ability.TAMPER)
def a_value_changed_behind_the_engine_s_back_is_found(kit: Kit) -> None:
    changes: dict[str, Stored] = {"whole": 6, "real": 0.75, "flag": 0, "text": "texT", "blob": b"bloB", "state": "open"}
    changes |= {"json": "[1 ]", "document": '{"a":2}', "secret": "hunter3", "maybe_whole": 0, "maybe_text": ""}
    for column, value in changes.items():
        kit.engine.put(SAMPLES, STORED)
        checks.equal(kit.engine.get(SAMPLES, "s"), STORED, "the row before")
        kit.harness.tamper(SAMPLES, ("s",), column, value)
        fault = corrupt(kit, SAMPLES, ("s",), f"{column} was changed")
        checks.equal((fault.key, fault.column), (("s",), SEAL), f"what the fault names after {column} was changed")
        checks.true("hunter" not in str(fault), "a sensitive value was shown")
        checks.true(not fault.retryable, "Corrupt is not retryable")


@case("R4", Ability.TAMPER)
def a_value_changed_to_nothing_or_from_nothing_is_found(kit: Kit) -> None:
    for column, value in (("maybe_text", None), ("maybe_real", None), ("maybe_blob", b""), ("maybe_flag", 0)):
        kit.engine.put(SAMPLES, STORED.replace(maybe_text="x", maybe_real=0.0))
        kit.harness.tamper(SAMPLES, ("s",), column, value)
        corrupt(kit, SAMPLES, ("s",), f"{column} became {value!r}", reads=["get", "scan"])


@case("R4", Ability.TAMPER)
def a_changed_key_is_found(kit: Kit) -> None:
    kit.engine.insert(READINGS, Reading("s", 0.5, "n", 1))
    kit.engine.insert(MARKS, Mark("a"))
    kit.harness.tamper(READINGS, ("s", 0.5, "n", 1), "degree", 0.25)
    kit.harness.tamper(MARKS, ("a",), "name", "b")
    corrupt(kit, READINGS, ("s", 0.5, "n", 1), "a key's degree was changed", reads=["scan"])
    corrupt(kit, MARKS, ("a",), "a key's name was changed", reads=["scan"])


@case("R4", Ability.TAMPER)
def a_row_copied_over_another_is_found(kit: Kit) -> None:
    """A seal that does not cover the key would go along with the values that it seals."""
    kit.keep(MARKS, [Mark("a", "from a"), Mark("b", "from b")])
    row = kit.harness.peek(MARKS, ("a",))
    checks.true(row is not None and row["value"] == "from a", "the row as it is stored")
    for column in ("value", "secret", SEAL):
        kit.harness.tamper(MARKS, ("b",), column, (row or {})[column])
    corrupt(kit, MARKS, ("b",), "another row was copied over it")
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a", "from a"), "the row that was copied")


@case("R4", Ability.TAMPER)
def a_row_copied_from_another_table_is_found(kit: Kit) -> None:
    kit.engine.insert(MARKS, Mark("a", "mark"))
    kit.engine.insert(STAMPS, Mark("a", "stamp"))
    row = kit.harness.peek(STAMPS, ("a",)) or {}
    for column in ("value", "secret", SEAL):
        kit.harness.tamper(MARKS, ("a",), column, row[column])
    corrupt(kit, MARKS, ("a",), "another table's row was copied over it")


@case("R4", Ability.TAMPER)
def an_older_row_put_back_in_part_is_found(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1, "first"))
    old = kit.harness.peek(THINGS, ("a",)) or {}
    kit.engine.update(THINGS, Thing("a", 2, "second"), expect=1)
    for columns in (("text",), (SEAL,), ("version", "text")):
        before = kit.harness.peek(THINGS, ("a",)) or {}
        for column in columns:
            kit.harness.tamper(THINGS, ("a",), column, old[column])
        corrupt(kit, THINGS, ("a",), f"{columns} were put back", reads=["get"])
        for column in columns:
            kit.harness.tamper(THINGS, ("a",), column, before[column])
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 2, "second"), "the row when all is as it was")


@case("R4", Ability.TAMPER)
def a_damaged_seal_is_found(kit: Kit) -> None:
    for seal in (b"", bytes(SEAL_BYTES), b"\xff" * SEAL_BYTES, b"x"):
        kit.engine.put(SAMPLES, STORED)
        if kit.harness.tamper(SAMPLES, ("s",), SEAL, seal):
            fault = corrupt(kit, SAMPLES, ("s",), f"its seal became {seal[:4]!r}", reads=["get", "scan"])
            checks.equal(fault.column, SEAL, "the column that the fault names")


@case("R4", Ability.TAMPER)
def a_value_of_another_kind_is_found_and_its_column_named(kit: Kit) -> None:
    wrong: list[tuple[str, Stored]] = [
        *(("whole", "5"), ("whole", 5.0), ("whole", None), ("real", "x"), ("real", 1), ("flag", 2), ("flag", -1)),
        *(
            ("text", 5),
            ("text", b"text"),
            ("blob", "blob"),
            ("json", "{"),
            ("document", "[1]"),
            ("document", '{"a": 1}'),
        ),
        *(("state", "Open"), ("small", 11), ("word", ""), ("word", "x" * 13), ("word", "é" * 7), ("maybe_flag", 5)),
        *(("text", "a\0b"), ("maybe_whole", "1"), ("real", float("inf"))),
    ]
    for column, value in wrong:
        kit.engine.put(SAMPLES, STORED)
        if kit.harness.tamper(SAMPLES, ("s",), column, value) and _took(kit, column, value):
            what = f"{column} became {value!r}"
            fault = corrupt(kit, SAMPLES, ("s",), what, reads=["get", "scan"])
            checks.equal((fault.key, fault.column), (("s",), column), f"what the fault names after {what}")
            checks.true("expected" in str(fault), f"the message should say what was expected: {fault}")


def _took(kit: Kit, column: str, value: Stored) -> bool:
    """Whether the database kept the value as it was given, and did not make another of it."""
    kept = (kit.harness.peek(SAMPLES, ("s",)) or {})[column]
    return type(kept) is type(value) and kept == value


@case("R4", Ability.TAMPER)
def a_message_shows_little_of_a_bad_value_and_nothing_of_a_sensitive_one(kit: Kit) -> None:
    kit.engine.put(SAMPLES, STORED)
    kit.harness.tamper(SAMPLES, ("s",), "word", "long" * 100)
    fault = corrupt(kit, SAMPLES, ("s",), "word became long", reads=["get"])
    checks.true("longlong" in str(fault), f"the message should show the beginning of the value: {fault}")
    checks.true("long" * (CLIP // 4 + 1) not in str(fault), f"the message shows more than {CLIP} characters: {fault}")
    kit.engine.put(SAMPLES, STORED)
    kit.harness.tamper(SAMPLES, ("s",), "secret", "hunter2" * 50)
    fault = corrupt(kit, SAMPLES, ("s",), "secret became long", reads=["get"])
    checks.equal(fault.column, "secret", "the column that the fault names")
    checks.true("hunter" not in str(fault), f"a sensitive value was shown: {fault}")


@case("R4", Ability.TAMPER)
def one_bad_row_fails_a_whole_listing_and_no_other(kit: Kit) -> None:
    kit.keep(READINGS, [Reading(station, 0.5, name, 1) for station in "ab" for name in "xyz"])
    kit.harness.tamper(READINGS, ("a", 0.5, "y", 1), "weight", 9)
    engine = kit.engine
    for what, arguments in {"all": (), "the prefix": ("a",), "its bounds": ("a", 0.5)}.items():
        checks.raises(Corrupt, f"a scan of {what}", engine.scan, READINGS, *arguments, limit=100)
    keys = [("a", 0.5, "x", 1), ("a", 0.5, "y", 1)]
    checks.raises(Corrupt, "get_many", engine.get_many, READINGS, keys)
    checks.equal(len(engine.scan(READINGS, "b", limit=100)), 3, "rows in a listing without the bad row")
    checks.equal(len(engine.scan(READINGS, "a", limit=1)), 1, "rows on a page before the bad row")
    checks.equal(len(engine.scan(READINGS, "a", after=(0.5, "y", 1), limit=9)), 1, "rows on a page behind it")
    checks.equal(engine.get(READINGS, "a", 0.5, "x", 1), Reading("a", 0.5, "x", 1), "its neighbour")
    engine.insert(READINGS, Reading("a", 0.5, "w", 1))


@case("R4", Ability.TAMPER)
def an_examination_names_every_bad_row_and_goes_on(kit: Kit) -> None:
    kit.keep(MARKS, [Mark(f"m{number:02}") for number in range(20)])
    bad = {f"m{number:02}" for number in (0, 7, 8, 19)}
    for name in bad:
        kit.harness.tamper(MARKS, (name,), "value", "changed")
    found = []
    after = None
    while page := kit.engine.examine(MARKS, after=after, limit=6):
        found += page
        after = page[-1][0]
    checks.equal([key for key, _ in found], [(f"m{number:02}",) for number in range(20)], "the keys that were examined")
    checks.equal({key[0] for key, row in found if isinstance(row, Corrupt)}, bad, "the rows that were found bad")
    checks.true(all(isinstance(row, Corrupt) or row == Mark(str(key[0])) for key, row in found), "the good rows")


@case("R4")
def a_row_that_breaks_its_table_s_rule_is_found(kit: Kit) -> None:
    kit.engine.put(SPANS, Span("good", 1, 2))
    checks.equal(kit.engine.get(SPANS, "good"), Span("good", 1, 2), "a good row")
    kit.engine.put(LOOSE_SPANS, LooseSpan("bad", 3, 2))
    fault = corrupt(kit, SPANS, ("bad",), "it was written by code without the rule")
    checks.equal(fault.key, ("bad",), "the key that the fault names")
    checks.true("first is greater than last" in str(fault), f"the message should say which rule is broken: {fault}")


@case("R4")
def a_row_over_its_columns_limits_is_found(kit: Kit) -> None:
    for column, bad in {
        "last": LooseSpan("bad", 1, 1001),
        "first": LooseSpan("bad", -1, 5),
        "state": LooseSpan("bad", 1, 2, "Open"),
    }.items():
        kit.engine.put(LOOSE_SPANS, bad)
        checks.equal(kit.engine.get(LOOSE_SPANS, "bad"), bad, "the row, as the other code reads it")
        fault = corrupt(kit, SPANS, ("bad",), f"its {column} was written by code with other limits")
        checks.equal(fault.column, column, "the column that the fault names")


@case("R4")
def a_record_that_breaks_its_table_s_rule_is_refused(kit: Kit) -> None:
    for way, port in kit.ways():
        checks.raises(InvalidArgument, f"in {way}", port.put, SPANS, Span("a", 3, 2), naming=["spans", "greater"])
    checks.equal(kit.engine.count(SPANS, limit=5), 0, "rows")
