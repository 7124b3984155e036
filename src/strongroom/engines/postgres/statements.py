"""The SQL of one table: written once from its declaration, never from a caller's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from strongroom.engines.postgres.calls import HOLE, Call, Statement
from strongroom.engines.postgres.values import BYTES, INTEGER, TEXT, TYPES, ArrayType, Type, types_of
from strongroom.engines.sql import Dialect, RangeStatement, range_shape
from strongroom.records import SEAL, AnyTable, Column, Key, KeyRange, Row, Stored

# Several walks under one order are not merged: the server would read each to its end, and sort them.
POSTGRES: Final = Dialect(quote='"', hole=HOLE, merges_walks=False)

quoted: Final = POSTGRES.name

MARKS: Final = "strongroom_marks"
"""The engine's own table: one row for each commit that was not yet heard of by who made it, see `marks`."""
TURNS: Final = "strongroom_turns"
"""An empty table, which is locked by transactions that take turns, see `session`."""
_OURS: Final = quoted("the table")
REFUSE: Final = "strongroom_refuse"
"""The function behind the triggers of immutable tables."""
IMMUTABLE: Final = "SR001"
"""The SQLSTATE that it raises."""


class TableStatements(dict[AnyTable, "Statements"]):
    """The statements of each table in the schema `schema`, made when they are first asked for."""

    def __init__(self, schema: str) -> None:
        super().__init__()
        self.schema = schema

    def __missing__(self, table: AnyTable) -> Statements:
        made = self[table] = Statements(self.schema, table)
        return made


