"""Verification names every bad record and goes on (R4), on every engine, and mistakes nothing sound for bad."""

from __future__ import annotations

from typing import Any

import pytest

from strongroom.conformance.backdoors import MemoryBackDoor
from strongroom.engine.catalog import CATALOG, STEPS, AppliedStep
from strongroom.engines.memory import MemoryEngine
from strongroom.errors import Closed, Corrupt, InvalidArgument, SchemaTooNew
from strongroom.operations import Finding, Kind, Presence, State, Walked, verify
from strongroom.records import MAX_LIMIT, Key, Table

from .shop import BY_AMOUNT, FIRST, FIRST_ORDERS, JOURNAL, ORDERS, SUBJECT, VOUCHERS, OrderByAmount, Room, Voucher, fill

CATALOG_ROWS = 5
"""Two steps of the shop, one of the catalog, the epoch and the seal key."""


def found(room: Room, *, page: int = 2) -> list[Finding]:
    return list(verify(room.engine, [SUBJECT], page=page))


def test_a_sound_store_has_no_findings_and_every_row_is_counted(shop: Room) -> None:
    rows = fill(shop.engine)
    verification = verify(shop.engine, [SUBJECT], page=5)
    assert list(verification) == []
    assert (verification.rows, verification.bad) == (rows + CATALOG_ROWS, 0)
    assert {walked.table: walked.rows for walked in verification.tables} == {
        "strongroom_steps": 3,
        "strongroom_facts": 2,
        "shop_orders": 12,
        "shop_by_amount": 12,
        "shop_journal": 12,
        "shop_vouchers": 0,
    }


def test_verifying_again_counts_anew(shop: Room) -> None:
    rows = fill(shop.engine)
    verification = verify(shop.engine, [SUBJECT])
    for _ in range(2):
        assert list(verification) == []
        assert verification.rows == rows + CATALOG_ROWS


def test_a_tampered_row_is_named_and_the_walk_goes_on(shop: Room) -> None:
    rows = fill(shop.engine)
    assert shop.back.tamper(ORDERS, ("0", "o1"), "card", "forged")
    assert shop.back.tamper(ORDERS, ("2", "o4"), "version", 7)
    assert shop.back.tamper(JOURNAL, ("1", 3), "note", "it never came")
    verification = verify(shop.engine, [SUBJECT], page=2)
    rows_named = [(f.kind, f.table, f.key) for f in verification if f.kind is Kind.ROW]
    assert rows_named == [
        (Kind.ROW, "shop_orders", ("0", "o1")),
        (Kind.ROW, "shop_orders", ("2", "o4")),
        (Kind.ROW, "shop_journal", ("1", 3)),
    ]
    assert verification.rows == rows + CATALOG_ROWS


def test_a_finding_names_the_column_and_no_sensitive_value(shop: Room) -> None:
    fill(shop.engine)
    assert shop.back.tamper(ORDERS, ("0", "o1"), "colour", "beige")
    assert shop.back.tamper(ORDERS, ("0", "o2"), "card", "4111-1111")
    findings = [finding for finding in found(shop) if finding.kind is Kind.ROW]
    assert [(finding.key, finding.column) for finding in findings] == [(("0", "o1"), "colour"), (("0", "o2"), "seal")]
    assert str(findings[0]).startswith("shop_orders('0', 'o1'): column colour: expected one of red, blue")
    assert "4111" not in str(findings)


def test_a_sensitive_part_of_a_key_is_hidden(shop: Room) -> None:
    fill(shop.engine)
    shop.engine.insert(VOUCHERS, Voucher("let-me-in", 5))
    assert shop.back.tamper(VOUCHERS, ("let-me-in", 5), "seal", b"0" * 32)
    [finding] = found(shop)
    assert finding.key == ("<hidden>", 5)
    assert "let-me-in" not in str(finding)


def test_a_gap_in_a_log_is_named_once_for_each_stream(shop: Room) -> None:
    fill(shop.engine)
    for position in (2, 3):
        shop.back.remove(JOURNAL, ("1", position))
    shop.back.remove(JOURNAL, ("2", 1))
    assert [(f.kind, f.table, f.key, f.what) for f in found(shop)] == [
        (Kind.GAP, "shop_journal", ("1", 2), "positions 2 to 3 are missing: the log has a gap"),
        (Kind.GAP, "shop_journal", ("2", 1), "position 1 is missing: the log has a gap"),
    ]


def test_an_entry_before_the_first_position_is_named(shop: Room) -> None:
    fill(shop.engine, branches=1)
    shop.engine.insert(JOURNAL, JOURNAL.record("0", 0, "nobody reads this"))
    [finding] = found(shop)
    assert (finding.kind, finding.key) == (Kind.GAP, ("0", 0))


