"""The SQL of one table: written once from its declaration, never from a caller's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

from strongroom.engines.sql import Dialect, RangeStatement, range_shape
from strongroom.records import SEAL, AnyTable, Column, Key, KeyRange, Row, Stored

_TYPES: Final = {"text": "TEXT", "integer": "INTEGER", "real": "REAL", "bytes": "BLOB"}

Bindings = tuple[Stored, ...]

SQLITE: Final = Dialect(quote='"', hole="?", hides_by_plus=True)

quoted: Final = SQLITE.name


class Statements:
    """The statements of one table, as texts that the driver's cache recognizes, and what binds to them."""

    def __init__(self, table: AnyTable) -> None:
        self._table = table
        self._name = quoted(table.name)
        self._columns = ", ".join([*(quoted(column.name) for column in table.columns), quoted(SEAL)])
        where = " AND ".join(f"{quoted(name)} = ?" for name in table.key_names)
        keyed = set(table.key_names)
        values = [(i, column.name) for i, column in enumerate(table.columns) if column.name not in keyed]
        values.append((len(table.columns), SEAL))
        holes = ", ".join("?" * (len(table.columns) + 1))
        conflict = ", ".join(quoted(name) for name in table.key_names)
        sets = ", ".join(f"{quoted(name)} = ?" for _, name in values)
        fresh = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for _, name in values)
        self.fetch = f"SELECT {self._columns} FROM {self._name} WHERE {where}"
        self._insert = (
            f"INSERT INTO {self._name} ({self._columns}) VALUES ",
            f"({holes})",
            f" ON CONFLICT ({conflict})",
        )
        self.insert = f"{''.join(self._insert)} DO NOTHING"
        self.put = f"{''.join(self._insert)} DO UPDATE SET {fresh}"
        self.remove = f"DELETE FROM {self._name} WHERE {where}"
        # One text for each column that may guard a row: the driver finds a text that it knows by its hash.
        guards = {name: f"{where} AND {quoted(name)} = ?" for name in (*table.index, SEAL)}
        self._replace = {name: f"UPDATE {self._name} SET {sets} WHERE {guard}" for name, guard in guards.items()}
        self._remove = {name: f"DELETE FROM {self._name} WHERE {guard}" for name, guard in guards.items()}
        self._values = _tuple_getter([i for i, _ in values])
        self._ranges: dict[tuple[Any, ...], RangeStatement] = {}

    def insert_many(self, count: int) -> str:
        """The statement that inserts `count` rows, each unless its key exists."""
        into, values, conflict = self._insert
        return f"{into}{', '.join([values] * count)}{conflict} DO NOTHING"

    def replace(self, key: Key, row: Row, guarded: str, value: Stored) -> tuple[str, Bindings]:
        """The statement that puts `row` over the one whose column `guarded` holds `value`."""
        return self._replace[guarded], (*self._values(row), *key, value)

    def remove_guarded(self, key: Key, guarded: str, value: Stored) -> tuple[str, Bindings]:
        """The statement that removes the row whose column `guarded` holds `value`."""
        return self._remove[guarded], (*key, value)

    def tally(self, prefix: Key, limit: int) -> tuple[str, Bindings]:
        """The statement that counts the keys that begin with `prefix`, no further than `limit`."""
        names = self._table.key_names[: len(prefix)]
        where = " AND ".join(f"{quoted(name)} = ?" for name in names) or "1"
        return f"SELECT count(*) FROM (SELECT 1 FROM {self._name} WHERE {where} LIMIT ?)", (*prefix, limit)

    def range(self, wanted: KeyRange) -> tuple[str, Bindings]:
        """The statement for a key range."""
        shape = range_shape(wanted)
        made = self._ranges.get(shape)
        if made is None:
            made = self._ranges[shape] = RangeStatement(SQLITE, self._table, self._name, self._columns, wanted)
        return made.sql, made.bind(wanted)

    def create(self, columns: Sequence[Column]) -> list[str]:
        """The statements that make the table with `columns`, and the triggers that guard what must not change (W4)."""
        table = self._table
        lines = [f"{quoted(c.name)} {_TYPES[c.storage]}{'' if c.nullable else ' NOT NULL'}" for c in columns]
        key = ", ".join(quoted(k.column.name) + (" DESC" if k.descending else "") for k in table.key)
        body = f"{', '.join(lines)}, {quoted(SEAL)} BLOB NOT NULL, PRIMARY KEY ({key})"
        made = [f"CREATE TABLE IF NOT EXISTS {self._name} ({body}) STRICT, WITHOUT ROWID"]
        refused = []
        if not (table.changes.update or table.changes.put):
            refused.append("UPDATE")
        if not table.changes.delete:
            refused.append("DELETE")
        for change in refused:
            trigger = quoted(f"{table.name}_no_{change.lower()}")
            made.append(
                f"CREATE TRIGGER IF NOT EXISTS {trigger} BEFORE {change} ON {self._name} "
                f"BEGIN SELECT RAISE(ABORT, '{table.name} is immutable: no {change}'); END"
            )
        if len(refused) == 2:
            # INSERT OR REPLACE takes the old row away without asking a delete trigger. Nothing is raised here, or the
            # engine's own insert of a key that exists would be an error too: the new row is dropped.
            same = " AND ".join(f"{quoted(name)} = NEW.{quoted(name)}" for name in table.key_names)
            made.append(
                f"CREATE TRIGGER IF NOT EXISTS {quoted(f'{table.name}_no_replace')} BEFORE INSERT ON {self._name} "
                f"WHEN EXISTS (SELECT 1 FROM {self._name} WHERE {same}) BEGIN SELECT RAISE(IGNORE); END"
            )
        return made

    def add_column(self, column: Column) -> str:
        """The statement that adds a column, holding its default in every older row."""
        default = f" DEFAULT {_literal(column.stored_default())}"
        nullable = "" if column.nullable else " NOT NULL"
        return f"ALTER TABLE {self._name} ADD COLUMN {quoted(column.name)} {_TYPES[column.storage]}{nullable}{default}"


def _literal(value: Stored) -> str:
    """A default from a declaration, as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _tuple_getter(indexes: Sequence[int]) -> Callable[[Row], Bindings]:
    if len(indexes) == 1:
        (only,) = indexes
        return lambda row: (row[only],)
    return itemgetter(*indexes)
