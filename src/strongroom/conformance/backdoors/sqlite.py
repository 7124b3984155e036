"""Into a SQLite file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from strongroom.conformance.backdoors.door import SqlBackDoor
from strongroom.records import SEAL, AnyTable, Key, Stored


class SqliteBackDoor(SqlBackDoor):
    """Into a SQLite file, over a connection of its own.

    It uses the library that the engine uses: a second copy of SQLite in one process would drop the first one's locks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        with self._connection() as connection:
            columns = ", ".join(_quoted(name) for name in (*table.index, SEAL))
            row: Any = connection.execute(f"SELECT {columns} FROM {_quoted(table.name)} WHERE {_where(table)}", key).get
            return None if row is None else dict(zip([*table.index, SEAL], row, strict=True))

    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        with self._unguarded(table) as connection:
            try:
                connection.execute(_update(table, column), (value, *key))
            except apsw.ConstraintError:
                return False
        return True

    def remove(self, table: AnyTable, key: Key) -> None:
        with self._unguarded(table) as connection:
            connection.execute(f"DELETE FROM {_quoted(table.name)} WHERE {_where(table)}", key)

    def update_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        return self._refused(_update(table, column), (value, *key))

    def replace_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        """Whether an INSERT OR REPLACE over a row is refused, its guards in place."""
        names = [*table.index, SEAL]
        picked = ", ".join("?" if name == column else _quoted(name) for name in names)
        columns = ", ".join(_quoted(name) for name in names)
        insert = f"INSERT OR REPLACE INTO {_quoted(table.name)} ({columns})"
        return self._refused(
            f"{insert} SELECT {picked} FROM {_quoted(table.name)} WHERE {_where(table)}", (value, *key)
        )

    def delete_refused(self, table: AnyTable, key: Key) -> bool:
        return self._refused(f"DELETE FROM {_quoted(table.name)} WHERE {_where(table)}", key)

    def _refused(self, statement: str, values: Sequence[Stored]) -> bool:
        with self._connection() as connection:
            try:
                connection.execute(statement, values)
            except apsw.ConstraintError:
                return True
            return connection.changes() == 0

    @contextlib.contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(5000)
            yield connection
        finally:
            connection.close()

    @contextlib.contextmanager
    def _unguarded(self, table: AnyTable) -> Iterator[apsw.Connection]:
        """A transaction in which the table's triggers are gone; they are back at its end."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            triggers: list[Any] = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table.name,)
            ).fetchall()
            for name, _ in triggers:
                connection.execute(f"DROP TRIGGER {_quoted(name)}")
            yield connection
            for _, statement in triggers:
                connection.execute(statement)
            connection.execute("COMMIT")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _where(table: AnyTable) -> str:
    return " AND ".join(f"{_quoted(name)} = ?" for name in table.key_names)


def _update(table: AnyTable, column: str) -> str:
    return f"UPDATE {_quoted(table.name)} SET {_quoted(column)} = ? WHERE {_where(table)}"