def test_an_entry_that_points_to_nothing_is_named(shop: Room) -> None:
    fill(shop.engine)
    shop.back.remove(ORDERS, ("1", "o2"))
    [finding] = found(shop)
    assert (finding.kind, finding.table, finding.key) == (Kind.MAPPING, "shop_by_amount", ("1", 2.0, "o2"))
    assert finding.what == "points to nothing"


def test_an_entry_that_disagrees_with_its_record_is_named(shop: Room) -> None:
    fill(shop.engine)
    shop.engine.insert(BY_AMOUNT, OrderByAmount("1", 77.0, "o2"))
    [finding] = found(shop)
    assert (finding.kind, finding.key) == (Kind.MAPPING, ("1", 77.0, "o2"))
    assert finding.what == "disagrees with shop_orders('1', 'o2')"


def test_an_entry_whose_record_is_corrupt_is_named_beside_it(shop: Room) -> None:
    fill(shop.engine)
    assert shop.back.tamper(ORDERS, ("1", "o2"), "version", 9)
    row, entry = found(shop)
    assert (row.kind, row.key) == (Kind.ROW, ("1", "o2"))
    assert (entry.kind, entry.key) == (Kind.MAPPING, ("1", 2.0, "o2"))
    assert "can't be read" in entry.what


def test_a_record_that_changes_while_its_entry_is_looked_at_is_not_mistaken_for_a_fault(shop: Room) -> None:
    fill(shop.engine, branches=1)
    get_many = shop.engine.get_many

    def change_first(table: object, keys: list[tuple[str, str]]) -> object:
        # Between the look at the entries and the look at the orders, someone changes the amount of one of them.
        if shop.engine.get(BY_AMOUNT, "0", 2.0, "o2") is not None:
            order = shop.engine.get(ORDERS, "0", "o2")
            assert order is not None
            shop.engine.update(ORDERS, order.replace(amount=9.0, version=2), expect=1)
            shop.engine.delete(BY_AMOUNT, "0", 2.0, "o2")
            shop.engine.insert(BY_AMOUNT, OrderByAmount("0", 9.0, "o2"))
        return get_many(table, keys)  # type: ignore[arg-type]

    shop.engine.get_many = change_first  # type: ignore[method-assign, assignment]
    assert found(shop, page=10) == []


def test_a_store_that_was_not_migrated_is_verified_as_it_is(shop: Room) -> None:
    rows = fill(shop.engine, FIRST)
    before = shop.engine.tables()
    verification = verify(shop.engine, [SUBJECT])
    assert list(verification) == []
    assert verification.rows == rows + CATALOG_ROWS - 1
    assert verification.survey.named(Presence.ABSENT) == ("shop_vouchers",)
    assert [s.state for s in verification.survey.schemas] == [State.CURRENT, State.BEHIND]
    assert shop.engine.tables() == before


def test_a_tampered_row_of_a_store_that_was_not_migrated_is_named(shop: Room) -> None:
    fill(shop.engine, FIRST)
    assert shop.back.tamper(FIRST_ORDERS, ("1", "o2"), "card", "forged")
    assert [(f.kind, f.key) for f in found(shop)] == [
        (Kind.ROW, ("1", "o2")),
        (Kind.MAPPING, ("1", 2.0, "o2")),
    ]


def test_rows_of_before_a_migration_verify_after_it(shop: Room) -> None:
    fill(shop.engine, FIRST)
    shop.engine.prepare(SUBJECT.schema)
    assert found(shop) == []


def test_a_newer_schema_is_a_finding_and_its_tables_are_left_alone(shop: Room) -> None:
    fill(shop.engine)
    verification = verify(shop.engine, [FIRST])
    [finding] = verification
    assert (finding.kind, finding.table, finding.key) == (Kind.SCHEMA, "strongroom_steps", ("shop",))
    assert finding.what == "schema shop: the store is at version 2, this code knows 1: use newer code"
    assert verification.rows == CATALOG_ROWS
    assert verification.survey.named(Presence.UNREADABLE) == ("shop_orders", "shop_by_amount", "shop_journal")
    assert verification.survey.named(Presence.UNKNOWN) == ("shop_vouchers",)


def test_an_altered_step_is_a_finding(shop: Room) -> None:
    shop.engine.prepare(CATALOG)
    shop.engine.insert(STEPS, AppliedStep("shop", 1, "0" * 32, "something else", 1))
    kinds = [(finding.kind, finding.table) for finding in found(shop)]
    assert (Kind.SCHEMA, "strongroom_steps") in kinds
    assert (Kind.TABLE, "shop_orders") in kinds


