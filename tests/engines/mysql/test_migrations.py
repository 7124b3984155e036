"""Changes of tables: defaults in older rows, what is there and is another, what is cleared away."""

from __future__ import annotations

from typing import Annotated

import pymysql
import pytest

from strongroom.engines.mysql.faults import translate
from strongroom.errors import (
    MigrationFailed,
)
from strongroom.records import Blob, Identifier, Integer, Record, Schema, Since, Table, Text, desc
from tests.engines.leases import SCHEMA
from tests.engines.mysql.conftest import Ask, Url, opened


class Early(Record):
    name: Annotated[str, Identifier(32)]
    number: Annotated[int, Integer()]


class Late(Record):
    name: Annotated[str, Identifier(32)]
    number: Annotated[int, Integer()]
    text: Annotated[str, Text(1000), Since(2)] = "it's \\ 'é' %s"
    data: Annotated[bytes, Blob(100_000), Since(2)] = b"\0\xff'"
    none: Annotated[bytes, Blob(100), Since(2)] = b""
    empty: Annotated[str, Text(100), Since(2)] = ""
    maybe: Annotated[str | None, Text(20_000_000), Since(2)] = None
    real: Annotated[float, Since(2)] = 0.1


EARLY = Table("grown", Early, key=(desc("name"), "number"))
LATE = Table("grown", Late, key=(desc("name"), "number"))


def test_a_row_holds_the_defaults_of_all_that_came_later(url: Url) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("growing", EARLY))
        engine.insert(EARLY, Early("a", 1))
    with opened(url()) as engine:
        engine.prepare(Schema("growing", LATE))
        assert engine.get(LATE, "a", 1) == Late("a", 1)
        engine.insert(LATE, Late("b", 1, "", b"", maybe="x", real=5e-324))
        assert engine.scan(LATE, limit=9) == [Late("b", 1, "", b"", maybe="x", real=5e-324), Late("a", 1)]


@pytest.mark.parametrize(
    ("made", "names"),
    [
        ("name VARBINARY(32) NOT NULL, PRIMARY KEY (name)", "number"),
        ("name VARCHAR(32) NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (name, number)", "name, seal"),
        (
            "name VARBINARY(32) NOT NULL, number BIGINT NOT NULL, seal BINARY(32) NOT NULL, PRIMARY KEY (name, number)",
            "primary key",
        ),
    ],
)
def test_a_table_that_is_there_and_is_another_is_left_alone(url: Url, admin: Ask, made: str, names: str) -> None:
    with opened(url()) as engine:
        database = engine.options.database
        admin(f"CREATE DATABASE {database}")
        admin(f"CREATE TABLE {database}.grown ({made})")
        before = admin(f"SHOW CREATE TABLE {database}.grown")
        with pytest.raises(MigrationFailed, match=names):
            engine.prepare(Schema("growing", EARLY))
        assert admin(f"SHOW CREATE TABLE {database}.grown") == before


def test_a_column_that_is_there_and_is_another_is_not_taken_for_the_one_declared(url: Url, admin: Ask) -> None:
    with opened(url()) as engine:
        engine.prepare(Schema("growing", EARLY))
        admin(f"ALTER TABLE {engine.options.database}.grown ADD COLUMN text BIGINT NOT NULL DEFAULT 0")
        with pytest.raises(MigrationFailed, match=r"grown\.text"):
            engine.prepare(Schema("growing", LATE))


def test_a_user_who_may_make_no_triggers_is_told_what_to_do() -> None:
    fault = translate(pymysql.OperationalError(1419, "You do not have the SUPER privilege and binary logging is on"))
    assert isinstance(fault, MigrationFailed)
    assert "log_bin_trust_function_creators" in str(fault)


def test_old_marks_are_forgotten_when_a_store_is_migrated(url: Url, admin: Ask) -> None:
    with opened(url()) as engine:
        engine.prepare(SCHEMA)
        name = f"{engine.options.database}.strongroom_marks"
        fresh = engine.lane.marks.new_token()
        admin(f"INSERT INTO {name} VALUES (%s, 'commit', 1), (%s, 'commit', 1)", f"{1:012x}{'a' * 16}", fresh)
        engine.prepare(Schema("growing", EARLY))
        assert admin(f"SELECT CAST(token AS CHAR) FROM {name}") == ((fresh,),)
