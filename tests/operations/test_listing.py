"""Listing shows any record of any scope, in key order, page by page, without secrets."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest

from strongroom.errors import Corrupt, InvalidArgument, MigrationFailed, NotFound, SchemaTooNew
from strongroom.operations import get_record, list_records, migrate, parse_key, shown_record, stored_table
from strongroom.patterns import Subject
from strongroom.records import MAX_INTEGER, Integer, Record, Schema, Table

from .shop import BY_AMOUNT, FIRST, JOURNAL, ORDERS, SUBJECT, Colour, Order, Room, fill


class Numbered(Record):
    number: Annotated[int, Integer(sensitive=True)]


def listed(room: Room, name: str, *prefix: Any, **arguments: Any) -> list[Any]:
    stored = stored_table(room.engine, [SUBJECT], name)
    return list(list_records(room.engine, stored, *prefix, **{"limit": 1000, **arguments}))


def test_all_scopes_are_listed_in_key_order(shop: Room) -> None:
    fill(shop.engine)
    assert [(r.branch, r.amount) for r in listed(shop, "shop_by_amount")] == [
        (branch, amount) for branch in "012" for amount in (4.0, 3.0, 2.0, 1.0)
    ]


@pytest.mark.parametrize("page", [1, 2, 5, 1000])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("prefix", [(), ("1",)])
def test_pages_together_are_the_whole_listing(shop: Room, page: int, reverse: bool, prefix: tuple[str, ...]) -> None:
    fill(shop.engine)
    whole = shop.engine.scan(BY_AMOUNT, *prefix, limit=1000, reverse=reverse)
    assert listed(shop, "shop_by_amount", *prefix, page=page, reverse=reverse) == whole
    assert listed(shop, "shop_by_amount", *prefix, page=page, reverse=reverse, limit=3) == whole[:3]


def test_a_listing_goes_on_behind_a_key(shop: Room) -> None:
    fill(shop.engine)
    behind = listed(shop, "shop_by_amount", "1", after=(3.0, "o3"))
    assert [r.amount for r in behind] == [2.0, 1.0]
    back = listed(shop, "shop_by_amount", "1", after=(3.0, "o3"), reverse=True)
    assert [r.amount for r in back] == [4.0]


@pytest.mark.parametrize("limit", [0, -1, True])
def test_a_limit_below_one_is_refused(shop: Room, limit: int) -> None:
    fill(shop.engine)
    with pytest.raises(InvalidArgument, match="a limit is an integer from 1 on"):
        listed(shop, "shop_orders", limit=limit)


def test_a_full_key_is_no_listing(shop: Room) -> None:
    fill(shop.engine)
    with pytest.raises(InvalidArgument, match="full key"):
        listed(shop, "shop_orders", "1", "o1")


def test_a_corrupt_row_fails_the_listing(shop: Room) -> None:
    fill(shop.engine)
    assert shop.back.tamper(ORDERS, ("1", "o2"), "version", 9)
    with pytest.raises(Corrupt, match="shop_orders"):
        listed(shop, "shop_orders", page=2)


def test_a_record_is_got_by_its_full_key_or_not_found(shop: Room) -> None:
    fill(shop.engine)
    stored = stored_table(shop.engine, [SUBJECT], "shop_journal")
    assert get_record(shop.engine, stored, "1", 2) == JOURNAL.record("1", 2, "o2 came")
    with pytest.raises(NotFound, match=r"nothing is stored as shop_journal\('1', 5\)"):
        get_record(shop.engine, stored, "1", 5)
    with pytest.raises(InvalidArgument, match="the key has 2 values"):
        get_record(shop.engine, stored, "1")


def test_records_of_a_store_that_was_not_migrated_have_the_later_columns_defaults(shop: Room) -> None:
    fill(shop.engine, FIRST)
    expected = Order("1", "o2", 2.0, "card-1-2", 1, Colour.RED, None, b"")
    assert get_record(shop.engine, stored_table(shop.engine, [SUBJECT], "shop_orders"), "1", "o2") == expected
    assert expected in listed(shop, "shop_orders")
    migrate(shop.engine, [SUBJECT.schema])
    assert shop.engine.get(ORDERS, "1", "o2") == expected


def test_a_table_that_cannot_be_read_is_refused_with_the_reason(shop: Room) -> None:
    with pytest.raises(InvalidArgument, match="shop_orders: the store has no such table yet"):
        stored_table(shop.engine, [SUBJECT], "shop_orders")
    fill(shop.engine)
    with pytest.raises(InvalidArgument, match=r"no table 'shop_ordres' is known; known and there: .*shop_orders"):
        stored_table(shop.engine, [SUBJECT], "shop_ordres")
    with pytest.raises(InvalidArgument, match="shop_orders: the store has such a table, but no known schema"):
        stored_table(shop.engine, [], "shop_orders")
    with pytest.raises(SchemaTooNew, match="use newer code"):
        stored_table(shop.engine, [FIRST], "shop_orders")


def test_an_altered_schema_is_refused(shop: Room) -> None:
    fill(shop.engine, FIRST)
    altered = Subject(Schema("shop", Table("shop_journal", Order, key=("branch", "id"))))
    with pytest.raises(MigrationFailed, match="step 1 was applied as something else"):
        stored_table(shop.engine, [altered], "shop_journal")


def test_a_shown_record_is_plain_and_hides_sensitive_columns() -> None:
    order = Order("b", "o", 1.5, "4111-1111", MAX_INTEGER, Colour.BLUE, {"a": 1}, b"\x00\xff")
    shown = shown_record(ORDERS, order)
    assert shown == {
        "branch": "b",
        "id": "o",
        "amount": 1.5,
        "card": "<hidden>",
        "version": MAX_INTEGER,
        "colour": "blue",
        "tags": {"a": 1},
        "scan": "00ff",
    }
    assert type(shown["colour"]) is str
    assert json.loads(json.dumps(shown)) == shown
    assert shown_record(ORDERS, order.replace(tags=None))["tags"] is None


def test_words_become_key_values_of_the_columns_types() -> None:
    assert parse_key(BY_AMOUNT, ["7", "2.5", "o1"]) == ("7", 2.5, "o1")
    assert parse_key(BY_AMOUNT, ["7"]) == ("7",)
    assert parse_key(JOURNAL, ["-5"], offset=1) == (-5,)
    assert parse_key(JOURNAL, [""]) == ("",)


@pytest.mark.parametrize("word", ["", "x", "1.5", "1_000", " 1", "0x1"])
def test_a_word_of_another_type_is_refused(word: str) -> None:
    with pytest.raises(InvalidArgument, match=r"shop_journal\.position: expected an integer, not"):
        parse_key(JOURNAL, ["b", word])


def test_too_many_words_are_refused_and_the_columns_named() -> None:
    with pytest.raises(InvalidArgument, match=r"at most 1 key values here \(position\), not 2"):
        parse_key(JOURNAL, ["1", "2"], offset=1)


def test_a_refused_word_for_a_sensitive_column_is_not_shown() -> None:
    numbered = Table("shop_numbered", Numbered, key=("number",))
    with pytest.raises(InvalidArgument, match=r"shop_numbered.number: expected an integer$"):
        parse_key(numbered, ["let-me-in"])
