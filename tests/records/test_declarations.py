"""Declarations that no engine could keep are refused when they are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import pytest

from strongroom.engine.catalog import STEPS
from strongroom.records import (
    MAX_INTEGER,
    NEVER,
    VERSIONED,
    Blob,
    Identifier,
    Integer,
    Json,
    Real,
    Record,
    Schema,
    Since,
    Table,
    Text,
    desc,
)


class Thing(Record):
    name: Annotated[str, Identifier(10)]
    size: int
    maybe: Annotated[int | None, Integer()]
    note: Annotated[str, Text(10)]
    data: Annotated[bytes, Blob(10)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "Thing"}, "lower-case"),
        ({"name": "x" * 49}, "lower-case"),
        ({"name": "sqlite_things"}, "taken"),
        ({"name": "strongroom_things"}, "taken"),
        ({"since": 0}, "counted from 1"),
        ({"key": ()}, "needs columns"),
        ({"key": ("name", "name")}, "each once"),
        ({"key": ("nothing",)}, "no field"),
        ({"key": ("maybe",)}, "part of a key"),
        ({"key": ("note",)}, "part of a key"),
        ({"key": ("data",)}, "part of a key"),
        ({"scope": 2}, "leading key columns"),
        ({"changes": VERSIONED("name")}, "integer field"),
        ({"changes": VERSIONED("nothing")}, "integer field"),
        ({"key": ("name", "size"), "changes": VERSIONED("size")}, "part of the key"),
    ],
)
def test_a_table_that_cannot_be_kept_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    name = arguments.pop("name", "things")
    with pytest.raises(TypeError, match=complaint):
        Table(name, Thing, **{"key": ("name",), "changes": NEVER, **arguments})


def test_text_and_bytes_need_a_declared_limit() -> None:
    class Loose(Record):
        name: str

    with pytest.raises(TypeError, match="say its kind"):
        Table("loose", Loose, key=("name",))


def test_no_field_may_take_the_seals_name() -> None:
    class Sealed(Record):
        seal: Annotated[str, Identifier(10)]

    with pytest.raises(TypeError, match="'seal'"):
        Table("sealed", Sealed, key=("seal",))


Name = Annotated[str, Identifier(10)]


class Nul(StrEnum):
    ODD = "a\0b"


class Surrogate(StrEnum):
    ODD = "\ud800"


class Nothing(StrEnum):
    pass


def _by_keyword() -> type[Record]:
    class Keyed(Record, kw_only=True):
        name: Name

    return Keyed


def _by_keyword_in_its_base() -> type[Record]:
    class Base(Record, kw_only=True):
        size: int

    class Derived(Base):
        name: Name

    return Derived


def _tagged() -> type[Record]:
    class Tagged(Record, tag=True):
        name: Name

    return Tagged


def _as_a_mapping() -> type[Record]:
    class Mapped(Record, array_like=False):
        name: Name

    return Mapped


def _lenient() -> type[Record]:
    class Lenient(Record, forbid_unknown_fields=False):
        name: Name

    return Lenient


def _alike() -> type[Record]:
    class Alike(Record):
        name: Name
        Name: Name

    return Alike


def _sealed() -> type[Record]:
    class Sealed(Record):
        name: Name
        Seal: Name

    return Sealed


def _foreign() -> type[Record]:
    class Foreign(Record):
        name: Name
        größe: int

    return Foreign


def _taken() -> type[Record]:
    class Taken(Record):
        name: Name
        xMin: int  # noqa: N815 - the case does not matter

    return Taken


@pytest.mark.parametrize(
    ("declare", "complaint"),
    [
        (_by_keyword, "by position"),
        (_by_keyword_in_its_base, "by position"),
        (_tagged, "no tag"),
        (_as_a_mapping, "array_like"),
        (_lenient, "forbid_unknown_fields"),
        (_alike, "in its case only"),
        (_sealed, "'seal'"),
        (_foreign, "a letter"),
        (_taken, "of their own"),
    ],
)
def test_a_record_whose_fields_would_not_come_back_is_refused(
    declare: Callable[[], type[Record]], complaint: str
) -> None:
    with pytest.raises(TypeError, match=complaint):
        Table("things", declare(), key=("name",))


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        (Annotated[int, Integer(0, MAX_INTEGER + 1)], "63 bits"),
        (Annotated[int, Integer(-MAX_INTEGER - 1)], "63 bits"),
        (Annotated[int, Integer(2, 1)], "63 bits"),
        (Annotated[float, Real(1.0, 0.0)], "lower limit"),
        (Annotated[float, Real(math.nan)], "lower limit"),
        (Annotated[str, Identifier(0)], "one byte"),
        (Annotated[str, Json(-1)], "one byte"),
        (Annotated[int, Since(0)], "counted from 1"),
        (Nul, "without NUL"),
        (Surrogate, "surrogates"),
        (Nothing, "no members"),
    ],
)
def test_a_kind_whose_values_could_not_be_kept_is_refused(annotation: Any, complaint: str) -> None:
    odd = type("Odd", (Record,), {"__annotations__": {"name": Name, "odd": annotation}})
    with pytest.raises(TypeError, match=complaint):
        Table("odd", odd, key=("name",))


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Annotated[int, Integer(1), Since(2)], 0),
        (Annotated[int, Integer(1)], 0),
        (int, True),
        (Name, "much too long a name"),
        (Annotated[str, Identifier(10), Since(2)], None),
    ],
)
def test_a_default_that_its_column_cannot_hold_is_refused(annotation: Any, default: object) -> None:
    odd = type("Odd", (Record,), {"__annotations__": {"name": Name, "odd": annotation}, "odd": default})
    with pytest.raises(TypeError, match="its default can't be kept"):
        Table("odd", odd, key=("name",))


def test_what_a_store_keeps_about_itself_belongs_to_no_other_schema() -> None:
    things = Table("things", Thing, key=("name",))
    declarations: list[Callable[[], Schema]] = [
        lambda: Schema("mine", things, STEPS),
        lambda: Schema("strongroom", things),
    ]
    for declare in declarations:
        with pytest.raises(TypeError, match="the store's own"):
            declare()


def test_a_column_added_later_needs_a_default_and_stands_last() -> None:
    class Bare(Record):
        name: Annotated[str, Identifier(10)]
        size: Annotated[int, Integer(), Since(2)]

    class Between(Record):
        name: Annotated[str, Identifier(10)] = "x"
        size: Annotated[int, Integer(), Since(2)] = 0
        other: int = 0

    with pytest.raises(TypeError, match="needs a default"):
        Table("bare", Bare, key=("name",))
    with pytest.raises(TypeError, match="after the older"):
        Table("between", Between, key=("name",))


class Grown(Record):
    name: Annotated[str, Identifier(10)]
    size: Annotated[int, Integer(), Since(2)] = 0


def test_steps_follow_from_what_tables_and_columns_say_of_themselves() -> None:
    things = Table("things", Thing, key=("name", desc("size")))
    grown = Table("grown", Grown, key=("name",))
    late = Table("late", Thing, key=("name",), since=3)
    schema = Schema("demo", things, grown, late)
    assert schema.version == 3
    assert [step.summary for step in schema.steps] == ["things, grown", "grown.size", "late"]
    assert len({step.digest for step in schema.steps}) == 3


def test_a_steps_digest_tells_when_it_was_changed_after_the_fact() -> None:
    before = Schema("demo", Table("things", Thing, key=("name",)))
    turned = Schema("demo", Table("things", Thing, key=(desc("name"),)))
    later = Schema("demo", Table("things", Thing, key=("name",)), Table("more", Thing, key=("name",), since=2))
    assert before.steps[0].digest != turned.steps[0].digest
    assert before.steps[0].digest == later.steps[0].digest


@pytest.mark.parametrize("tables", [(), (("a", 1), ("a", 1)), (("a", 1), ("b", 3))])
def test_a_schema_with_no_tables_two_of_a_name_or_an_empty_step_is_refused(tables: tuple[tuple[str, int], ...]) -> None:
    with pytest.raises(TypeError):
        Schema("demo", *[Table(name, Thing, key=("name",), since=since) for name, since in tables])
