"""W1 to W5: insert, update, put and delete of one row."""

# ruff: noqa: D103 - a case is documented by its name, which is a sentence
from __future__ import annotations

from typing import Any

from strongroom.conformance import checks
from strongroom.conformance.harness import Ability
from strongroom.conformance.kit import Kit, case
from strongroom.conformance.tables import (
    ACCOUNTS,
    ENTRIES,
    MARKS,
    MEMBERS,
    PAIRS,
    READINGS,
    SAMPLES,
    THINGS,
    Account,
    Entry,
    Mark,
    Member,
    Pair,
    Reading,
    Sample,
    Thing,
)
from strongroom.engine import Strength, Transaction
from strongroom.errors import AlreadyExists, InvalidArgument, Unsupported, VersionMismatch
from strongroom.records import MAX_INTEGER


@case("W1")
def a_duplicate_insert_leaves_the_stored_row_untouched(kit: Kit) -> None:
    first = Thing("a", 1, "first", "note")
    kit.engine.insert(THINGS, first)
    for way, port in kit.ways():
        for second in (Thing("a", 2, "second"), Thing("a", 1, "first"), first):
            checks.raises(AlreadyExists, f"{second} in {way}", port.insert, THINGS, second, naming=["things", "'a'"])
            checks.equal(kit.engine.get(THINGS, "a"), first, f"the row after a second insert in {way}")


@case("W1")
def a_duplicate_insert_is_refused_in_every_kind_of_table(kit: Kit) -> None:
    rows: list[tuple[Any, Any]] = [
        (MARKS, Mark("a", "x")),
        (MEMBERS, Member("t", "a", "x")),
        (ACCOUNTS, Account("t", "a", 1, 5)),
        (PAIRS, Pair("a", "", 5)),
        (READINGS, Reading("a", 0.5, "", -5, 5)),
        (ENTRIES, Entry("a", 1, "x")),
        (SAMPLES, Sample("a", text="x")),
    ]
    for way, port in kit.ways():
        for table, record in rows:
            if way == "a single call":
                port.insert(table, record)
            checks.raises(AlreadyExists, f"a second {record} in {way}", port.insert, table, record)
            checks.equal(kit.engine.scan(table, limit=10), [record], f"the rows of {table.name}")


@case("W1")
def a_key_can_be_inserted_again_once_it_was_deleted(kit: Kit) -> None:
    for way, port in kit.ways():
        for note in ("first", "second"):
            port.insert(MEMBERS, Member("t", "a", note))
            checks.equal(kit.engine.get(MEMBERS, "t", "a"), Member("t", "a", note), f"the row inserted in {way}")
            checks.true(port.delete(MEMBERS, "t", "a"), f"the row was there to be deleted in {way}")


@case("W1", strength=Strength.MULTI_RECORD)
def one_transaction_inserts_a_key_once(kit: Kit) -> None:
    def twice(transaction: Transaction) -> None:
        transaction.insert(THINGS, Thing("a", 1, "first"))
        checks.raises(AlreadyExists, "the second insert", transaction.insert, THINGS, Thing("a", 2, "second"))
        transaction.insert(THINGS, Thing("A", 3))

    kit.engine.write(twice)
    checks.equal(kit.engine.scan(THINGS, limit=5), [Thing("A", 3), Thing("a", 1, "first")], "the rows")


@case("W2")
def an_update_writes_every_value_exactly_as_given(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1, "text", "note"))
    expect = 1
    for version, text, note in (
        (2, "", None),
        (9, "é", "back"),
        (3, "lower", ""),
        (0, "zero", None),
        (MAX_INTEGER, "", "n"),
    ):
        for way, port in kit.ways():
            wanted = Thing("a", version, f"{text} {way}", note)
            port.update(THINGS, wanted, expect=expect)
            checks.equal(kit.engine.get(THINGS, "a"), wanted, f"the row after {expect} -> {version} in {way}")
            expect = version


@case("W2")
def an_update_expecting_another_version_writes_nothing(kit: Kit) -> None:
    stored = Thing("a", 5, "text", "note")
    kit.engine.insert(THINGS, stored)
    for way, port in kit.ways():
        for expect in (0, 1, 4, 6, MAX_INTEGER):
            given = Thing("a", 5, "mine")
            fault = checks.raises(
                VersionMismatch,
                f"expecting {expect} in {way}",
                port.update,
                THINGS,
                given,
                expect=expect,
                naming=["things", "'a'"],
                hiding=["text", "mine"],
            )
            checks.true(fault.retryable, "a VersionMismatch is retryable")
            checks.equal(given, Thing("a", 5, "mine"), "the caller's own record")
        checks.equal(kit.engine.get(THINGS, "a"), stored, f"the row after refused updates in {way}")