def test_a_step_whose_record_was_taken_away_hides_no_table(shop: Room) -> None:
    fill(shop.engine)
    for step in (1, 2):
        shop.back.remove(STEPS, ("shop", step))
    assert [(f.kind, f.table) for f in found(shop)] == [
        (Kind.SCHEMA, "shop_orders"),
        (Kind.SCHEMA, "shop_by_amount"),
        (Kind.SCHEMA, "shop_journal"),
        (Kind.SCHEMA, "shop_vouchers"),
    ]


def test_a_step_whose_record_is_corrupt_hides_no_table(shop: Room) -> None:
    rows = fill(shop.engine)
    assert shop.back.tamper(STEPS, ("shop", 2), "summary", "nothing much")
    verification = verify(shop.engine, [SUBJECT])
    assert [(f.kind, f.key) for f in verification] == [(Kind.ROW, ("shop", 2))]
    assert verification.rows == rows + CATALOG_ROWS


def test_a_store_written_by_a_newer_catalog_is_refused(shop: Room) -> None:
    fill(shop.engine)
    shop.engine.insert(STEPS, AppliedStep("strongroom", 2, "0" * 32, "from the future", 1))
    with pytest.raises(SchemaTooNew, match="the store is at version 2, this code knows 1"):
        verify(shop.engine, [SUBJECT])


def test_schemas_and_tables_that_are_not_known_are_named_and_are_no_findings(shop: Room) -> None:
    fill(shop.engine)
    verification = verify(shop.engine, [])
    assert list(verification) == []
    assert verification.survey.named(Presence.UNKNOWN) == (
        "shop_by_amount",
        "shop_journal",
        "shop_orders",
        "shop_vouchers",
    )
    [catalog, unknown] = verification.survey.schemas
    assert (catalog.name, unknown.name, unknown.state, unknown.version) == ("strongroom", "shop", State.UNKNOWN, 2)


def test_a_store_with_nothing_in_it_is_sound_and_stays_so(shop: Room) -> None:
    verification = verify(shop.engine, [SUBJECT])
    assert list(verification) == []
    assert verification.rows == 0
    assert shop.engine.tables() == frozenset()


def test_the_watcher_sees_every_table_begin_and_every_page(shop: Room) -> None:
    fill(shop.engine, branches=1)
    seen: list[tuple[str, int, int | None]] = []

    def watch(walked: Walked) -> None:
        seen.append((walked.table, walked.rows, walked.total))

    assert list(verify(shop.engine, [SUBJECT], watch=watch, page=3)) == []
    assert [event for event in seen if event[0] == "shop_orders"] == [
        ("shop_orders", 0, 4),
        ("shop_orders", 3, 4),
        ("shop_orders", 4, 4),
    ]


def test_two_subjects_of_one_name_are_refused(shop: Room) -> None:
    with pytest.raises(InvalidArgument, match="two schemas are named shop"):
        verify(shop.engine, [SUBJECT, FIRST])


def test_a_table_that_cannot_be_walked_to_its_end_is_walked_up_to_the_damage(
    shop: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = fill(shop.engine)
    examine = shop.engine.examine

    def stumble(table: Table[Any], *, after: Key | None = None, limit: int) -> Any:
        page = examine(table, after=after, limit=limit)
        if table is ORDERS and ("1", "o3") in [key for key, _found in page]:
            raise Corrupt("the file is damaged")
        return page

    monkeypatch.setattr(shop.engine, "examine", stumble)
    verification = verify(shop.engine, [SUBJECT])
    [finding] = verification
    assert (finding.kind, finding.table, finding.key) == (Kind.TABLE, "shop_orders", ("1", "o2"))
    assert finding.what == "can't be walked from here on: the file is damaged"
    assert verification.tables[2].rows == 6
    assert verification.rows == rows + CATALOG_ROWS - 6


def test_a_row_that_names_another_key_than_it_stands_under_is_found_where_it_stands() -> None:
    engine = MemoryEngine()
    fill(engine)
    back = MemoryBackDoor(lambda: engine._store)
    assert back.tamper(JOURNAL, ("1", 2), "branch", "0")
    verification = verify(engine, [SUBJECT])
    [finding] = verification
    assert (finding.kind, finding.table, finding.key) == (Kind.ROW, "shop_journal", ("1", 2))
    assert verification.tables[-1].table == "shop_vouchers"


@pytest.mark.parametrize("page", [0, MAX_LIMIT + 1, True])
def test_a_page_out_of_range_is_refused(shop: Room, page: int) -> None:
    with pytest.raises(InvalidArgument, match="a page has 1 to 10000 rows"):
        verify(shop.engine, [SUBJECT], page=page)


def test_a_closed_engine_is_not_verified(shop: Room) -> None:
    shop.engine.close()
    with pytest.raises(Closed):
        verify(shop.engine, [SUBJECT])
