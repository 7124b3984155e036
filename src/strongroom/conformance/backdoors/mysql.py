"""Into a database of a MySQL or MariaDB server."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pymysql
from pymysql.constants import CLIENT, ER

from strongroom.conformance.backdoors.door import COMMIT_MARKS, ServerBackDoor
from strongroom.conformance.harness import Ability
from strongroom.errors import Unavailable
from strongroom.records import SEAL, AnyTable, Key, Stored

NUMBERS: Final = {Ability.FAILED_COMMIT: 1021, Ability.DISK_FULL: 1021, Ability.CONFLICTS: 1213}
"""What the server says of a transaction that is to fail: that the disk is full, or that rivals won."""
STATES: Final = {1021: "HY000", 1213: "40001"}

_NEVER_HELD: Final = {
    ER.BAD_NULL_ERROR,
    ER.WARN_DATA_OUT_OF_RANGE,
    ER.TRUNCATED_WRONG_VALUE,
    ER.TRUNCATED_WRONG_VALUE_FOR_FIELD,
    ER.DATA_TOO_LONG,
    ER.DUP_ENTRY,
    1265,  # a value that would be cut short
    3819,  # a check that fails, as MySQL says it,
    4025,  # and as MariaDB does
}
_DEFINER: Final = re.compile(r"\sDEFINER\s*=\s*\S+", re.IGNORECASE)
_OTHERS: Final = "SELECT id FROM information_schema.processlist WHERE db = %s AND id <> connection_id()"


class MysqlBackDoor(ServerBackDoor):
    """Into the database `database` of a server, which PyMySQL reaches by the arguments `server`."""

    def __init__(self, database: str, **server: Any) -> None:
        self.database = database
        self._server = server
        self._connected: pymysql.connections.Connection[Any] | None = None

    def peek(self, table: AnyTable, key: Key) -> dict[str, Stored] | None:
        names = [*table.index, SEAL]
        columns = ", ".join(map(_quoted, names))
        rows = self._execute(f"SELECT {columns} FROM {self._name(table.name)} WHERE {_where(table)}", _bytes(key))
        return {name: _text(table, name, value) for name, value in zip(names, rows[0], strict=True)} if rows else None

    def tamper(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        try:
            with self._unguarded(table):
                self._execute(self._update(table, column), (value, *_bytes(key)))
        except pymysql.MySQLError as fault:
            if isinstance(fault, pymysql.ProgrammingError) or fault.args[0] in _NEVER_HELD:
                return False
            raise
        return True

    def remove(self, table: AnyTable, key: Key) -> None:
        with self._unguarded(table):
            self._execute(f"DELETE FROM {self._name(table.name)} WHERE {_where(table)}", _bytes(key))

    def update_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        return self._refused(self._update(table, column), (value, *_bytes(key)))

    def replace_refused(self, table: AnyTable, key: Key, column: str, value: Stored) -> bool:
        names = [*table.index, SEAL]
        columns = ", ".join(map(_quoted, names))
        picked = ", ".join("%s" if name == column else _quoted(name) for name in names)
        name = self._name(table.name)
        replace = f"REPLACE INTO {name} ({columns}) SELECT {picked} FROM {name} WHERE {_where(table)}"
        return self._refused(replace, (value, *_bytes(key)))

    def delete_refused(self, table: AnyTable, key: Key) -> bool:
        return self._refused(f"DELETE FROM {self._name(table.name)} WHERE {_where(table)}", _bytes(key))

    def exists(self) -> bool:
        found = "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s"
        return bool(self._execute(found, (self.database,)))

    def drop(self) -> None:
        for (number,) in self._execute(_OTHERS, (self.database,)):
            with contextlib.suppress(pymysql.MySQLError):  # it may have ended by itself
                self._execute(f"KILL {int(number)}")
        self._execute(f"DROP DATABASE IF EXISTS {_quoted(self.database)}")

    def image(self) -> bytes:
        parts: list[str] = []
        for (table,) in self._execute(f"SHOW TABLES FROM {_quoted(self.database)}"):
            name = self._name(table)
            ((_, declared),) = self._execute(f"SHOW CREATE TABLE {name}")
            keys = self._execute(f"SHOW KEYS FROM {name} WHERE Key_name = 'PRIMARY'")
            order = ", ".join(_quoted(str(key[4])) for key in keys) or "1"
            guards = [trigger[:5] for trigger in self._triggers(table)]
            parts.append(f"{declared} {guards} {self._execute(f'SELECT * FROM {name} ORDER BY {order}')}")
        return "\n".join(parts).encode()

    def flushes(self) -> int:
        # MariaDB counts the log's flushes together with those of its data only.
        named = ("Innodb_os_log_fsyncs", "Innodb_data_fsyncs")
        counts = dict(self._execute("SHOW GLOBAL STATUS WHERE Variable_name IN (%s, %s)", named))
        return int(counts.get(named[0]) or counts[named[1]])

    @contextlib.contextmanager
    def failing(self, fault: Ability) -> Iterator[None]:
        trigger, number = self._name("conform_fails"), NUMBERS[fault]
        # No trigger of MySQL waits for the commit: the statement before it fails.
        self._execute(
            f"CREATE TRIGGER {trigger} BEFORE INSERT ON {self._name(COMMIT_MARKS)} FOR EACH ROW "
            f"SIGNAL SQLSTATE '{STATES[number]}' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'made to fail'"
        )
        try:
            yield
        finally:
            self._execute(f"DROP TRIGGER {trigger}")

    def close(self) -> None:
        if self._connected is not None and self._connected.open:
            self._connected.close()

    def _refused(self, statement: str, values: Sequence[Stored]) -> bool:
        try:
            with self._connection.cursor() as cursor:
                return int(cursor.execute(statement, tuple(values))) == 0
        except pymysql.MySQLError:
            return True

    def _triggers(self, table: str) -> Sequence[Any]:
        return self._execute(f"SHOW TRIGGERS FROM {_quoted(self.database)} WHERE `Table` = %s", (table,))

    @contextlib.contextmanager
    def _unguarded(self, table: AnyTable) -> Iterator[None]:
        """While it lasts, the table's triggers are gone."""
        made = []
        for trigger in self._triggers(table.name):
            made.append(str(self._execute(f"SHOW CREATE TRIGGER {self._name(trigger[0])}")[0][2]))
            self._execute(f"DROP TRIGGER {self._name(trigger[0])}")
        try:
            yield
        finally:
            self._connection.select_db(self.database)
            for statement in made:
                self._execute(_DEFINER.sub("", statement, count=1))

    def _update(self, table: AnyTable, column: str) -> str:
        return f"UPDATE {self._name(table.name)} SET {_quoted(column)} = %s WHERE {_where(table)}"

    def _name(self, name: str) -> str:
        return f"{_quoted(self.database)}.{_quoted(name)}"

    def _execute(self, statement: str, values: Sequence[Stored] = ()) -> Sequence[Any]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, tuple(values) or None)
            rows: Sequence[Any] = cursor.fetchall()
            return rows

    @property
    def _connection(self) -> pymysql.connections.Connection[Any]:
        if self._connected is None or not self._connected.open:
            try:
                self._connected = pymysql.connect(
                    **self._server,
                    charset="utf8mb4",
                    autocommit=True,
                    client_flag=CLIENT.FOUND_ROWS,
                    init_command="SET SESSION lock_wait_timeout = 20, sql_mode = 'STRICT_ALL_TABLES'",
                )
            except pymysql.OperationalError as fault:
                raise Unavailable("the kit's own connection to MySQL was refused") from fault
            if self._execute("SHOW VARIABLES LIKE 'wsrep_on'") == (("wsrep_on", "ON"),):
                # One node of a cluster: what was written on another is to be seen here at once.
                self._execute("SET SESSION wsrep_sync_wait = 15")
        return self._connected


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _where(table: AnyTable) -> str:
    return " AND ".join(f"{_quoted(name)} = %s" for name in table.key_names)


def _bytes(key: Key) -> Key:
    """A key as its columns hold it: texts as bytes, so that nothing is compared by a collation."""
    return tuple(part.encode() if isinstance(part, str) else part for part in key)


def _text(table: AnyTable, name: str, value: Stored) -> Stored:
    """A key's text, which its column holds as bytes, as the text it stands for."""
    return value.decode() if name in table.key_names and isinstance(value, bytes) else value
