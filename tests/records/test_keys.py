"""K3: key bytes sort as the key is declared to, and lead back to the key."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.errors import Corrupt
from strongroom.records import (
    MAX_INTEGER,
    Identifier,
    Integer,
    KeyRange,
    Real,
    Record,
    Table,
    after_all,
    decode_key,
    desc,
    encode_key,
)


class Kind(StrEnum):
    OPENED = "opened"
    RESOLVED = "resolved"


class Mixed(Record):
    name: Annotated[str, Identifier(64, empty=True)]
    number: Annotated[int, Integer()]
    share: Annotated[float, Real()]
    kind: Kind


ASCENDING = Table("ascending", Mixed, key=("name", "number", "share", "kind"))
DESCENDING = Table("descending", Mixed, key=(desc("name"), desc("number"), desc("share"), desc("kind")))
MIXED = Table("mixed", Mixed, key=("name", desc("number"), "share", desc("kind")))

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
numbers = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.integers(-3, 3)
reals = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
keys = st.tuples(texts, numbers, reals, st.sampled_from([str(k.value) for k in Kind]))


class Turned:
    """Orders the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Turned) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turned) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]


def declared_order(table: Table[Mixed], key: tuple[Any, ...]) -> list[Any]:
    """What Python would sort by to get the declared order."""
    plain = [value.encode() if isinstance(value, str) else value for value in key]
    return [Turned(v) if part.descending else v for v, part in zip(plain, table.key, strict=True)]


@pytest.mark.parametrize("table", [ASCENDING, DESCENDING, MIXED], ids=lambda t: t.name)
@given(first=keys, second=keys)
def test_key_bytes_order_as_the_key_is_declared_to(
    table: Table[Mixed], first: tuple[Any, ...], second: tuple[Any, ...]
) -> None:
    one, two = encode_key(table, first), encode_key(table, second)
    assert (one < two) == (declared_order(table, first) < declared_order(table, second))
    assert (one == two) == (first == second)


@pytest.mark.parametrize("table", [ASCENDING, DESCENDING, MIXED], ids=lambda t: t.name)
@given(key=keys)
def test_key_bytes_lead_back_to_the_key(table: Table[Mixed], key: tuple[Any, ...]) -> None:
    assert decode_key(table, encode_key(table, key)) == key


@pytest.mark.parametrize("table", [ASCENDING, DESCENDING, MIXED], ids=lambda t: t.name)
@given(key=keys, other=keys, shared=st.integers(0, 4))
def test_a_prefix_bounds_exactly_the_keys_that_begin_with_it(
    table: Table[Mixed], key: tuple[Any, ...], other: tuple[Any, ...], shared: int
) -> None:
    low, high = KeyRange(key[:shared]).bounds(table)
    encoded = encode_key(table, other)
    assert (low <= encoded and (high is None or encoded < high)) == (other[:shared] == key[:shared])


@given(data=st.binary(max_size=40))
def test_bytes_that_are_no_key_are_corrupt_and_nothing_else(data: bytes) -> None:
    try:
        key = decode_key(MIXED, data)
    except Corrupt:
        return
    assert encode_key(MIXED, key) == data


def test_the_bytes_after_a_prefix_are_the_least_that_do_not_begin_with_it() -> None:
    assert after_all(b"ab") == b"ac"
    assert after_all(b"a\xff\xff") == b"b"
    assert after_all(b"\xff\xff") is None
    assert after_all(b"") is None
