"""Where rows stand: in the order of their keys, also of keys that are longer than DynamoDB's (K2, K3)."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.engines.dynamodb.places import (
    Span,
    crowd,
    encoded_rest,
    is_cut,
    partition_of,
    place_of,
    rest_of,
    scopes_within,
    sort_key,
    span_within,
)
from strongroom.records import Identifier, Record, Schema, Table, after_all, encode_key, key_range
from tests.engines.dynamodb.conftest import Open
from tests.engines.shelf import SCORES


class Wide(Record):
    """The widest keys that any domain has, and wider ones."""

    queue: Annotated[str, Identifier(3000)]
    task: Annotated[str, Identifier(1500)]
    unit: Annotated[str, Identifier(1500, empty=True)]


WIDE = Table("wide", Wide, key=("queue", "task", "unit"), scope=1)
PLAIN = Table("plain", Wide, key=("queue", "task", "unit"))

rests = st.binary(max_size=6) | st.builds(
    lambda base, tail: base * 330 + tail, st.sampled_from([b"aaa", b"aab"]), st.binary(max_size=8)
)
short = st.binary(max_size=4)


@given(rests, rests)
def test_sort_keys_are_in_order_but_for_those_whose_beginnings_are_alike(one: bytes, other: bytes) -> None:
    first, second = sort_key(one), sort_key(other)
    assert len(first) <= 1024
    if crowd(first) != crowd(second):
        assert (first < second) == (one < other)
    elif not is_cut(first):
        assert (first == second) == (one == other)


@given(rests, rests, rests)
def test_a_span_s_sort_keys_leave_none_of_its_rows_out(low: bytes, high: bytes, rest: bytes) -> None:
    span = Span(low, high)
    first, last = span.sorts()
    if span.holds(rest):
        assert first <= sort_key(rest) <= last
    assert sort_key(rest) <= Span(low).sorts()[1]


@given(short, short, short, st.none() | short)
def test_the_span_of_a_scope_holds_what_a_range_has_of_it(
    scope: bytes, rest: bytes, low: bytes, high: bytes | None
) -> None:
    whole = scope + rest
    span = span_within(scope, low, high)
    inside = low <= whole and (high is None or whole < high)
    assert inside == (span is not None and span.holds(rest))


texts = st.text(st.sampled_from("ab"), min_size=1, max_size=3)
bounds = st.none() | st.tuples(texts) | st.tuples(texts, texts) | st.tuples(texts, texts, texts)


@given(st.tuples(texts, texts, texts), bounds, bounds, st.booleans())
def test_no_scope_is_missed_that_a_range_reaches_into(
    key: tuple[str, str, str], start: tuple[str, ...] | None, stop: tuple[str, ...] | None, after: bool
) -> None:
    behind = start if after and start is not None and len(start) == 3 else None
    wanted = key_range(WIDE, (), start=None if behind else start, stop=stop, after=behind, limit=1)
    low, high = wanted.bounds(WIDE)
    whole = encode_key(WIDE, key)
    scope = encode_key(WIDE, key[:1])
    if low <= whole and (high is None or whole < high):
        assert scopes_within(WIDE, wanted).holds(scope)
        span = span_within(scope, low, high)
        assert span is not None
        assert span.holds(encoded_rest(WIDE, key))


def test_a_scope_that_is_longer_than_a_partition_key_stands_under_its_digest() -> None:
    one, other = (encode_key(WIDE, ("q" * 2900 + end,)) for end in "ab")
    assert len(partition_of(WIDE, one)) <= 2048
    assert partition_of(WIDE, one) != partition_of(WIDE, other)
    assert partition_of(WIDE, b"q\0") == b"wide\0q\0"


def test_the_columns_behind_a_scope_keep_their_directions() -> None:
    higher, lower = (place_of(SCORES, ("maps", share, "atlas"))[1] for share in (0.9, 0.1))
    assert higher < lower
    assert place_of(SCORES, ("maps", 0.9, "atlas"))[1][1:] == encoded_rest(SCORES, ("maps", 0.9, "atlas"))


def test_a_cut_key_is_kept_whole_beside_its_row() -> None:
    key = ("q", "t" * 1500, "u")
    partition, sort = place_of(WIDE, key)
    rest = encoded_rest(WIDE, key)
    assert is_cut(sort)
    assert rest_of({"_p": {"B": partition}, "_k": {"B": sort}, "_r": {"B": rest}}) == rest
    assert after_all(rest) is not None


@pytest.mark.parametrize("table", [WIDE, PLAIN], ids=["in a scope", "in one partition"])
def test_the_widest_keys_are_walked_in_their_order_in_both_directions_and_in_pages(
    open_store: Open, table: Table[Wide]
) -> None:
    store = open_store(Schema("wide", table))
    long = "t" * 1400
    rows = [
        Wide("q", task, unit) for task in ("a", long, long + "a", long + "b", "z") for unit in ("", "u", "v" * 1500)
    ]
    rows.append(Wide("r", long, "u"))
    for row in reversed(rows):
        store.insert(table, row)
    rows.sort(key=lambda row: encode_key(table, table.key_in(row)))
    of_q = [row for row in rows if row.queue == "q"]
    assert store.scan(table, "q", limit=100) == of_q
    assert store.scan(table, "q", limit=100, reverse=True) == of_q[::-1]
    assert store.count(table, "q", long, limit=100) == 3
    for limit in (1, 2, 4):
        for reverse in (False, True):
            found: list[Wide] = []
            while page := store.scan(
                table, after=table.key_in(found[-1]) if found else None, limit=limit, reverse=reverse
            ):
                found += page
            assert found == (rows[::-1] if reverse else rows)
    assert store.scan(table, "q", start=(long + "a",), stop=(long + "b",), limit=9) == [
        row for row in of_q if row.task == long + "a"
    ]
    assert store.get(table, "q", long, "u") == Wide("q", long, "u")


def test_partitions_with_scopes_of_any_length_are_listed_in_order(open_store: Open) -> None:
    store = open_store(Schema("wide", WIDE))
    queues = ["a", "q" * 990, "q" * 1500 + "a", "q" * 1500 + "b", "q" * 2990, "z"]
    for queue in reversed(queues):
        store.insert(WIDE, Wide(queue, "t", ""))
    assert [row.queue for row in store.scan(WIDE, limit=10)] == queues
    assert [row.queue for row in store.scan(WIDE, limit=10, reverse=True)] == queues[::-1]
    assert [row.queue for row in store.scan(WIDE, start=("q",), stop=("q" * 1500 + "b",), limit=9)] == queues[1:3]
