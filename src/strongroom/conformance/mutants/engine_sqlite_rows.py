"""The SQLite engine's rows and statements with one safeguard broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import Guard
from strongroom.engines.sql import RangeStatement, ranges
from strongroom.engines.sqlite import engine, statements
from strongroom.engines.sqlite.faults import FAULTS, translate
from strongroom.engines.sqlite.rows import ConnectionRows
from strongroom.engines.sqlite.statements import Statements
from strongroom.records import AnyTable, Column, Key, KeyColumn, Row, Stored

SQLITE = Ground.SQLITE


@mutant("W1", on=SQLITE)
def sqlite_create_once_dropped(patch: Patches) -> None:
    """An insert that meets its key updates the row there."""
    make = Statements.__init__

    def upsert(self: Statements, table: AnyTable) -> None:
        make(self, table)
        self.insert = self.put

    patch.method(Statements, "__init__", upsert)


@mutant("W1", on=SQLITE)
def sqlite_inserts_carried_together_are_not_counted(patch: Patches) -> None:
    """A statement that carries many callers' inserts passes for done, whichever of their keys were there already."""

    def insert_many(self: ConnectionRows, wanted: Sequence[tuple[AnyTable, Row]]) -> bool:
        flat = [value for _, row in wanted for value in row]
        self._change(self._statements[wanted[0][0]].insert_many(len(wanted)), flat)
        return True

    patch.method(ConnectionRows, "insert_many", insert_many)


@mutant("W2", on=SQLITE)
def sqlite_version_check_dropped(patch: Patches) -> None:
    """An update asks for the key alone: the last writer wins."""

    def replace(self: Any, key: Key, row: Row, guarded: str, _value: Stored) -> tuple[str, tuple[Stored, ...]]:
        return self._replace[guarded].rpartition(" AND ")[0], (*self._values(row), *key)

    patch.method(Statements, "replace", replace)


@mutant("W2", on=SQLITE)
def sqlite_version_at_least_is_enough(patch: Patches) -> None:
    """An update goes through where the stored version is not less than the expected one."""

    def replace(self: Any, key: Key, row: Row, guarded: str, value: Stored) -> tuple[str, tuple[Stored, ...]]:
        return f"{self._replace[guarded].removesuffix('= ?')}>= ?", (*self._values(row), *key, value)

    patch.method(Statements, "replace", replace)


@mutant("W2", on=SQLITE)
def sqlite_changed_rows_are_not_counted(patch: Patches) -> None:
    """A statement that changed nothing passes for one that did."""
    change = ConnectionRows._change

    def changed(self: ConnectionRows, sql: str, bindings: Sequence[Stored]) -> bool:
        change(self, sql, bindings)
        return True

    patch.method(ConnectionRows, "_change", changed)


