"""The MySQL engine's statements, columns and values with one safeguard broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pymysql.constants import CLIENT

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Guard
from strongroom.engines.mysql import connector, faults, migration, statements
from strongroom.engines.mysql.answers import Answer
from strongroom.engines.mysql.connector import Connector
from strongroom.engines.mysql.link import Link
from strongroom.engines.mysql.migration import MigrationRows
from strongroom.engines.mysql.rows import AskedRows
from strongroom.engines.mysql.single import MysqlCalls
from strongroom.engines.mysql.statements import Statements
from strongroom.errors import StrongroomError, Unavailable
from strongroom.records import AnyTable, Key, KeyRange, Row

MYSQL = Ground.MYSQL


def _respell(patch: Patches, spell: Callable[[str], str]) -> None:
    """Have every statement go to the server otherwise."""
    trip = Link.trip

    def respelled(self: Link, sent: Sequence[str]) -> list[Answer]:
        return trip(self, [spell(statement) for statement in sent])

    patch.method(Link, "trip", respelled)


def _declare(patch: Patches, declare: Callable[[str], str]) -> None:
    """Have columns be made otherwise, and be taken for what they were to be."""
    kind = migration._type
    patch.function(kind, lambda column, keyed: declare(kind(column, keyed)))
    patch.method(MigrationRows, "_check", lambda self, table, columns: None)


def _collate(patch: Patches, collation: str) -> None:
    """Have keys be texts of this collation, where they are short enough for what the server can have in an index."""
    kind = migration._type

    def collated(column: Any, keyed: Any) -> str:
        declared = kind(column, keyed)
        if column.storage != "text" or declared not in ("VARBINARY(32)", "VARBINARY(64)"):
            return declared
        return f"VARCHAR{declared.removeprefix('VARBINARY')} CHARACTER SET utf8mb4 COLLATE {collation}"

    patch.function(kind, collated)
    patch.function(statements.key_literal, statements.literal)
    patch.method(MigrationRows, "_check", lambda self, table, columns: None)


@mutant("K1", on=MYSQL)
def mysql_keys_in_the_server_s_collation(patch: Patches) -> None:
    """Keys are texts in the collation that the server is delivered with, which knows neither case nor accents."""
    _collate(patch, "utf8mb4_general_ci")


@mutant("K1", on=MYSQL)
def mysql_keys_padded_with_spaces(patch: Patches) -> None:
    """Keys are compared by their bytes, but for spaces at their end (PAD SPACE)."""
    _collate(patch, "utf8mb4_bin")


@mutant("K2", on=MYSQL)
def mysql_columns_too_short_and_nobody_told(patch: Patches) -> None:
    """The server is lenient, and a column holds fewer bytes than it declares: long texts are cut short."""
    _declare(patch, lambda kind: kind.replace("VARBINARY(1024)", "VARBINARY(1000)").replace("(255)", "(200)"))
    setup = Connector._set_up

    def lenient(self: Connector, *arguments: Any) -> Link:
        link = setup(self, *arguments)
        link.ask("SET SESSION sql_mode = ''")
        return link

    patch.method(Connector, "_set_up", lenient)


@mutant("W1", on=MYSQL)
def mysql_insert_ignore(patch: Patches) -> None:
    """Rows are inserted with INSERT IGNORE: what is wrong with one is passed over in silence."""
    _respell(patch, lambda sent: sent.replace("INSERT INTO", "INSERT IGNORE INTO", 1) if "_marks" not in sent else sent)


@mutant("K5", on=MYSQL)
def mysql_reals_of_single_precision(patch: Patches) -> None:
    """Reals are kept with seven digits."""
    _declare(patch, lambda kind: kind.replace("DOUBLE", "FLOAT"))


@mutant("K5", on=MYSQL)
def mysql_texts_in_three_bytes(patch: Patches) -> None:
    """Texts are kept in the character set utf8, which is what MySQL called one that has not all of Unicode."""
    _declare(patch, lambda kind: kind.replace("utf8mb4", "utf8mb3"))


@mutant("K5", on=MYSQL)
def mysql_nothing_kept_as_empty(patch: Patches) -> None:
    """A column that holds nothing is written as one that holds an empty text."""
    literal = statements.literal
    patch.function(literal, lambda value: "''" if value is None else literal(value))


@mutant("K5", on=MYSQL)
def mysql_backslashes_not_escaped(patch: Patches) -> None:
    """A text's backslashes go to the server as they are, which takes them for its own."""
    literal = statements.literal

    def plain(value: Any) -> str:
        return f"'{value.replace(chr(39), chr(39) * 2)}'" if isinstance(value, str) else literal(value)

    patch.function(literal, plain)


@mutant("K3", on=MYSQL)
def mysql_directions_ignored(patch: Patches) -> None:
    """Every column of a key is walked upwards, whatever direction it declares."""
    ranged = Statements.fetch_range

    def upwards(self: Statements, wanted: KeyRange, locking: str) -> str:
        made = ranged(self, wanted, locking)
        return made if wanted.reverse else made.replace(" DESC", "")

    patch.method(Statements, "fetch_range", upwards)


@mutant("R5", on=MYSQL)
def mysql_cursor_s_own_row_comes_again(patch: Patches) -> None:
    """A page begins with the row that the last one ended with."""
    ranged = Statements.fetch_range

    def again(self: Statements, wanted: KeyRange, locking: str) -> str:
        return ranged(self, wanted._replace(lower_open=False), locking)

    patch.method(Statements, "fetch_range", again)


