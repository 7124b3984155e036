"""Migrations: each in one transaction, alone among those of its schema (M1, M3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from strongroom.engine import Guard, SchemaRows
from strongroom.engines.postgres.calls import ASK_TIME, BEGIN_LOOSE, COMMIT, Call, Statement
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.rows import AskedRows
from strongroom.engines.postgres.session import WriteLane
from strongroom.engines.postgres.statements import IMMUTABLE, MARKS, REFUSE, TURNS, quoted
from strongroom.engines.postgres.values import INTEGER, TEXT, ArrayType
from strongroom.records import AnyTable, Column, Key, Row

T = TypeVar("T")

_ALONE: Final = Statement("SELECT pg_advisory_xact_lock(?)", [INTEGER])
_SCHEMA: Final = Statement("SELECT 1 FROM pg_namespace WHERE nspname = ?", [TEXT])
_TABLES: Final = Statement(
    "SELECT tablename FROM pg_tables WHERE schemaname = ? AND tablename <> ALL (?)", [TEXT, ArrayType(TEXT)]
)


def tables_in(schema: str) -> Call:
    """The call that answers the names of the store's tables."""
    return _TABLES([schema, (MARKS, TURNS)])


def migrate(lane: WriteLane, work: Callable[[SchemaRows], T]) -> T:
    """Run `work` in one transaction, alone among the migrations of the schema.

    Read committed, unlike every other: whoever waited for the lock must see what was migrated meanwhile. What it
    reads and changes is guarded by the lock, which all migrations take.
    """
    schema = lane.statements.schema
    link = lane.links.take()
    try:
        link.trip(*link.beginning(BEGIN_LOOSE), _ALONE([_lock_of(schema)]))
        rows = MigrationRows(lane, link)
        rows.make_room()
        result = work(rows)
        token = lane.marks.new_token()
        lane.commit(token, link, lane.marks.remove_old(), lane.marks.mark(token), COMMIT)
        return result
    finally:
        lane.links.leave(link)


class MigrationRows(AskedRows, SchemaRows):
    """Rows as a migration reads and writes them, each call at once."""

    def __init__(self, lane: WriteLane, link: Link) -> None:
        self._lane = lane
        self._statements = lane.statements
        self._schema = lane.statements.schema
        self._link = link

    def make_room(self) -> None:
        """Make the schema, and what the engine itself keeps in it."""
        schema = quoted(self._schema)
        if not self._ask(_SCHEMA([self._schema])):
            self._run(Statement(f"CREATE SCHEMA {schema}"))
        self._run(self._lane.marks.create)
        self._run(Statement(f"CREATE TABLE IF NOT EXISTS {schema}.{quoted(TURNS)} ()"))
        self._run(
            Statement(
                f"CREATE OR REPLACE FUNCTION {schema}.{quoted(REFUSE)}() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN RAISE EXCEPTION '% is immutable: no %', TG_TABLE_NAME, lower(TG_OP) "
                f"USING ERRCODE = '{IMMUTABLE}'; END$$"
            )
        )

    def tables(self) -> set[str]:
        return {str(name) for (name,) in self._ask(tables_in(self._schema))}

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        for statement in self._statements[table].create(columns):
            self._run(statement)

    def add_column(self, table: AnyTable, column: Column) -> None:
        self._run(self._statements[table].add_column(column))

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._changed(self._statements[table].insert(row))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._changed(self._statements[table].replace(key, row, guard.name, guard.value))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._changed(self._statements[table].put(row))

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        name, value = (None, None) if guard is None else (guard.name, guard.value)
        return self._changed(self._statements[table].remove(key, name, value))

    def clock(self) -> int:
        return self._lane.clock.now(lambda: int(self._ask(ASK_TIME)[0][0]))

    def _ask(self, call: Call) -> list[tuple[Any, ...]]:
        return self._link.rows(self._link.trip(call)[0])

    def _run(self, statement: Statement) -> None:
        self._link.trip(statement())

    def _changed(self, call: Call) -> bool:
        return bool(self._link.trip(call)[0].command_tuples)


def _lock_of(schema: str) -> int:
    digest = hashlib.blake2b(schema.encode(), digest_size=8, person=b"strongroom.lock").digest()
    return int.from_bytes(digest, signed=True)