@mutant("W2", on=SQLITE)
def sqlite_update_leaves_out_what_is_nothing(patch: Patches) -> None:
    """An update leaves columns alone whose new value is nothing, as code that writes only what is set does."""

    def replace(self: ConnectionRows, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        old = self.fetch(table, key)
        kept = tuple(was if new is None and old else new for new, was in zip(row, old or row, strict=True))
        return self._change(*self._statements[table].replace(key, kept, guard.name, guard.value))

    patch.method(ConnectionRows, "replace", replace)


@mutant("W3", on=SQLITE)
def sqlite_delete_without_its_guard(patch: Patches) -> None:
    """A guarded delete asks for the key alone."""
    patch.method(Statements, "remove_guarded", lambda self, key, _guarded, _value: (self.remove, key))


@mutant("W3", on=SQLITE)
def sqlite_guard_remembered(patch: Patches) -> None:
    """A guard that was met once is good for ever: the answer to it is remembered, not asked for again."""
    met: set[tuple[Any, ...]] = set()

    def remove(self: ConnectionRows, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        made = self._statements[table]
        if guard is None or (table.name, key, guard.value) in met:
            return self._change(made.remove, key)
        met.add((table.name, key, guard.value))
        return self._change(*made.remove_guarded(key, guard.name, guard.value))

    patch.method(ConnectionRows, "remove", remove)


@mutant("W4", on=SQLITE)
def sqlite_triggers_missing(patch: Patches) -> None:
    """A table is made without the triggers that guard what must not change."""
    create = Statements.create
    patch.method(Statements, "create", lambda self, columns: create(self, columns)[:1])


@mutant("W4", on=SQLITE)
def sqlite_replacing_trigger_missing(patch: Patches) -> None:
    """The triggers know updates and deletes, but not the insert that takes an old row away."""
    create = Statements.create

    def forgetful(self: Statements, columns: Sequence[Column]) -> list[str]:
        return [statement for statement in create(self, columns) if "_no_replace" not in statement]

    patch.method(Statements, "create", forgetful)


@mutant("W4", on=SQLITE)
def sqlite_membership_trigger_missing(patch: Patches) -> None:
    """A table whose rows may be deleted lets them be updated, too."""
    create = Statements.create

    def forgetful(self: Any, columns: Sequence[Column]) -> list[str]:
        return create(self, columns)[: 1 if self._table.changes.delete else None]

    patch.method(Statements, "create", forgetful)


@mutant("K1", on=SQLITE)
def sqlite_keys_ignore_the_case_of_letters(patch: Patches) -> None:
    """Texts are kept under a collation for which "a" is "A"."""
    create = Statements.create

    def collated(self: Statements, columns: Sequence[Column]) -> list[str]:
        return [statement.replace(" TEXT", " TEXT COLLATE NOCASE") for statement in create(self, columns)]

    patch.method(Statements, "create", collated)


@mutant("K1", on=SQLITE)
def sqlite_keys_ignore_trailing_spaces(patch: Patches) -> None:
    """Texts are kept under a collation for which "a " is "a"."""
    create = Statements.create

    def collated(self: Statements, columns: Sequence[Column]) -> list[str]:
        return [statement.replace(" TEXT", " TEXT COLLATE RTRIM") for statement in create(self, columns)]

    patch.method(Statements, "create", collated)


@mutant("K1", "K5", on=SQLITE)
def sqlite_columns_have_no_strict_types(patch: Patches) -> None:
    """Columns are declared as the database likes them, and texts that look like numbers become numbers."""
    create = Statements.create

    def loose(self: Statements, columns: Sequence[Column]) -> list[str]:
        table, *triggers = create(self, columns)
        return [table.replace(" TEXT", " NUMERIC").replace("STRICT, ", ""), *triggers]

    patch.method(Statements, "create", loose)


@mutant("K1", on=SQLITE)
def sqlite_prefix_is_the_beginning_of_a_text(patch: Patches) -> None:
    """A count takes its prefix for a pattern, so that a text counts which only begins with it."""

    def tally(self: Any, prefix: Key, limit: int) -> tuple[str, tuple[Stored, ...]]:
        names = self._table.key_names[: len(prefix)]
        where = " AND ".join(f"{statements.quoted(name)} LIKE ? || '%'" for name in names) or "1"
        return f"SELECT count(*) FROM (SELECT 1 FROM {self._name} WHERE {where} LIMIT ?)", (*prefix, limit)

    patch.method(Statements, "tally", tally)


@mutant("K3", on=SQLITE)
def sqlite_order_by_another_column(patch: Patches) -> None:
    """A range comes back in the order of the last column, not of the key."""
    make = RangeStatement.__init__

    def reordered(self: RangeStatement, dialect: Any, table: AnyTable, *rest: Any, **options: Any) -> None:
        make(self, dialect, table, *rest, **options)
        before, _, _ = self.sql.partition(" ORDER BY ")
        self.sql = f"{before} ORDER BY {statements.quoted(table.columns[-1].name)} LIMIT ?"

    patch.method(RangeStatement, "__init__", reordered)


@mutant("K3", on=SQLITE)
def sqlite_descending_ignored(patch: Patches) -> None:
    """Every key column is walked in ascending order, whatever it declares."""
    make = RangeStatement.__init__

    def ascending(self: RangeStatement, *given: Any, **options: Any) -> None:
        make(self, *given, **options)
        before, order, rest = self.sql.partition(" ORDER BY ")
        self.sql = before + order + rest.replace(" DESC", "")

    patch.method(RangeStatement, "__init__", ascending)


@mutant("R5", on=SQLITE)
def sqlite_bound_of_both_directions_compared_at_once(patch: Patches) -> None:
    """A bound over ascending and descending columns is one row comparison, as if all of them were ascending."""
    compared = ranges._Bounds._compared

    def at_once(self: ranges._Bounds, bounded: Sequence[KeyColumn], side: ranges.Side, *, closed: bool) -> Any:
        alike = [KeyColumn(part.column, part.index, bounded[0].descending) for part in bounded]
        return compared(self, alike, side, closed=closed)

    patch.method(ranges._Bounds, "_compared", at_once)


@mutant("R5", on=SQLITE)
def sqlite_start_exclusive(patch: Patches) -> None:
    """A range begins behind its start, and one in reverse ends before it."""
    compared, runs = ranges._Bounds._compared, ranges._Bounds._runs

    def compared_open(self: ranges._Bounds, bounded: Any, side: ranges.Side, *, closed: bool) -> Any:
        return compared(self, bounded, side, closed=False)

    def runs_open(self: ranges._Bounds, bounded: Any, side: ranges.Side, *, closed: bool, hidden: bool = False) -> Any:
        return runs(self, bounded, side, closed=False, hidden=hidden)

    patch.method(ranges._Bounds, "_compared", compared_open)
    patch.method(ranges._Bounds, "_runs", runs_open)


@mutant("R5", on=SQLITE)
def sqlite_stop_inclusive(patch: Patches) -> None:
    """A range goes on to the row at its stop, and a cursor in reverse begins with its own row."""
    compared, runs = ranges._Bounds._compared, ranges._Bounds._runs

    def compared_shut(self: ranges._Bounds, bounded: Any, side: ranges.Side, *, closed: bool) -> Any:
        return compared(self, bounded, side, closed=closed or side == "upper")

    def runs_shut(self: ranges._Bounds, bounded: Any, side: ranges.Side, *, closed: bool, hidden: bool = False) -> Any:
        return runs(self, bounded, side, closed=closed or side == "upper", hidden=hidden)

    patch.method(ranges._Bounds, "_compared", compared_shut)
    patch.method(ranges._Bounds, "_runs", runs_shut)


@mutant("R5", on=SQLITE)
def sqlite_statement_shared_by_both_directions(patch: Patches) -> None:
    """One statement serves both directions of the same bounds: whichever was asked for first."""
    shape = ranges.range_shape
    patch.function(shape, lambda wanted: shape(wanted)[:-1])


@mutant("R5", on=SQLITE)
def sqlite_limit_off_by_one(patch: Patches) -> None:
    """A scan gives one row more than its limit."""
    bind = RangeStatement.bind
    patch.method(RangeStatement, "bind", lambda self, wanted: (*bind(self, wanted)[:-1], wanted.limit + 1))


@mutant("R5", on=SQLITE)
def sqlite_count_ignores_its_limit(patch: Patches) -> None:
    """A count goes on to the end of its prefix."""
    tally = Statements.tally
    patch.method(Statements, "tally", lambda self, prefix, _limit: tally(self, prefix, 10**9))


@mutant("M4", on=SQLITE)
def sqlite_added_column_has_another_default(patch: Patches) -> None:
    """A column that is added holds the emptiest value of its kind in older rows, not its default."""
    literal = statements._literal
    patch.function(literal, lambda value: "''" if isinstance(value, str) else literal(value))


@mutant("E1", on=SQLITE)
def sqlite_driver_s_error_leaves_a_read(patch: Patches) -> None:
    """A single read's fault comes out as the driver's exception."""

    def fetch(self: Any, table: AnyTable, key: Key) -> Row | None:
        self._engine._check_outside("call")
        with self._gate:
            row: Row | None = self._execute(self._statements[table].fetch, key).fetchone()
            return row

    patch.method(engine._QuickCalls, "fetch", fetch)


@mutant("E1", "D3", on=SQLITE)
def sqlite_driver_s_error_leaves_a_write(patch: Patches) -> None:
    """A statement's fault comes out as the driver's exception."""

    def change(self: ConnectionRows, sql: str, bindings: Sequence[Stored]) -> bool:
        self._connection.execute(sql, bindings)
        changed = self._connection.changes() > 0
        self.wrote = self.wrote or changed
        return changed

    patch.method(ConnectionRows, "_change", change)


@mutant("E1", "D3", on=SQLITE)
def sqlite_cause_of_a_fault_lost(patch: Patches) -> None:
    """A fault does not carry the driver's exception as its cause."""

    def change(self: ConnectionRows, sql: str, bindings: Sequence[Stored]) -> bool:
        try:
            self._connection.execute(sql, bindings)
            changed = self._connection.changes() > 0
        except FAULTS as fault:
            raise translate(fault) from None
        self.wrote = self.wrote or changed
        return changed

    patch.method(ConnectionRows, "_change", change)
