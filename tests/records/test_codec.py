"""R4, K2, K4, K5: what is stored is exactly what was given, and nothing else comes back."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.errors import Corrupt, InvalidArgument
from strongroom.records import (
    MAX_INTEGER,
    VERSIONED,
    Blob,
    Document,
    Identifier,
    Integer,
    Json,
    Millis,
    Real,
    Record,
    Row,
    RowCodec,
    Sealer,
    Since,
    Stored,
    Table,
    Text,
)


class State(StrEnum):
    WAITING = "waiting"
    DONE = "done"


class Number(IntEnum):
    ONE = 1


class Plain(Record):
    """Every kind that the quick check knows."""

    queue: Annotated[str, Identifier(12)]
    note: Annotated[str, Text(16)]
    state: State
    count: Annotated[int, Integer(0, 9)]
    share: Annotated[float, Real(0.0, 1.0)]
    version: int
    data: Annotated[bytes, Blob(8)]


class Maybe(Record):
    """Every kind that the quick check knows, and each may be nothing."""

    queue: Annotated[str, Identifier(12)]
    note: Annotated[str | None, Text(16)] = None
    state: State | None = None
    count: Annotated[int | None, Integer(0, 9)] = None
    share: Annotated[float | None, Real(0.0, 1.0)] = None
    version: int | None = None
    data: Annotated[bytes | None, Blob(8)] = None


class Rich(Record):
    """Every kind that is looked at column by column."""

    name: Annotated[str, Identifier(12)]
    on: bool
    maybe: Annotated[str | None, Text(8)]
    exact: Annotated[str, Json(40)]
    tags: Annotated[dict[str, str], Document(60)]
    secret: Annotated[str, Text(30, sensitive=True)] = ""


class Wide(Record):
    """Limits so wide that the quick check decides nearly every row."""

    queue: Annotated[str, Identifier(255)]
    state: State
    version: int
    count: Annotated[int, Integer(0)]


PLAIN = Table("plain", Plain, key=("queue",), changes=VERSIONED("version"))
MAYBE = Table("maybe", Maybe, key=("queue",))
WIDE = Table("wide", Wide, key=("queue",), changes=VERSIONED("version"))
RICH = Table("rich", Rich, key=("name",))
plain = RowCodec(PLAIN, Sealer())
maybe = RowCodec(MAYBE, Sealer())
rich = RowCodec(RICH, Sealer())
good = Plain("q", "", State.DONE, 0, 0.5, -MAX_INTEGER, b"\0\xff")

texts = st.text(max_size=20) | st.sampled_from(["", "q", "é" * 6, "é" * 7, "a" * 12, "a" * 13, "a\0b", "\ud800"])
odd = st.sampled_from([State.DONE, Number.ONE, bytearray(b"x"), memoryview(b"x")])
anything = odd | texts | st.integers(-(2**70), 2**70) | st.floats() | st.booleans() | st.none() | st.binary(max_size=10)
plain_values = st.tuples(*[anything] * 7) | st.builds(
    lambda position, value: (*astuple(good)[:position], value, *astuple(good)[position + 1 :]),
    st.integers(0, 6),
    anything,
)
plain_values |= st.builds(lambda name, rest: (name, *rest), st.just("q"), st.tuples(*[st.none() | anything] * 6))


def astuple(record: Record) -> tuple[Any, ...]:
    return tuple(record.as_dict().values())


def sealed(codec: RowCodec[Any], values: tuple[Stored, ...]) -> Row:
    """A row as a forger without scruples, and with the seal's algorithm, would write it."""
    return (*values, codec._seal(codec._canonical(values)))


@pytest.mark.parametrize("table", [PLAIN, MAYBE])
@given(values=plain_values)
def test_the_quick_check_accepts_on_writing_just_what_the_slow_one_does(
    table: Table[Any], values: tuple[Any, ...]
) -> None:
    def outcome(quick: bool) -> object:
        codec = RowCodec(table, Sealer())
        codec._quick.applies = quick
        try:
            return codec.encode(table.record(*values))
        except InvalidArgument as fault:
            return str(fault)

    quick, slow = outcome(True), outcome(False)
    assert quick == slow
    if isinstance(quick, tuple):
        kept = [(kind, value) for kind, value in zip(KEPT, quick, strict=True) if table is PLAIN or value is not None]
        assert all(type(value) is kind for kind, value in kept)


KEPT = (str, str, str, int, float, int, bytes, bytes)

