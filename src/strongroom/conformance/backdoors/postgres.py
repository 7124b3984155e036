"""Into a PostgreSQL schema."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from strongroom.conformance.backdoors.door import COMMIT_MARKS, ServerBackDoor
from strongroom.conformance.harness import Ability
from strongroom.errors import Unavailable
from strongroom.records import SEAL, AnyTable, Key, Stored

STATES: Final = {Ability.FAILED_COMMIT: "53100", Ability.DISK_FULL: "53100", Ability.CONFLICTS: "40001"}
"""What the server says at a commit that is to fail: that the disk is full, or that rivals won."""

_NEVER_HELD: Final = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.DatatypeMismatch)
_BLOCKERS: Final = """
    SELECT pg_terminate_backend(pid) FROM (
        SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND l.pid <> pg_backend_pid()
    ) AS blockers
"""
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename"
_DECLARED: Final = """
    SELECT 'column ' || attnum || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull
        FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attnum > 0
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %(table)s::regclass
    UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %(table)s::regclass
    ORDER BY 1
"""


class PostgresBackDoor(ServerBackDoor):
    """Into the schema `schema` of the database at `url`, a libpq URI; its user must own what is in there."""

    def __init__(self, url: str, schema: str) -> None:
        self.schema = schema
        self._url = url
        self._connected: psycopg.Connection[Any] | None = None
        self._counted: set[str] = set()

    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        names = [*table.index, SEAL]
        columns = SQL(", ").join(map(Identifier, names))
        query = SQL("SELECT {} FROM {} WHERE {}").format(columns, self._name(table.name), _where(table))
        row = self._connection.execute(query, key).fetchone()
        return None if row is None else dict(zip(names, row, strict=True))

    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        try:
            self._unguarded(table, self._update(table, column), (value, *key))
        except _NEVER_HELD:
            return False
        return True

    def remove(self, table: AnyTable, key: Key) -> None:
        self._unguarded(table, SQL("DELETE FROM {} WHERE {}").format(self._name(table.name), _where(table)), key)

    def update_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        return self._refused(self._update(table, column), (value, *key))

    def replace_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        names = [*table.index, SEAL]
        columns = SQL(", ").join(map(Identifier, names))
        query = SQL("INSERT INTO {0} ({1}) SELECT {1} FROM {0} WHERE {2} ON CONFLICT ({3}) DO UPDATE SET {4} = %s")
        keys = SQL(", ").join(map(Identifier, table.key_names))
        made = query.format(self._name(table.name), columns, _where(table), keys, Identifier(column))
        return self._refused(made, (*key, value))

    def delete_refused(self, table: AnyTable, key: Key) -> bool:
        return self._refused(SQL("DELETE FROM {} WHERE {}").format(self._name(table.name), _where(table)), key)

    def exists(self) -> bool:
        found = self._connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.schema,))
        return found.fetchone() is not None

    def drop(self) -> None:
        self._connection.execute(_BLOCKERS, (self.schema,))
        self._connection.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(self.schema)))

    def image(self) -> bytes:
        parts: list[bytes] = []
        for table in self._tables():
            name = self._name(table)
            declared = self._connection.execute(_DECLARED, {"table": name.as_string(self._connection)}).fetchall()
            parts.append(f"{table} {declared}".encode())
            # With each row's place and the transaction that wrote it: a row that is written again is another one.
            query = SQL("COPY (SELECT ctid, xmin, * FROM {} ORDER BY ctid) TO STDOUT").format(name)
            with self._connection.cursor() as cursor, cursor.copy(query) as copied:
                parts += [bytes(part) for part in copied]
        return b"\n".join(parts)

    def flushes(self) -> int:
        self._count()
        # Before version 18 the server does not tell on whose behalf it flushed.
        query = "SELECT wal_sync FROM pg_stat_wal"
        if self._connection.info.server_version >= 180000:
            query = "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend'"
        row: Any = self._connection.execute(query.encode()).fetchone()
        return int(row[0])

    @contextlib.contextmanager
    def failing(self, fault: Ability) -> Iterator[None]:
        function, marks = self._name("conform_fails"), self._name(COMMIT_MARKS)
        body = f"BEGIN RAISE EXCEPTION 'made to fail' USING ERRCODE = '{STATES[fault]}'; END"
        make = SQL("CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS {}").format(function, Literal(body))
        # Deferred: it is the commit that fails, and not a statement before.
        guard = SQL(
            "CREATE CONSTRAINT TRIGGER conform_fails AFTER INSERT OR UPDATE OR DELETE ON {} "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {}()"
        ).format(marks, function)
        self._connection.execute(make)
        self._connection.execute(guard)
        try:
            yield
        finally:
            self._connection.execute(SQL("DROP FUNCTION {}() CASCADE").format(function))

    def close(self) -> None:
        if self._connected is not None:
            self._connected.close()

    def _count(self) -> None:
        """Have every session that writes here report what it flushed at once; left alone, it waits for seconds."""
        if self.schema in self._counted:
            return
        function = self._name("conform_reports")
        body = Literal("BEGIN PERFORM pg_stat_force_next_flush(); RETURN NULL; END")
        self._connection.execute(
            SQL("CREATE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS {}").format(function, body)
        )
        for table in self._tables():
            self._connection.execute(
                SQL(
                    "CREATE TRIGGER conform_reports AFTER INSERT OR UPDATE OR DELETE ON {} EXECUTE FUNCTION {}()"
                ).format(self._name(table), function)
            )
        self._counted.add(self.schema)

    def _tables(self) -> list[str]:
        return [str(name) for (name,) in self._connection.execute(_TABLES, (self.schema,)).fetchall()]

    def _refused(self, query: Composed, values: Sequence[Stored]) -> bool:
        try:
            return self._connection.execute(query, values).rowcount == 0
        except psycopg.Error:
            return True

    def _unguarded(self, table: AnyTable, query: Composed, values: Sequence[Stored]) -> None:
        """Run a statement while the table's triggers are off; they are back at its end, however that is."""
        name = self._name(table.name)
        with self._connection.transaction():
            self._connection.execute(SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(name))
            self._connection.execute(query, values)
            self._connection.execute(SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(name))

    def _update(self, table: AnyTable, column: str) -> Composed:
        query = SQL("UPDATE {} SET {} = %s WHERE {}")
        return query.format(self._name(table.name), Identifier(column), _where(table))

    def _name(self, name: str) -> Identifier:
        return Identifier(self.schema, name)

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        if self._connected is None or self._connected.closed:
            try:
                self._connected = psycopg.connect(self._url, autocommit=True)
                self._connected.execute("SET lock_timeout = '20s'")
            except psycopg.OperationalError as fault:
                raise Unavailable("the kit's own connection to PostgreSQL was refused") from fault
        return self._connected


def _where(table: AnyTable) -> Composed:
    return SQL(" AND ").join(SQL("{} = %s").format(Identifier(name)) for name in table.key_names)
