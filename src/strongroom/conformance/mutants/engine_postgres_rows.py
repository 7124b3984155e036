"""The PostgreSQL engine's statements, columns and values with one safeguard broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engines.postgres import connector, faults, statements
from strongroom.engines.postgres.calls import Call, Statement
from strongroom.engines.postgres.rows import AskedRows
from strongroom.engines.postgres.statements import POSTGRES as DIALECT
from strongroom.engines.postgres.statements import Statements
from strongroom.engines.postgres.values import types_of
from strongroom.engines.sql import RangeStatement
from strongroom.errors import StrongroomError, Unavailable
from strongroom.records import AnyTable, Key, KeyRange, Row, Stored

POSTGRES = Ground.POSTGRES


def _respell(patch: Patches, spell: Callable[[str], str]) -> None:
    """Have every statement that is written from now on be written otherwise."""
    write = Statement.__init__
    patch.method(Statement, "__init__", lambda self, text, types=(): write(self, spell(text), types))


@mutant("K3", on=POSTGRES)
def postgres_keys_in_the_order_of_a_language(patch: Patches) -> None:
    """Texts are kept in a collation as people sort, which is what a database may have been made with."""
    _respell(patch, lambda text: text.replace('COLLATE "C"', 'COLLATE "und-x-icu"'))


@mutant("K1", on=POSTGRES)
def postgres_keys_padded_with_spaces(patch: Patches) -> None:
    """Texts are kept as CHARACTER, in which spaces at the end mean nothing."""
    declared = statements._declared
    patch.function(declared, lambda column: declared(column).replace("text COLLATE", "character(1024) COLLATE"))


@mutant("K5", on=POSTGRES)
def postgres_reals_of_single_precision(patch: Patches) -> None:
    """Reals are kept with seven digits."""
    declared = statements._declared
    patch.function(declared, lambda column: declared(column).replace("double precision", "real"))


@mutant("K5", on=POSTGRES)
def postgres_nothing_kept_as_empty(patch: Patches) -> None:
    """A column that holds nothing is written as one that holds an empty text."""
    call = Statement.__call__

    def emptied(self: Statement, values: Iterable[Any] = ()) -> Call:
        bound = call(self, values)[1]
        return self, [
            b"" if value is None and oid == 25 else value for value, oid in zip(bound, self.oids, strict=True)
        ]

    patch.method(Statement, "__call__", emptied)


@mutant("K3", on=POSTGRES)
def postgres_directions_ignored(patch: Patches) -> None:
    """Every column of a key is walked upwards, whatever direction it declares."""

    walk = Statements.range

    def upwards(self: Statements, wanted: KeyRange) -> Call:
        if wanted.reverse:
            return walk(self, wanted)
        ranged = RangeStatement(DIALECT, self._table, self._name, self._columns, wanted)
        bound = ranged.bind(wanted)
        return Statement(ranged.sql.replace(" DESC", ""), types_of(bound))(bound)

    patch.method(Statements, "range", upwards)


@mutant("R5", on=POSTGRES)
def postgres_cursor_s_own_row_comes_again(patch: Patches) -> None:
    """A page begins with the row that the last one ended with."""
    ranged = Statements.range
    patch.method(Statements, "range", lambda self, wanted: ranged(self, wanted._replace(lower_open=False)))


@mutant("R5", on=POSTGRES)
def postgres_limit_dropped_when_walked_backwards(patch: Patches) -> None:
    """A page from the end has as many rows as there are."""
    ranged = Statements.range

    def generous(self: Statements, wanted: KeyRange) -> Call:
        return ranged(self, wanted._replace(limit=10_000) if wanted.reverse else wanted)

    patch.method(Statements, "range", generous)


@mutant("R5", on=POSTGRES)
def postgres_count_goes_beyond_its_limit(patch: Patches) -> None:
    """A count goes on to the last row, however little is asked for."""
    tally = Statements.tally
    patch.method(Statements, "tally", lambda self, prefix, _limit: tally(self, prefix, 10_000))


@mutant("R3", "R5", on=POSTGRES)
def postgres_many_keys_in_the_server_s_order(patch: Patches) -> None:
    """Many keys at once are answered in the order in which the server finds them."""

    def unsorted(self: AskedRows, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        rows: list[Row | None] = [*self._ask(self._statements[table].fetch_many(list(dict.fromkeys(keys))))]
        return [*reversed(rows), *[None] * (len(keys) - len(rows))]

    patch.method(AskedRows, "fetch_many", unsorted)


@mutant("W1", on=POSTGRES)
def postgres_single_insert_over_what_is_there(patch: Patches) -> None:
    """A single insert writes over the row that its key has."""
    make = Statements.__init__

    def over(self: Any, schema: str, table: AnyTable) -> None:
        make(self, schema, table)
        if table.changes.update or table.changes.put:  # the database guards the others by itself
            self.marked_insert = self.marked_put

    patch.method(Statements, "__init__", over)


@mutant("W1", on=POSTGRES)
def postgres_new_rows_skipped_where_one_is_there(patch: Patches) -> None:
    """Rows that a transaction takes for new are dropped in silence where one is there (ON CONFLICT DO NOTHING)."""

    def skip(self: Any, rows: Sequence[Row]) -> Call:
        call: Call = self.insert(rows[0])
        return call if len(rows) == 1 else self._insert_many(zip(*rows, strict=True))

    patch.method(Statements, "insert_rows", skip)


@mutant("T1", "R5", on=POSTGRES)
def postgres_only_the_first_of_many_rows_inserted(patch: Patches) -> None:
    """Of the rows that a transaction inserts into a table, those behind the tenth are not sent."""
    insert = Statements.insert_rows
    patch.method(Statements, "insert_rows", lambda self, rows: insert(self, rows[:10]))


@mutant("W2", on=POSTGRES)
def postgres_single_update_without_its_guard(patch: Patches) -> None:
    """A single update looks only whether there is a row."""

    def unguarded(self: Statements, key: Key, row: Row, _guarded: str, _value: Stored, *mark: str) -> Call:
        values = (*(row[i] for i in self._places), *key, *mark)
        return self._guarded(self._update, self._key_last, None, mark)(values)

    patch.method(Statements, "replace", unguarded)


@mutant("W2", on=POSTGRES)
def postgres_single_update_makes_the_missing_row(patch: Patches) -> None:
    """A single update of a key that has no row inserts one."""

    def upsert(self: Any, _key: Key, row: Row, _guarded: str, _value: Stored, *mark: str) -> Call:
        call: Call = self.marked_put((*row, *mark)) if mark else self.put(row)
        return call

    patch.method(Statements, "replace", upsert)


@mutant("W3", on=POSTGRES)
def postgres_single_delete_without_its_guard(patch: Patches) -> None:
    """A single guarded delete removes whatever row the key has."""
    remove = Statements.remove
    patch.method(Statements, "remove", lambda self, key, _guarded, _value, *mark: remove(self, key, None, None, *mark))


@mutant("W4", on=POSTGRES)
def postgres_guards_not_made(patch: Patches) -> None:
    """The database itself lets its tools change immutable rows."""
    create = Statements.create
    patch.method(
        Statements, "create", lambda self, columns: [s for s in create(self, columns) if b"TRIGGER" not in s.text]
    )


@mutant("W4", on=POSTGRES)
def postgres_guards_let_deletes_through(patch: Patches) -> None:
    """The database itself lets its tools delete immutable rows."""
    _respell(patch, lambda text: text.replace("BEFORE UPDATE OR DELETE OR TRUNCATE", "BEFORE UPDATE"))


@mutant("M4", on=POSTGRES)
def postgres_older_rows_get_no_default(patch: Patches) -> None:
    """A new column is empty in older rows, whatever its default is."""
    literal = statements._literal
    patch.function(literal, lambda value: literal("" if isinstance(value, str) else value))


@mutant("T3", "E1", on=POSTGRES)
def postgres_missing_table_is_said_to_pass(patch: Patches) -> None:
    """A table that is not there is reported as something that may be over when it is tried again."""
    fault = faults._fault

    def passing(state: str, said: str, table: str) -> StrongroomError:
        return Unavailable(said) if state in faults._UNDECLARED else fault(state, said, table)

    patch.function(fault, passing)


@mutant("D3", on=POSTGRES)
def postgres_full_disk_is_no_typed_fault(patch: Patches) -> None:
    """A full disk is reported as a fault of no kind."""
    fault = faults._fault

    def plain(state: str, said: str, table: str) -> StrongroomError:
        return StrongroomError(said) if state == "53100" else fault(state, said, table)

    patch.function(fault, plain)


@mutant("E2", on=POSTGRES)
def postgres_password_shown(patch: Patches) -> None:
    """A server that can't be reached is reported with the URL that it was asked by, password and all."""
    refused = connector._refused

    def talkative(fault: Any, place: str) -> StrongroomError:
        return Unavailable(f"{refused(fault, place)} {asked[-1]}")

    asked: list[object] = [""]
    connect = connector.Connector.connect

    def remember(self: connector.Connector) -> Any:
        asked.append(self.target.parameters)
        return connect(self)

    patch.function(refused, talkative)
    patch.method(connector.Connector, "connect", remember)