edges = st.sampled_from([0, -1, MAX_INTEGER, -MAX_INTEGER, MAX_INTEGER + 1, -MAX_INTEGER - 1, 2**64 - 1])


@given(name=st.sampled_from(["q", "", "a\0b", "é" * 127]), version=edges, count=edges)
def test_the_quick_check_holds_a_row_within_wide_limits_to_63_bits(name: str, version: int, count: int) -> None:
    values = (name, "done", version, count)
    codec = RowCodec(WIDE, Sealer())
    fits = bool(name) and "\0" not in name and abs(version) <= MAX_INTEGER and 0 <= count <= MAX_INTEGER
    row = sealed(codec, values)
    ways: list[Callable[[], object]] = [
        lambda: codec.encode(Wide(name, State.DONE, version, count)),
        lambda: codec.decode(row),
        lambda: codec.decode_all([row, row]),
    ]
    for write_or_read in ways:
        if fits:
            write_or_read()
        else:
            with pytest.raises((InvalidArgument, Corrupt)):
                write_or_read()


@pytest.mark.parametrize("codec", [plain, maybe])
@given(values=plain_values)
def test_the_quick_check_accepts_on_reading_just_what_the_slow_one_does(
    codec: RowCodec[Any], values: tuple[Any, ...]
) -> None:
    if any(isinstance(value, StrEnum | IntEnum | bytearray | memoryview) for value in values):
        return  # no engine hands out such
    try:
        row = sealed(codec, values)
    except (UnicodeEncodeError, OverflowError):
        return  # no canonical form, so no seal
    slow: object
    try:
        slow = codec._decode_each(row[:-1])
    except Corrupt as fault:
        slow = str(fault)
    for read in (codec.decode, lambda one: codec.decode_all([one, one])[0]):
        quick: object
        try:
            quick = read(row)
        except Corrupt as fault:
            quick = str(fault)
        assert quick == slow or (isinstance(slow, str) and isinstance(quick, str))


@given(
    st.builds(
        Rich,
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=3),
        st.booleans(),
        st.none() | st.just("") | st.just("x"),
        st.sampled_from(["{}", "null", '{"b": 1,  "a": [1.0]}', '"é"', "1e2"]),
        st.dictionaries(st.sampled_from(["a", "b", "é"]), st.sampled_from(["", "1", "é"])),
    )
)
def test_records_come_back_exactly(record: Rich) -> None:
    assert rich.decode(rich.encode(record)) == record
    assert rich.decode_all([rich.encode(record)] * 3) == [record] * 3


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"queue": "a" * 13}, "queue"),
        ({"queue": "é" * 7}, "queue"),
        ({"queue": ""}, "queue"),
        ({"queue": "a\0"}, "queue"),
        ({"queue": "\ud800"}, "queue"),
        ({"queue": 7}, "queue"),
        ({"note": "x" * 17}, "note"),
        ({"state": "unheard of"}, "state"),
        ({"count": True}, "count"),
        ({"count": 10}, "count"),
        ({"count": 1.0}, "count"),
        ({"version": 2**63}, "version"),
        ({"version": -(2**63)}, "version"),
        ({"share": math.nan}, "share"),
        ({"share": 1.5}, "share"),
        ({"share": "0.5"}, "share"),
        ({"data": b"x" * 9}, "data"),
        ({"data": "text"}, "data"),
        ({"data": bytearray(b"x")}, "data"),
        ({"data": memoryview(b"x")}, "data"),
        ({"count": Number.ONE}, "count"),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_refused_by_name(change: dict[str, Any], column: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"^plain\.{column}: expected "):
        plain.encode(good.replace(**change))


def test_limits_count_bytes_and_hold_exactly() -> None:
    assert plain.encode(good.replace(queue="é" * 6))[0] == "é" * 6
    assert plain.encode(good.replace(queue="a" * 12))[0] == "a" * 12


def test_a_negative_zero_and_a_whole_number_are_kept_as_floats() -> None:
    assert math.copysign(1, plain.decode(plain.encode(good.replace(share=-0.0))).share) == 1
    assert type(plain.decode(plain.encode(good.replace(share=1))).share) is float


@pytest.mark.parametrize("position", range(8))
def test_every_column_and_the_seal_itself_are_under_the_seal(position: int) -> None:
    changed: list[Stored] = list(plain.encode(good))
    others: dict[int, Stored] = {0: "p", 1: "n", 2: "waiting", 3: 1, 4: 0.25, 5: 5, 6: b"", 7: b"\0" * 32}
    changed[position] = others[position]
    with pytest.raises(Corrupt):
        plain.decode(tuple(changed))
    with pytest.raises(Corrupt):
        plain.decode_all([plain.encode(good), tuple(changed)])


