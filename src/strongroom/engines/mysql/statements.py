"""The SQL of one table: written once from its declaration, values and all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any, Final

from strongroom.engine import Guard
from strongroom.engines.sql import Dialect, RangeStatement, range_shape
from strongroom.records import SEAL, AnyTable, Key, KeyRange, Row, Stored

MYSQL: Final = Dialect(quote="`", hole="%s", compares_rows=False, joins_walks=True)

LOCKING: Final = " FOR UPDATE"
"""Behind what a write transaction reads: locked until it ends, with the gaps between, so that all of it holds (T2)."""

_ROWS: Final = 200
_TEXT: Final = 2**18
"""The most rows in one statement, and the characters beyond which there is no further row."""


def _text(value: str) -> str:
    backslashed = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{backslashed}'"


def _real(value: float) -> str:
    written = repr(value)
    return written if "e" in written else f"{written}e0"  # without an exponent it would be a decimal


_write: Final[dict[type, Callable[[Any], str]]] = {
    str: _text,
    int: str,
    float: _real,
    bytes: lambda value: f"X'{value.hex()}'",  # MariaDB can't read what it makes of _binary X'' as a default
    NoneType: lambda _: "NULL",
}


def literal(value: Stored) -> str:
    """A value as SQL writes it."""
    return _write[type(value)](value)


def key_literal(value: Stored) -> str:
    """A key's value as SQL writes it: a text as the bytes that its column holds.

    Beside a text of the connection's character set the index would be searched, but no longer walked in order. What
    is stored and is not UTF-8, which `strongroom.records` shows as lone surrogates, goes out as it came in.
    """
    if isinstance(value, str):
        if value.isascii():
            return f"_binary{_text(value)}"
        value = value.encode("utf-8", "surrogateescape")
    return literal(value)


class Statements:
    """The statements of one table of the database `database`."""

    def __init__(self, database: str, table: AnyTable) -> None:
        self._table = table
        self.name = f"{MYSQL.name(database)}.{MYSQL.name(table.name)}"
        # There is no other index; but the optimizer may think that all of a small table, locked, is quicker to read.
        self._source = f"{self.name} FORCE INDEX (PRIMARY)"
        self._columns = MYSQL.names([*table.index, SEAL])
        self._where = MYSQL.equal(table.key_names)
        self._keys = MYSQL.names(table.key_names)
        keyed = set(table.key_names)
        self._values = [(i, name) for i, name in enumerate([*table.index, SEAL]) if name not in keyed]
        self._fetch = f"SELECT {self._columns} FROM {self._source} WHERE {self._where}"
        self._ranges: dict[tuple[Any, ...], RangeStatement] = {}
        self._insert = f"INSERT INTO {self.name} ({self._columns}) VALUES "
        fresh = ", ".join(f"{MYSQL.name(name)} = VALUES({MYSQL.name(name)})" for _, name in self._values)
        self._put = f" ON DUPLICATE KEY UPDATE {fresh}"

    def fetch(self, key: Key, locking: str) -> str:
        """Reads the row under a key."""
        return self._fetch % tuple(map(key_literal, key)) + locking

    def fetch_many(self, keys: Sequence[Key], locking: str) -> str:
        """Reads the rows under many keys, in any order."""
        if len(self._table.key) == 1:
            listed = ", ".join(key_literal(key[0]) for key in keys)
            where = f"{self._keys} IN ({listed})"
        else:
            listed = ", ".join(f"({', '.join(map(key_literal, key))})" for key in keys)
            where = f"({self._keys}) IN ({listed})"
        return f"SELECT {self._columns} FROM {self._source} WHERE {where}{locking}"

    def fetch_range(self, wanted: KeyRange, locking: str) -> str:
        """Reads a key range, in its order."""
        shape = (locking, *range_shape(wanted))
        made = self._ranges.get(shape)
        if made is None:
            made = RangeStatement(MYSQL, self._table, self._source, self._columns, wanted, locking=locking)
            self._ranges[shape] = made
        return made.sql % tuple(map(key_literal, made.bind(wanted)))

    def tally(self, prefix: Key, limit: int, locking: str) -> str:
        """Counts the keys that begin with `prefix`, no further than `limit`."""
        where = MYSQL.equal(self._table.key_names[: len(prefix)]) % tuple(map(key_literal, prefix))
        where = f" WHERE {where}" if where else ""
        return f"SELECT COUNT(*) FROM (SELECT 1 FROM {self._source}{where} LIMIT {limit:d}{locking}) AS found"

    def insert(self, rows: Iterable[Row]) -> Iterator[tuple[str, int]]:
        """Insert new rows, so many with each statement; an error if a key exists."""
        some: list[str] = []
        size = 0
        for row in rows:
            text = f"({', '.join(map(literal, row))})"
            if some and (size + len(text) > _TEXT or len(some) == _ROWS):
                yield self._insert + ", ".join(some), len(some)
                some, size = [], 0
            some.append(text)
            size += len(text)
        if some:
            yield self._insert + ", ".join(some), len(some)

    def put(self, rows: Iterable[Row]) -> Iterator[tuple[str, int]]:
        """Keep rows over whatever their keys have. The server counts 1 for each new one, 2 for each it changed."""
        return ((statement + self._put, count) for statement, count in self.insert(rows))

    def replace(self, key: Key, row: Row, guard: Guard) -> str:
        """Puts `row` over the one that the guard describes."""
        sets = ", ".join(f"{MYSQL.name(name)} = {literal(row[i])}" for i, name in self._values)
        return f"UPDATE {self.name} SET {sets} WHERE {self._guarded(key, guard)}"

    def remove(self, key: Key, guard: Guard | None = None) -> str:
        """Removes the row under a key, if it is as the guard describes it."""
        return f"DELETE FROM {self.name} WHERE {self._guarded(key, guard)}"

    def _guarded(self, key: Key, guard: Guard | None) -> str:
        where = self._where % tuple(map(key_literal, key))
        if guard is None:
            return where
        return f"{where} AND {MYSQL.name(guard.name)} = {literal(guard.value)}"


class TableStatements(dict[AnyTable, Statements]):
    """The statements of each table, made when they are first asked for."""

    def __init__(self, database: str) -> None:
        super().__init__()
        self._database = database

    def __missing__(self, table: AnyTable) -> Statements:
        made = self[table] = Statements(self._database, table)
        return made


def batches(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """The rows in runs of at most `size`."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
