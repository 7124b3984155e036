"""Declarations that no engine could keep are refused when they are made."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from strongroom.records import (
    NEVER,
    VERSIONED,
    Blob,
    Identifier,
    Integer,
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