def test_a_row_of_another_table_is_not_taken_for_this_ones() -> None:
    other = RowCodec(Table("other", Plain, key=("queue",)), Sealer())
    with pytest.raises(Corrupt):
        plain.decode(other.encode(good))


def test_who_has_no_seal_key_cannot_forge_a_row() -> None:
    keyed = RowCodec(PLAIN, Sealer(b"k" * 32))
    assert keyed.decode(keyed.encode(good)) == good
    for forger in (plain, RowCodec(PLAIN, Sealer(b"l" * 32))):
        with pytest.raises(Corrupt):
            keyed.decode(forger.encode(good))


def test_a_seal_key_has_sixteen_to_sixty_four_bytes() -> None:
    for size in (15, 65):
        with pytest.raises(InvalidArgument):
            Sealer(b"k" * size)
    assert Sealer(b"k" * 16).fingerprint != Sealer(b"k" * 64).fingerprint
    assert "kkk" not in repr(Sealer(b"k" * 16))


def test_what_is_corrupt_is_named_and_clipped_and_a_sensitive_value_is_not_shown() -> None:
    record = Rich("n", True, None, "{}", {}, secret="hunter2")
    row = list(rich.encode(record))
    row[3] = "{" * 200
    with pytest.raises(Corrupt, match=r"rich\('n'\): column exact: expected at most 40 bytes") as found:
        rich.decode(tuple(row))
    assert (found.value.table, found.value.key, found.value.column) == ("rich", ("n",), "exact")
    assert len(str(found.value)) < 160
    row = list(rich.encode(record))
    row[5] = 5
    with pytest.raises(Corrupt, match="column secret") as found:
        rich.decode(tuple(row))
    assert "5" not in str(found.value)


def test_a_rule_is_asked_before_a_write_and_after_a_read() -> None:
    table = Table("ruled", Plain, key=("queue",), rule=lambda r: "a note is needed" if not r.note else None)
    codec = RowCodec(table, Sealer())
    with pytest.raises(InvalidArgument, match="ruled: a note is needed"):
        codec.encode(good)
    lax = RowCodec(Table("ruled", Plain, key=("queue",)), Sealer())
    for read in (codec.decode, lambda row: codec.decode_all([row, row])):
        with pytest.raises(Corrupt, match="a note is needed"):
            read(lax.encode(good))


class Old(Record):
    name: Annotated[str, Identifier(12)]


class New(Record):
    name: Annotated[str, Identifier(12)]
    seen_at: Annotated[int, Millis(), Since(2)] = 7
    tag: Annotated[str, Text(9), Since(3)] = ""


def test_a_row_from_before_its_table_gained_columns_keeps_its_seal() -> None:
    old = RowCodec(Table("grown", Old, key=("name",)), Sealer())
    new = RowCodec(Table("grown", New, key=("name",)), Sealer())
    name, seal = old.encode(Old("n"))
    assert new.decode((name, 7, "", seal)) == New("n")
    assert new.encode(New("n"))[-1] == seal
    with pytest.raises(Corrupt):
        new.decode((name, 8, "", seal))
    with pytest.raises(Corrupt):
        new.decode((name, 7, "x", seal))
    assert new.decode(new.encode(New("n", 7, "x"))) == New("n", 7, "x")


class Long(Record):
    name: Annotated[str, Identifier(8)]
    body: Annotated[str, Text(4096)]
    data: Annotated[bytes | None, Blob(4096)] = None


@pytest.mark.parametrize("body", ["x" * 4096, "é" * 2048, "x" * 4097, "é" * 2049])
def test_the_length_of_one_value_does_not_decide_which_check_a_row_gets(body: str) -> None:
    codec = RowCodec(Table("long", Long, key=("name",)), Sealer())
    for data in (b"\0" * 4096, None):
        row = sealed(codec, ("n", body, data))
        if len(body.encode()) <= 4096:
            assert codec._quickly_stored(Long("n", body, data)) is not None
            assert codec._quickly_decoded([row, row]) == [Long("n", body, data)] * 2
            assert codec.decode(row) == Long("n", body, data)
        else:
            assert codec._quickly_stored(Long("n", body, data)) is None
            with pytest.raises(Corrupt, match="body: expected at most 4096"):
                codec.decode(row)
