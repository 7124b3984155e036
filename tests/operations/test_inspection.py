"""Inspection tells what a store is and how it stands, and changes nothing."""

from __future__ import annotations

import pytest

from strongroom.engine import Strength, Transaction
from strongroom.engine.catalog import FACTS, STEPS
from strongroom.operations import Presence, State, inspect
from strongroom.operations.inspection import TableCount
from strongroom.records import MAX_LIMIT

from .shop import FIRST, JOURNAL, ORDERS, SUBJECT, Entry, Room, fill


def test_a_store_is_told_with_its_claims_schemas_steps_and_counts(shop: Room) -> None:
    fill(shop.engine)
    told = inspect(shop.engine, [SUBJECT])
    assert (told.engine, told.claims) == (shop.engine.name, shop.engine.claims)
    assert (told.epoch, told.seal_key, told.problems) == (shop.engine.epoch, "", ())
    assert [(s.name, s.state, s.version, s.known, len(s.steps)) for s in told.schemas] == [
        ("strongroom", State.CURRENT, 1, 1, 1),
        ("shop", State.CURRENT, 2, 2, 2),
    ]
    assert [(table.name, table.rows, table.more) for table in told.tables] == [
        ("strongroom_steps", 3, False),
        ("strongroom_facts", 2, False),
        ("shop_orders", 12, False),
        ("shop_by_amount", 12, False),
        ("shop_journal", 12, False),
        ("shop_vouchers", 0, False),
    ]
    assert told.others == ()


def test_a_store_that_was_never_prepared_is_told_and_left_empty(shop: Room) -> None:
    told = inspect(shop.engine, [SUBJECT])
    assert (told.epoch, told.seal_key, told.tables, told.problems) == (None, None, (), ())
    assert {table.presence for table in told.others} == {Presence.ABSENT}
    assert shop.engine.tables() == frozenset()


def test_absent_unknown_and_unreadable_tables_are_told(shop: Room) -> None:
    fill(shop.engine, FIRST)
    assert [(t.name, t.presence) for t in inspect(shop.engine, [SUBJECT]).others] == [
        ("shop_vouchers", Presence.ABSENT)
    ]
    shop.engine.prepare(SUBJECT.schema)
    told = inspect(shop.engine, [FIRST])
    assert [(t.name, t.presence) for t in told.others] == [
        ("shop_orders", Presence.UNREADABLE),
        ("shop_by_amount", Presence.UNREADABLE),
        ("shop_journal", Presence.UNREADABLE),
        ("shop_vouchers", Presence.UNKNOWN),
    ]
    assert told.problems == ("schema shop: the store is at version 2, this code knows 1: use newer code",)


def test_a_bad_catalog_is_told_as_a_problem_and_the_rest_all_the_same(shop: Room) -> None:
    fill(shop.engine)
    assert shop.back.tamper(FACTS, ("epoch",), "value", "forged")
    assert shop.back.tamper(STEPS, ("shop", 1), "summary", "forged")
    told = inspect(shop.engine, [SUBJECT])
    assert told.epoch is None
    assert [problem.partition(":")[0] for problem in told.problems] == [
        "strongroom_steps('shop', 1)",
        "strongroom_facts('epoch')",
    ]
    assert TableCount("shop_orders", "shop", 12, False) in told.tables


def test_a_missing_epoch_is_a_problem(shop: Room) -> None:
    fill(shop.engine)
    shop.back.remove(FACTS, ("epoch",))
    assert inspect(shop.engine, [SUBJECT]).problems == ("the store's catalog has no epoch",)


def test_rows_are_counted_up_to_ten_thousand_or_exactly(shop: Room) -> None:
    shop.engine.prepare(SUBJECT.schema)
    if shop.engine.claims.strength is not Strength.MULTI_RECORD:
        pytest.skip("ten thousand transactions take long")

    def append(transaction: Transaction) -> None:
        for position in range(1, MAX_LIMIT + 4):
            transaction.insert(JOURNAL, Entry("b", position, ""))

    shop.engine.write(append)
    counted = TableCount("shop_journal", "shop", MAX_LIMIT, True)
    assert counted in inspect(shop.engine, [SUBJECT]).tables
    exactly = TableCount("shop_journal", "shop", MAX_LIMIT + 3, False)
    assert exactly in inspect(shop.engine, [SUBJECT], exact=True).tables


def test_counting_exactly_counts_bad_rows_too(shop: Room) -> None:
    fill(shop.engine)
    assert shop.back.tamper(ORDERS, ("0", "o1"), "card", "forged")
    assert TableCount("shop_orders", "shop", 12, False) in inspect(shop.engine, [SUBJECT], exact=True).tables