@case("W2")
def an_update_of_a_missing_row_is_a_version_mismatch_too(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("b", 1))
    for way, port in kit.ways():
        for expect in (0, 1, 2):
            checks.raises(
                VersionMismatch, f"expecting {expect} in {way}", port.update, THINGS, Thing("a", 1), expect=expect
            )
        missing = Thing("a", 1, "gone")
        checks.raises(VersionMismatch, f"expecting a record in {way}", port.update, THINGS, missing, expect=missing)
    checks.equal(kit.engine.scan(THINGS, limit=5), [Thing("b", 1)], "the rows")


@case("W2")
def the_version_inside_the_new_record_is_not_what_is_compared(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    checks.raises(VersionMismatch, "expecting 7, writing 1", kit.engine.update, THINGS, Thing("a", 1, "x"), expect=7)
    kit.engine.update(THINGS, Thing("a", 7, "y"), expect=1)
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 7, "y"), "the row")


@case("W2")
def an_update_that_changes_nothing_still_reports_truly(kit: Kit) -> None:
    stored = Thing("a", 3, "same", "same")
    kit.engine.insert(THINGS, stored)
    for way, port in kit.ways():
        port.update(THINGS, stored, expect=3)
        port.update(THINGS, stored, expect=stored)
        checks.raises(VersionMismatch, f"the same row expecting 2 in {way}", port.update, THINGS, stored, expect=2)
    checks.equal(kit.engine.get(THINGS, "a"), stored, "the row")


@case("W2")
def an_update_may_expect_the_whole_record(kit: Kit) -> None:
    for way, port in kit.ways():
        name = way[2:]
        stored = Thing(name, 1, "text", "note")
        kit.engine.insert(THINGS, stored)
        wanted = Thing(name, 1, "mine")
        for other in (stored.replace(text="other"), stored.replace(note=None), stored.replace(version=2)):
            checks.raises(VersionMismatch, f"expecting {other} in {way}", port.update, THINGS, wanted, expect=other)
        checks.equal(kit.engine.get(THINGS, name), stored, f"the row after refused updates in {way}")
        port.update(THINGS, wanted, expect=stored)
        checks.equal(kit.engine.get(THINGS, name), wanted, f"the row after an update in {way}")
        wrong = Thing("other", 1)
        checks.raises(InvalidArgument, f"expecting another key in {way}", port.update, THINGS, wanted, expect=wrong)


@case("W2")
def an_expectation_that_is_no_version_is_refused(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    for way, port in kit.ways():
        for expect in (True, 1.0, "1", None, 2**63, -(2**63)):
            call = f"expect={expect!r} in {way}"
            checks.raises(InvalidArgument, call, port.update, THINGS, Thing("a", 2), expect=expect, naming=["things"])
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 1), "the row")


@case("W2")
def a_put_replaces_the_whole_row_whatever_was_there(kit: Kit) -> None:
    for way, port in kit.ways():
        full = Sample(
            way, 5, 5, 5.0, True, text="x", blob=b"x", json="[1]", document={"a": 1}, maybe_text="x", maybe_flag=False
        )
        for sample in (full, Sample(way), full.replace(maybe_text=""), full):
            port.put(SAMPLES, sample)
            checks.equal(kit.engine.get(SAMPLES, way), sample, f"the row put in {way}")
    checks.equal(kit.engine.count(SAMPLES, limit=10), 2, "rows")


@case("W3")
def a_guarded_delete_removes_only_the_row_that_it_describes(kit: Kit) -> None:
    stored = Member("t", "a", "opened first")
    for way, port in kit.ways():
        kit.engine.insert(MEMBERS, stored)
        for other in (
            stored.replace(note=""),
            stored.replace(note="opened later"),
            stored.replace(note="Opened first"),
        ):
            checks.same(port.delete(MEMBERS, "t", "a", expect=other), False, f"the answer for {other} in {way}")
            checks.equal(kit.engine.get(MEMBERS, "t", "a"), stored, f"the row after a refused delete in {way}")
        checks.same(port.delete(MEMBERS, "t", "a", expect=stored), True, f"the answer for the row itself in {way}")
        checks.equal(kit.engine.get(MEMBERS, "t", "a"), None, f"the row after a delete in {way}")
        checks.same(port.delete(MEMBERS, "t", "a", expect=stored), False, f"the answer for an absent row in {way}")


