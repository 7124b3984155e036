"""Migration. MySQL commits each change of a table by itself, so every step of it may be taken again (M3)."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import pymysql

from strongroom.engine import Guard, Rivals, SchemaRows
from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.faults import DUPLICATE, number_of, translate
from strongroom.engines.mysql.guards import TABLE as GUARDS
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.marks import TABLE as MARKS
from strongroom.engines.mysql.options import MysqlOptions
from strongroom.engines.mysql.rows import LinkRows
from strongroom.engines.mysql.statements import MYSQL, TableStatements, literal
from strongroom.errors import MigrationFailed, StrongroomError, Unavailable
from strongroom.records import SEAL, AnyTable, Column, Key, Row, Stored
from strongroom.records.seal import SEAL_BYTES

T = TypeVar("T")

OWN_TABLES: Final = frozenset({MARKS, GUARDS})
"""What the engine keeps for itself: no tables of the store."""

_COLUMN_EXISTS: Final = 1060
_TRIGGER_EXISTS: Final = 1359

_SMALL, _MEDIUM = 2**16 - 1, 2**24 - 1
"""How many bytes a TEXT or BLOB holds, and a MEDIUM one."""


class MigrationRows(LinkRows, SchemaRows):
    """Rows as a migration reads and makes them: each statement for itself, kept at once.

    `patient`: a table that is not as declared may be in another migration's hands, on another node of a cluster, and
    is to be looked at again.
    """

    def __init__(
        self, link: Link, database: str, statements: TableStatements, clock: Callable[[], int], *, patient: bool
    ) -> None:
        super().__init__(link, statements)
        self._link = link
        self._database = database
        self._clock = clock
        self._patient = patient

    def tables(self) -> set[str]:
        return tables_of(self._link.ask, self._database)

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        name = self._statements[table].name
        keyed = set(table.key_names)
        lines = [f"{MYSQL.name(c.name)} {_type(c, keyed)}{'' if c.nullable else ' NOT NULL'}" for c in columns]
        lines.append(f"{MYSQL.name(SEAL)} BINARY({SEAL_BYTES}) NOT NULL")
        key = ", ".join(MYSQL.name(part.column.name) + (" DESC" if part.descending else "") for part in table.key)
        (made,) = self._link_trip(
            f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(lines)}, PRIMARY KEY ({key})) "
            "ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
        )
        if made.warnings:  # it was there
            self._check(table, columns)
        for change in _refused(table):
            if not made.warnings or not self._is_guarded(table, change):
                self._guard(table, change)

    def add_column(self, table: AnyTable, column: Column) -> None:
        nullable = "" if column.nullable else " NOT NULL"
        default = _default(column.stored_default())
        self._link_trip(
            f"ALTER TABLE {self._statements[table].name} ADD COLUMN {MYSQL.name(column.name)} "
            f"{_type(column, ())}{nullable} DEFAULT {default}",
            _COLUMN_EXISTS,
        )
        found = self._columns(table).get(column.name)
        if found != _expected(column, ()):
            raise self._unlike(f"{table.name}.{column.name} is there, and is not what it is declared as")

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        # What is inserted was looked for before: who has put it there since then migrates as well.
        try:
            self._link.trip([statement for statement, _ in self._statements[table].insert([row])])
        except pymysql.MySQLError as fault:
            if number_of(fault) == DUPLICATE:
                raise Rivals(f"{table.name}: another migration was first") from fault
            raise translate(fault) from fault
        return True

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self.insert(table, key, row)

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        raise MigrationFailed(f"{table.name}: a migration changes no rows")

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        raise MigrationFailed(f"{table.name}: a migration removes no rows")

    def clock(self) -> int:
        return self._clock()

    def _is_guarded(self, table: AnyTable, change: str) -> bool:
        """Whether there is a trigger of `_guard`'s."""
        trigger = _trigger(table, change)
        found = self._link.ask(
            f"SELECT 1 FROM information_schema.triggers WHERE event_object_schema = {literal(self._database)} AND "
            f"event_object_table = {literal(table.name)} AND LEFT(trigger_name, {len(trigger)}) = {literal(trigger)}"
        )
        return bool(found)

    def _guard(self, table: AnyTable, change: str) -> None:
        """Have the server itself refuse a change of the table's rows, by a trigger (W4).

        Two nodes of a cluster that make triggers of one name at once hang for ever: each holds the name while it waits
        for the other (MariaDB 10.11). So each makes its own; two that do the same do no harm.
        """
        trigger = _trigger(table, change)
        if self._link.server.cluster:
            trigger += f"_{secrets.token_hex(2)}"
        self._link_trip(
            f"CREATE TRIGGER {MYSQL.name(self._database)}.{MYSQL.name(trigger)} BEFORE {change} "
            f"ON {self._statements[table].name} FOR EACH ROW "
            f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{table.name} is immutable: no {change}'",
            _TRIGGER_EXISTS,
        )

    def _check(self, table: AnyTable, columns: Sequence[Column]) -> None:
        """Raises `MigrationFailed` where a table was there already, and is another than it is declared as."""
        keyed = set(table.key_names)
        expected = {column.name: _expected(column, keyed) for column in columns}
        expected[SEAL] = ("binary", SEAL_BYTES, "NO", "")
        found = self._columns(table)
        if found != expected:
            differ = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
            raise self._unlike(f"{table.name} is there, and its {', '.join(differ)} not as declared")
        key = self._link.ask(
            "SELECT column_name, collation FROM information_schema.statistics WHERE table_schema = "
            f"{literal(self._database)} AND table_name = {literal(table.name)} AND index_name = 'PRIMARY' "
            "ORDER BY seq_in_index"
        )
        if [tuple(part) for part in key] != [(part.column.name, "D" if part.descending else "A") for part in table.key]:
            raise self._unlike(f"{table.name} is there, and its primary key is not as declared")

    def _unlike(self, what: str) -> StrongroomError:
        return Rivals(what) if self._patient else MigrationFailed(what)

    def _columns(self, table: AnyTable) -> dict[str, tuple[Any, ...]]:
        rows = self._link.ask(
            "SELECT column_name, data_type, character_octet_length, is_nullable, collation_name "
            "FROM information_schema.columns WHERE table_schema = "
            f"{literal(self._database)} AND table_name = {literal(table.name)}"
        )
        return {str(name): (str(kind), size, nulls, collation or "") for name, kind, size, nulls, collation in rows}

    def _link_trip(self, statement: str, *tolerated: int) -> Sequence[Answer]:
        try:
            return self._link.trip([statement])
        except pymysql.MySQLError as fault:
            if number_of(fault) not in tolerated:
                raise translate(fault) from fault
            return ()