@mutant("R5", on=MYSQL)
def mysql_count_goes_beyond_its_limit(patch: Patches) -> None:
    """A count goes on to the last row, however little is asked for."""
    tally = Statements.tally
    patch.method(Statements, "tally", lambda self, prefix, _limit, locking: tally(self, prefix, 10_000, locking))


@mutant("R3", "R5", on=MYSQL)
def mysql_many_keys_in_the_server_s_order(patch: Patches) -> None:
    """Many keys at once are answered in the order in which the server finds them."""

    def unsorted(self: AskedRows, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        rows: list[Row | None] = []
        if keys:
            rows += self._ask(self._statements[table].fetch_many(keys, self.locking))
        return [*rows, *[None] * (len(keys) - len(rows))]

    patch.method(AskedRows, "fetch_many", unsorted)


@mutant("W1", on=MYSQL)
def mysql_single_insert_over_what_is_there(patch: Patches) -> None:
    """A single insert writes over the row that its key has."""

    def over(self: MysqlCalls, table: AnyTable, key: Key, row: Row) -> bool:
        ((statement, _),) = self._statements[table].put([row])
        return self._once(table, key, statement)

    patch.method(MysqlCalls, "_insert_alone", over)


@mutant("W2", on=MYSQL)
def mysql_update_of_equal_values_counts_as_none(patch: Patches) -> None:
    """The server is asked how many rows an update changed, not how many it found: one that changes nothing failed."""
    connect = connector._Connection
    patch.function(connect, lambda **given: connect(**{**given, "client_flag": CLIENT.MULTI_STATEMENTS}))


@mutant("W2", on=MYSQL)
def mysql_single_update_without_its_guard(patch: Patches) -> None:
    """A single update looks only whether there is a row."""
    guarded = Statements._guarded

    def unguarded(self: Statements, key: Key, row: Row, _guard: Guard) -> str:
        sets = ", ".join(f"`{name}` = {statements.literal(row[i])}" for i, name in self._values)
        return f"UPDATE {self.name} SET {sets} WHERE {guarded(self, key, None)}"

    patch.method(Statements, "replace", unguarded)


@mutant("W2", on=MYSQL)
def mysql_single_update_makes_the_missing_row(patch: Patches) -> None:
    """A single update of a key that has no row inserts one."""

    def upsert(self: Statements, _key: Key, row: Row, _guard: Guard) -> str:
        ((statement, _),) = self.put([row])
        return statement

    patch.method(Statements, "replace", upsert)


@mutant("W3", on=MYSQL)
def mysql_single_delete_without_its_guard(patch: Patches) -> None:
    """A single guarded delete removes whatever row the key has."""
    remove = Statements.remove
    patch.method(Statements, "remove", lambda self, key, _guard=None: remove(self, key))


@mutant("T1", "R5", on=MYSQL)
def mysql_only_the_first_statement_of_many_rows_sent(patch: Patches) -> None:
    """Of the statements that many rows take, those behind the first are not sent."""
    insert = Statements.insert

    def first(self: Statements, rows: Iterable[Row]) -> Iterator[tuple[str, int]]:
        yield from [*insert(self, rows)][:1]

    patch.method(Statements, "insert", first)


@mutant("W4", on=MYSQL)
def mysql_guards_not_made(patch: Patches) -> None:
    """The database itself lets its tools change immutable rows."""
    patch.function(migration._refused, lambda _table: [])


@mutant("W4", on=MYSQL)
def mysql_guards_let_deletes_through(patch: Patches) -> None:
    """The database itself lets its tools delete immutable rows."""
    refused = migration._refused
    patch.function(refused, lambda table: [change for change in refused(table) if change != "DELETE"])


@mutant("M4", on=MYSQL)
def mysql_older_rows_get_no_default(patch: Patches) -> None:
    """A new column is empty in older rows, whatever its default is."""
    default = migration._default
    patch.function(default, lambda value: default("" if isinstance(value, str) else value))


@mutant("T3", "E1", on=MYSQL)
def mysql_missing_table_is_said_to_pass(patch: Patches) -> None:
    """A table that is not there is reported as something that may be over when it is tried again."""
    translate = faults.translate

    def passing(fault: Exception) -> StrongroomError:
        return Unavailable(str(fault)) if faults.number_of(fault) in faults._MISSING else translate(fault)

    patch.function(translate, passing)


@mutant("D3", on=MYSQL)
def mysql_full_disk_is_no_typed_fault(patch: Patches) -> None:
    """A full disk is reported as a fault of no kind."""
    translate = faults.translate

    def plain(fault: Exception) -> StrongroomError:
        number = faults.number_of(fault)
        return StrongroomError("MySQL") if number in faults._WHY_UNAVAILABLE else translate(fault)

    patch.function(translate, plain)


@mutant("E2", on=MYSQL)
def mysql_password_shown(patch: Patches) -> None:
    """A server that can't be reached is reported with the password that it was to be asked with."""
    refused = Connector._refused

    def talkative(self: Connector, address: Any, fault: Exception) -> StrongroomError:
        return Unavailable(f"{refused(self, address, fault)}: {self._options.user}:{self._options.password}")

    patch.method(Connector, "_refused", talkative)