@case("W3")
def a_stale_delete_never_removes_a_later_opening(kit: Kit) -> None:
    for way, port in kit.ways():
        first, later = Member("t", "a", "1"), Member("t", "a", "2")
        port.insert(MEMBERS, first)
        checks.true(port.delete(MEMBERS, "t", "a", expect=first), f"the first opening was deleted in {way}")
        port.insert(MEMBERS, later)
        checks.same(port.delete(MEMBERS, "t", "a", expect=first), False, f"the answer to a stale delete in {way}")
        checks.equal(kit.engine.get(MEMBERS, "t", "a"), later, f"the later opening, after a stale delete in {way}")
        checks.true(port.delete(MEMBERS, "t", "a", expect=later), f"the later opening was deleted in {way}")


@case("W3")
def a_guard_covers_every_column(kit: Kit) -> None:
    stored = Sample("s", 1, 1, 0.5, True, text="text", blob=b"blob", json="[1]", document={"a": 1}, maybe_whole=1)
    kit.engine.put(SAMPLES, stored)
    others: dict[str, Any] = {"whole": 2, "small": 2, "real": 0.25, "flag": False, "text": "Text", "blob": b"bloB"}
    others |= {"json": "[1 ]", "document": {"a": None}, "maybe_whole": None, "maybe_text": "", "secret": "x"}
    for column, value in others.items():
        found = kit.engine.delete(SAMPLES, "s", expect=stored.replace(**{column: value}))
        checks.same(found, False, f"the answer to a guard that differs in {column}")
    checks.equal(kit.engine.get(SAMPLES, "s"), stored, "the row after refused deletes")
    checks.same(kit.engine.delete(SAMPLES, "s", expect=stored), True, "the answer to the right guard")


@case("W3")
def a_delete_without_a_guard_says_whether_there_was_a_row(kit: Kit) -> None:
    for way, port in kit.ways():
        for name in ("a", "b"):
            kit.engine.insert(MEMBERS, Member("t", name))
        checks.same(port.delete(MEMBERS, "t", "a"), True, f"the first answer in {way}")
        checks.same(port.delete(MEMBERS, "t", "a"), False, f"the second answer in {way}")
        checks.equal(kit.engine.scan(MEMBERS, limit=5), [Member("t", "b")], f"what is left, deleting in {way}")
        checks.same(port.delete(MEMBERS, "t", "b"), True, f"the answer for the other in {way}")


@case("W3")
def a_guard_for_another_key_is_refused(kit: Kit) -> None:
    kit.engine.insert(MEMBERS, Member("t", "a"))
    for way, port in kit.ways():
        other = Member("t", "b")
        checks.raises(InvalidArgument, f"in {way}", port.delete, MEMBERS, "t", "a", expect=other, naming=["members"])
    checks.equal(kit.engine.count(MEMBERS, limit=5), 1, "rows")


@case("W4")
def a_change_that_a_table_does_not_allow_is_unsupported(kit: Kit) -> None:
    kit.engine.insert(MARKS, Mark("a", "first"))
    kit.engine.insert(MEMBERS, Member("t", "a", "first"))
    kit.engine.insert(THINGS, Thing("a", 1, "first"))
    kit.engine.put(PAIRS, Pair("a", "", 1))
    for way, port in kit.ways():
        refused: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
            "update of a mark": (port.update, (MARKS, Mark("a", "second")), {"expect": Mark("a", "first")}),
            "put of a mark": (port.put, (MARKS, Mark("a", "second")), {}),
            "delete of a mark": (port.delete, (MARKS, "a"), {}),
            "guarded delete of a mark": (port.delete, (MARKS, "a"), {"expect": Mark("a", "first")}),
            "update of a member": (port.update, (MEMBERS, Member("t", "a", "second")), {"expect": 1}),
            "put of a member": (port.put, (MEMBERS, Member("t", "a", "second")), {}),
            "put of a thing": (port.put, (THINGS, Thing("a", 1, "second")), {}),
            "delete of a thing": (port.delete, (THINGS, "a"), {}),
            "update of a pair": (port.update, (PAIRS, Pair("a", "", 2)), {"expect": 1}),
        }
        for what, (call, args, kwargs) in refused.items():
            checks.raises(Unsupported, f"{what} in {way}", call, *args, naming=[args[0].name], **kwargs)
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a", "first"), "the mark")
    checks.equal(kit.engine.get(MEMBERS, "t", "a"), Member("t", "a", "first"), "the member")
    checks.equal(kit.engine.get(THINGS, "a"), Thing("a", 1, "first"), "the thing")
    checks.equal(kit.engine.get(PAIRS, "a", ""), Pair("a", "", 1), "the pair")