@contextlib.contextmanager
def migrating(
    link: Link, options: MysqlOptions, statements: TableStatements, clock: Callable[[], int], *, hurried: bool
) -> Iterator[MigrationRows]:
    """Rows for one migration, alone among those that reach the store through the same server.

    Between the nodes of a cluster nothing is locked: there each step finds what another node has done already, and
    raises `Rivals` to be taken again where that is half done, unless it is `hurried`.
    """
    database = MYSQL.name(options.database)
    if not link.ask(f"SELECT 1 FROM information_schema.schemata WHERE schema_name = {literal(options.database)}"):
        link.ask(f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    lock = literal(f"strongroom {hashlib.blake2b(options.database.encode(), digest_size=16).hexdigest()}")
    ((got,),) = link.ask(f"SELECT GET_LOCK({lock}, {max(1, options.timeout_ms // 1000)})")
    if got != 1:
        raise Unavailable("MySQL: another migration of the store has been under way for too long")
    try:
        patient = link.server.cluster and not hurried
        yield MigrationRows(link, options.database, statements, clock, patient=patient)
    finally:
        if link.fit:
            link.ask(f"SELECT RELEASE_LOCK({lock})")


def tables_of(ask: Callable[[str], Sequence[Row]], database: str) -> set[str]:
    """The names of the store's tables; none where its database is not there."""
    rows = ask(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = "
        f"{literal(database)} AND table_type = 'BASE TABLE'"
    )
    return {str(name) for (name,) in rows} - OWN_TABLES


def _trigger(table: AnyTable, change: str) -> str:
    return f"{table.name}_no_{change.lower()}"


def _refused(table: AnyTable) -> list[str]:
    changes = table.changes
    return ([] if changes.update or changes.put else ["UPDATE"]) + ([] if changes.delete else ["DELETE"])


def _type(column: Column, keyed: Sequence[str] | set[str]) -> str:
    kind, size, _, collation = _expected(column, keyed)
    if kind == "varbinary":
        return f"VARBINARY({size})"
    return f"{kind.upper()}{f' CHARACTER SET utf8mb4 COLLATE {collation}' if collation else ''}"


def _expected(column: Column, keyed: Sequence[str] | set[str]) -> tuple[Any, ...]:
    """A column as the catalog has it: its type, how many bytes it holds, whether it may be null, its collation."""
    nulls = "YES" if column.nullable else "NO"
    size = getattr(column.kind, "max_bytes", 0)
    if column.storage == "integer":
        return ("bigint", None, nulls, "")
    if column.storage == "real":
        return ("double", None, nulls, "")
    if column.name in keyed:
        return ("varbinary", max(size, 1), nulls, "")
    stem, collation = ("text", "utf8mb4_bin") if column.storage == "text" else ("blob", "")
    for prefix, holds in (("", _SMALL), ("medium", _MEDIUM), ("long", 2**32 - 1)):
        if size <= holds:
            return (prefix + stem, holds, nulls, collation)
    raise MigrationFailed(f"{column.name}: MySQL holds at most {2**32 - 1} bytes in a column")


def _default(value: Stored) -> str:
    """What older rows hold in a new column: as an expression, for texts have no plain default."""
    if value is None:
        return "NULL"
    return f"({literal(value)})"