class Statements:
    """The statements of one table, and calls of them."""

    def __init__(self, schema: str, table: AnyTable) -> None:
        self._table = table
        self._schema = schema
        self._name = f"{quoted(schema)}.{quoted(table.name)}"
        self._marks = f"{quoted(schema)}.{quoted(MARKS)}"
        names = [*table.index, SEAL]
        self._types = [*(TYPES[column.storage] for column in table.columns), BYTES]
        self._columns = POSTGRES.names(names)
        self._key_types = [TYPES[part.column.storage] for part in table.key]
        self._places = [i for i, name in enumerate(names) if name not in table.key_names]
        self._place_types = [self._types[i] for i in self._places]
        values = [names[i] for i in self._places]
        self._where = POSTGRES.equal(table.key_names)
        conflict = f" ON CONFLICT ({POSTGRES.names(table.key_names)})"
        fresh = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in values)
        # Under a name that no table can have: one called "excluded", or "wanted", would stand for something else below.
        into = f"INSERT INTO {self._name} AS {_OURS} ({self._columns})"
        insert = f"{into} VALUES ({POSTGRES.holes(len(names))})"
        put = f"{insert}{conflict} DO UPDATE SET {fresh}"
        update = f"UPDATE {self._name} SET {', '.join(f'{quoted(name)} = {HOLE}' for name in values)}"
        self._update = f"{update} WHERE {self._where}"
        self._delete = f"DELETE FROM {self._name} WHERE {self._where}"
        self._key_last = [*self._place_types, *self._key_types]

        self.fetch = Statement(f"SELECT {self._columns} FROM {self._name} WHERE {self._where}", self._key_types)
        self._fetch_many = self._many_fetched()
        self.insert_new = Statement(insert, self._types)
        self._insert_many = Statement(
            f"{into} SELECT * FROM unnest({POSTGRES.holes(len(names))})", [ArrayType(kind) for kind in self._types]
        )
        self.put = Statement(put, self._types)
        self.insert = Statement(f"{insert}{conflict} DO NOTHING", self._types)
        self.marked_insert = self._marked(f"{insert}{conflict} DO NOTHING", self._types)
        self.marked_put = self._marked(put, self._types)
        self._sure_update = self._sure(self._update, self._key_last)
        self._sure_delete = self._sure(self._delete, self._key_types)
        self._shaped: dict[tuple[Any, ...], Statement] = {}
        self._ranges: dict[tuple[Any, ...], tuple[RangeStatement, Statement]] = {}

    # Reads.

    def fetch_many(self, keys: Sequence[Key]) -> Call:
        """The call that answers the rows under different keys, in no order."""
        return self._fetch_many(zip(*keys, strict=True))

    def range(self, wanted: KeyRange) -> Call:
        """The call for a key range."""
        shape = range_shape(wanted)
        made = self._ranges.get(shape)
        if made is None:
            ranged = RangeStatement(POSTGRES, self._table, self._name, self._columns, wanted)
            statement = Statement(ranged.sql, types_of(ranged.bind(wanted)))
            made = self._ranges[shape] = ranged, statement
        ranged, statement = made
        return statement(ranged.bind(wanted))

    def tally(self, prefix: Key, limit: int) -> Call:
        """The call that counts the keys that begin with `prefix`, no further than `limit`."""
        where = POSTGRES.equal(self._table.key_names[: len(prefix)]) or "true"
        text = f"SELECT count(*) FROM (SELECT 1 FROM {self._name} WHERE {where} LIMIT {HOLE}) AS counted"
        return self._made(text, [*self._key_types[: len(prefix)], INTEGER])((*prefix, limit))

    # Writes of a group: each changes as many rows as it says, or is an error.

    def insert_rows(self, rows: Sequence[Row]) -> Call:
        """The call that inserts rows whose keys are new."""
        return self.insert_new(rows[0]) if len(rows) == 1 else self._insert_many(zip(*rows, strict=True))

    def update_row(self, row: Row) -> Call:
        """The call that writes `row` over the one that is there."""
        return self._sure_update((*(row[i] for i in self._places), *self._table.key_of(row)))

    def remove_row(self, key: Key) -> Call:
        """The call that removes the row under `key`, which is there."""
        return self._sure_delete(key)

    # Single writes: how many rows were changed tells what came of them.

    def replace(self, key: Key, row: Row, guarded: str, value: Stored, *mark: str) -> Call:
        """The call that puts `row` over the one whose column `guarded` holds `value`; marked if a token is given."""
        return self._guarded(self._update, self._key_last, guarded, mark)(
            (*(row[i] for i in self._places), *key, value, *mark)
        )

    def remove(self, key: Key, guarded: str | None, value: Stored, *mark: str) -> Call:
        """The call that removes the row, if its column `guarded` (where that is given) holds `value`."""
        if guarded is None:
            return self._guarded(self._delete, self._key_types, None, mark)((*key, *mark))
        return self._guarded(self._delete, self._key_types, guarded, mark)((*key, value, *mark))

    # Migration.

    def create(self, columns: Sequence[Column]) -> list[Statement]:
        """The statements that make the table with `columns`, and the trigger that guards what must not change (W4)."""
        table = self._table
        lines = [f"{quoted(c.name)} {_declared(c)}" for c in columns] + [f"{quoted(SEAL)} bytea NOT NULL"]
        one_way = len({part.descending for part in table.key}) == 1
        index = quoted(f"{table.name}.key")  # indexes share a name space with tables, none of which has a dot
        if one_way:  # the other way it is walked backwards
            lines.append(f"CONSTRAINT {index} PRIMARY KEY ({POSTGRES.names(table.key_names)})")
        made = [f"CREATE TABLE IF NOT EXISTS {self._name} ({', '.join(lines)})"]
        if not one_way:
            key = ", ".join(quoted(p.column.name) + (" DESC" if p.descending else "") for p in table.key)
            made += [
                f"CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {self._name} ({key})",
                f"ALTER TABLE {self._name} REPLICA IDENTITY USING INDEX {index}",
            ]
        refused = [] if table.changes.update or table.changes.put else ["UPDATE"]
        if not table.changes.delete:
            refused += ["DELETE", "TRUNCATE"]
        if refused:
            made.append(
                f"CREATE OR REPLACE TRIGGER {quoted(f'{table.name}_guard')} BEFORE {' OR '.join(refused)} "
                f"ON {self._name} FOR EACH STATEMENT EXECUTE FUNCTION {quoted(self._schema)}.{quoted(REFUSE)}()"
            )
        return [Statement(text) for text in made]

    def add_column(self, column: Column) -> Statement:
        """The statement that adds a column, holding its default in every older row."""
        added = f"{quoted(column.name)} {_declared(column)} DEFAULT {_literal(column.stored_default())}"
        return Statement(f"ALTER TABLE {self._name} ADD COLUMN IF NOT EXISTS {added}")

    # How they are made.

    def _many_fetched(self) -> Statement:
        parts = [f"k{i}" for i in range(len(self._key_types))]
        same = " AND ".join(
            f"{_OURS}.{quoted(name)} = wanted.{part}" for name, part in zip(self._table.key_names, parts, strict=True)
        )
        # OFFSET keeps the planner from any way but one look into the index for each key: another way could read, and
        # with that lock, the whole table.
        return Statement(
            f"SELECT found.* FROM unnest({POSTGRES.holes(len(parts))}) AS wanted({', '.join(parts)}) "
            f"CROSS JOIN LATERAL (SELECT {self._columns} FROM {self._name} AS {_OURS} WHERE {same} OFFSET 0) AS found",
            [ArrayType(kind) for kind in self._key_types],
        )

    def _guarded(self, change: str, types: Sequence[Type], guarded: str | None, mark: Sequence[str]) -> Statement:
        made = self._shaped.get((change, guarded, len(mark)))
        if made is None:
            text, bound = change, [*types]
            if guarded is not None:
                text = f"{change} AND {quoted(guarded)} = {HOLE}"
                bound.append(BYTES if guarded == SEAL else self._types[self._table.index[guarded]])
            made = self._marked(text, bound) if mark else Statement(text, bound)
            self._shaped[change, guarded, len(mark)] = made
        return made

    def _made(self, text: str, types: Sequence[Type]) -> Statement:
        made = self._shaped.get((text,))
        if made is None:
            made = self._shaped[text,] = Statement(text, types)
        return made

    def _marked(self, change: str, types: Sequence[Type]) -> Statement:
        """`change`, and a mark if it changed something; answers how many rows were changed."""
        mark = f"INSERT INTO {self._marks} (token) SELECT {HOLE} FROM done"
        return Statement(f"WITH done AS ({change} RETURNING 1) {mark}", [*types, TEXT])

    def _sure(self, change: str, types: Sequence[Type]) -> Statement:
        """`change`, and an error (a division by zero) if it changed nothing: the commit behind it is not reached."""
        return Statement(f"WITH done AS ({change} RETURNING 1) SELECT 1 / count(*) FROM done", types)


def _declared(column: Column) -> str:
    return TYPES[column.storage].sql + ("" if column.nullable else " NOT NULL")


def _literal(value: Stored) -> str:
    """A default from a declaration, as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"decode('{value.hex()}', 'hex')"
    if isinstance(value, str):
        return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    if isinstance(value, float):
        return f"'{value!r}'::double precision"
    return str(value)