@case("W4", Ability.TOOLS, guards=True)
def the_database_itself_refuses_to_change_an_immutable_row(kit: Kit) -> None:
    kit.engine.insert(MARKS, Mark("a", "first"))
    kit.engine.insert(ENTRIES, Entry("s", 1, "first"))
    checks.true(kit.harness.raw_update_refused(MARKS, ("a",), "value", "second"), "the database let a mark be updated")
    checks.true(kit.harness.raw_delete_refused(MARKS, ("a",)), "the database let a mark be deleted")
    checks.true(kit.harness.raw_update_refused(ENTRIES, ("s", 1), "text", "x"), "the database let an entry be updated")
    checks.true(kit.harness.raw_delete_refused(ENTRIES, ("s", 1)), "the database let an entry be deleted")
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a", "first"), "the mark")
    checks.equal(kit.engine.get(ENTRIES, "s", 1), Entry("s", 1, "first"), "the entry")


@case("W4", Ability.TOOLS, guards=True)
def the_database_itself_refuses_to_write_one_immutable_row_over_another(kit: Kit) -> None:
    kit.engine.insert(MARKS, Mark("a", "first"))
    refused = kit.harness.raw_replace_refused(MARKS, ("a",), "value", "second")
    checks.true(refused, "the database let a mark be replaced")
    checks.equal(kit.engine.get(MARKS, "a"), Mark("a", "first"), "the mark")


@case("W4", Ability.TOOLS, guards=True)
def the_database_itself_refuses_to_update_a_membership(kit: Kit) -> None:
    kit.engine.insert(MEMBERS, Member("t", "a", "first"))
    refused = kit.harness.raw_update_refused(MEMBERS, ("t", "a"), "note", "second")
    checks.true(refused, "the database let a member be updated")
    checks.equal(kit.engine.get(MEMBERS, "t", "a"), Member("t", "a", "first"), "the member")
    checks.true(kit.engine.delete(MEMBERS, "t", "a"), "a member can still be deleted by the engine")


@case("W5", strength=Strength.MULTI_RECORD, across=True)
def a_refused_operation_leaves_its_transaction_usable(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1, "first"))
    kit.engine.insert(MARKS, Mark("m"))
    kit.engine.insert(MEMBERS, Member("t", "a", "first"))

    def change(transaction: Transaction) -> str:
        transaction.insert(THINGS, Thing("before", 1))
        checks.raises(AlreadyExists, "a second insert", transaction.insert, THINGS, Thing("a", 2))
        checks.equal(transaction.get(THINGS, "a"), Thing("a", 1, "first"), "the row read after it")
        checks.raises(VersionMismatch, "a stale update", transaction.update, THINGS, Thing("a", 9), expect=8)
        checks.raises(VersionMismatch, "a missing row", transaction.update, THINGS, Thing("none", 9), expect=8)
        checks.raises(InvalidArgument, "an unfit record", transaction.insert, THINGS, Thing("\0"))
        checks.raises(Unsupported, "a put of a mark", transaction.put, MARKS, Mark("m", "x"))
        checks.same(transaction.delete(MEMBERS, "t", "a", expect=Member("t", "a", "other")), False, "a refused delete")
        checks.equal([t.name for t in transaction.scan(THINGS, limit=5)], ["a", "before"], "the rows after refusals")
        transaction.update(THINGS, Thing("a", 2, "second"), expect=1)
        transaction.insert(THINGS, Thing("later", 1))
        return "done"

    checks.equal(kit.engine.write(change), "done", "the result")
    expected = [Thing("a", 2, "second"), Thing("before", 1), Thing("later", 1)]
    checks.equal(kit.engine.scan(THINGS, limit=9), expected, "what was kept")


@case("W5", strength=Strength.MULTI_RECORD)
def after_many_refusals_everything_else_is_kept(kit: Kit) -> None:
    for number in range(0, 60, 2):
        kit.engine.insert(MARKS, Mark(f"m{number:02}", "first"))

    def change(transaction: Transaction) -> int:
        refused = 0
        for number in range(60):
            try:
                transaction.insert(MARKS, Mark(f"m{number:02}", "second"))
            except AlreadyExists:
                refused += 1
        return refused

    checks.equal(kit.engine.write(change), 30, "refusals")
    expected = [Mark(f"m{number:02}", ("first", "second")[number % 2]) for number in range(60)]
    checks.equal(kit.engine.scan(MARKS, limit=100), expected, "the rows")


@case("W5")
def after_a_refused_single_call_the_engine_goes_on(kit: Kit) -> None:
    kit.engine.insert(THINGS, Thing("a", 1))
    for way, port in kit.ways():
        checks.raises(AlreadyExists, f"in {way}", port.insert, THINGS, Thing("a", 2))
        checks.raises(VersionMismatch, f"in {way}", port.update, THINGS, Thing("a", 3), expect=2)
        checks.raises(InvalidArgument, f"in {way}", port.insert, THINGS, Thing("a\0"))
        port.insert(THINGS, Thing(way, 1))
        checks.equal(kit.engine.get(THINGS, way), Thing(way, 1), f"a row inserted in {way} after refusals")
