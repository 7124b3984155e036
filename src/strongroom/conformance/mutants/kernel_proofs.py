"""Seals, the proof of rows on their way out, and what comes of a bad one, with one safeguard broken (R4)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine.operations import ReadOperations
from strongroom.errors import Corrupt
from strongroom.records import keys
from strongroom.records.codec import Row, RowCodec
from strongroom.records.record import Column
from strongroom.records.seal import Sealer
from strongroom.records.table import AnyTable, Key, Table

MEMORY = Ground.MEMORY


@mutant("R4", on=MEMORY)
def seal_not_checked(patch: Patches) -> None:
    """A single row is given out whatever its seal."""

    def trusting(self: Any, row: Row) -> Any:
        return self._decode_each(row[:-1])

    patch.method(RowCodec, "decode", trusting)


@mutant("R4", on=MEMORY)
def seal_not_checked_in_listings(patch: Patches) -> None:
    """The rows of a listing are given out whatever their seals."""

    def trusting(self: Any, rows: Sequence[Row]) -> Any:
        try:
            return [self._decode_each(row[:-1]) for row in rows]
        except Corrupt:
            return None

    patch.method(RowCodec, "_quickly_decoded", trusting)


def _sealing(patch: Patches, what: Callable[[AnyTable, list[Any]], list[Any]]) -> None:
    """Have seals cover this much of a row's values only."""
    make = RowCodec.__init__

    def narrow(self: Any, table: AnyTable, sealer: Sealer) -> None:
        make(self, table, sealer)
        seal = self._seal
        self._seal = lambda canonical: seal(msgspec.msgpack.encode(what(table, msgspec.msgpack.decode(canonical))))

    patch.method(RowCodec, "__init__", narrow)


@mutant("R4", on=MEMORY)
def seal_does_not_cover_the_key(patch: Patches) -> None:
    """A seal is taken over the values beside the key, and goes along with them to any other row."""
    _sealing(
        patch,
        lambda table, values: [v for c, v in zip(table.columns, values, strict=False) if c.name not in table.key_names],
    )


@mutant("R4", on=MEMORY)
def seal_does_not_cover_sensitive_values(patch: Patches) -> None:
    """A seal leaves out the columns that are never shown."""
    _sealing(patch, lambda table, values: [v for c, v in zip(table.columns, values, strict=False) if not c.sensitive])


@mutant("R4", on=MEMORY)
def seal_takes_nothing_for_empty(patch: Patches) -> None:
    """A seal does not tell a column that holds nothing from one that holds an empty value."""
    _sealing(patch, lambda _table, values: [value or None for value in values])


@mutant("R4", on=MEMORY)
def seal_runs_values_together(patch: Patches) -> None:
    """A seal is taken over the texts of the values in one piece: where one ends and the next begins is left open."""
    _sealing(patch, lambda _table, values: ["".join(map(str, values))])


@mutant("R4", on=MEMORY)
def seal_does_not_cover_the_table(patch: Patches) -> None:
    """The same row has the same seal in every table."""
    for_table = Sealer.for_table
    patch.method(Sealer, "for_table", lambda self, _name: for_table(self, "any"))


@mutant("R4", on=MEMORY)
def row_passes_under_another_key(patch: Patches) -> None:
    """An engine that keeps whole rows does not look whether one stands under its own key."""
    patch.function(keys.placed, lambda _table, _data, row: row)


@mutant("R4", on=MEMORY)
def seal_shortened_before_it_is_compared(patch: Patches) -> None:
    """A seal is compared over no more bytes than are stored, and a stored seal of none fits every row."""
    decode = RowCodec.decode

    def lenient(self: Any, row: Row) -> Any:
        seal = row[-1]
        if isinstance(seal, bytes):
            whole = self._seal(self._canonical(row[:-1]))
            row = (*row[:-1], whole if whole.startswith(seal) else seal)
        return decode(self, row)

    patch.method(RowCodec, "decode", lenient)


@mutant("R4", on=MEMORY)
def limits_not_checked_on_the_way_out(patch: Patches) -> None:
    """A row whose seal is right is given out although its values are over their limits."""

    def trusting(self: Any, row: Row) -> Any:
        if self._seal(self._canonical(row[:-1])) != row[-1] or not self._quick.applies:
            return decode(self, row)
        record = msgspec.convert(row[:-1], self.table.record)
        if self.table.rule is not None:
            self._check_rule(record, row[:-1])
        return record

    decode = RowCodec.decode
    patch.method(RowCodec, "decode", trusting)


@mutant("R4", on=MEMORY)
def rule_not_checked_on_the_way_out(patch: Patches) -> None:
    """A row that breaks its table's rule is given out."""
    patch.method(RowCodec, "_check_rule", lambda self, record, values: None)


@mutant("R4", on=MEMORY)
def rule_not_checked_on_the_way_in(patch: Patches) -> None:
    """A record that breaks its table's rule is written."""

    encode = RowCodec.encode

    def lenient(self: Any, record: Any) -> Any:
        self.table, table = _without_rule(self.table), self.table
        try:
            return encode(self, record)
        finally:
            self.table = table

    patch.method(RowCodec, "encode", lenient)


def _without_rule(table: AnyTable) -> AnyTable:
    free = copy.copy(table)
    free.rule = None
    return free


@mutant("R4", on=MEMORY)
def bad_rows_left_out_of_listings(patch: Patches) -> None:
    """A listing passes over a row that is not what was written."""

    def quiet(self: Any, rows: Sequence[Row]) -> Any:
        records = []
        for row in rows:
            try:
                records.append(self.decode(row))
            except Corrupt:
                continue
        return records

    patch.method(RowCodec, "decode_all", quiet)


@mutant("R4", on=MEMORY)
def bad_row_reads_as_absent(patch: Patches) -> None:
    """A row that is not what was written reads as if it were not there."""
    get = ReadOperations.get

    def quiet(self: Any, table: AnyTable, *key: Any) -> Any:
        try:
            return get(self, table, *key)
        except Corrupt:
            return None

    patch.method(ReadOperations, "get", quiet)


@mutant("R4", on=MEMORY)
def get_many_not_proved(patch: Patches) -> None:
    """Rows that are asked for together are given out as they are stored."""

    def trusting(self: Any, table: AnyTable, wanted: Sequence[Sequence[Any]]) -> Any:
        rows = [self._rows.fetch(table, table.store_key(key)) for key in wanted]
        return [None if row is None else self._codecs[table]._decode_each(row[:-1]) for row in rows]

    patch.method(ReadOperations, "get_many", trusting)


@mutant("R4", on=MEMORY)
def examination_passes_over_bad_rows(patch: Patches) -> None:
    """Who examines a table is told of the good rows only."""
    examine = ReadOperations.examine

    def quiet(self: Any, table: AnyTable, *, after: Key | None = None, limit: int) -> Any:
        return [found for found in examine(self, table, after=after, limit=limit) if not isinstance(found[1], Corrupt)]

    patch.method(ReadOperations, "examine", quiet)


@mutant("R4", on=MEMORY)
def bad_column_not_named(patch: Patches) -> None:
    """Whatever is wrong with a row, its seal is blamed."""

    def blame(self: Any, values: Row) -> Corrupt:
        key = self._key(values)
        return Corrupt(f"{self.table.show(key)}: expected another seal", table=self.table.name, key=key, column="seal")

    patch.method(RowCodec, "_broken_seal", blame)


@mutant("R4", on=MEMORY)
def bad_value_shown_whole(patch: Patches) -> None:
    """The message about a bad value shows all of it, and of a sensitive one, too."""

    def tell(self: Any, values: Row, column: Column, stored: Any, expected: str) -> Corrupt:
        key = self._key(values)
        message = f"{self.table.show(key)}: column {column.name}: expected {expected}, found {stored!r}"
        return Corrupt(message, table=self.table.name, key=key, column=column.name)

    patch.method(RowCodec, "_bad", tell)


@mutant("E2", on=MEMORY)
def long_keys_shown_whole(patch: Patches) -> None:
    """A message shows a key at its full length."""
    patch.method(Table, "show", lambda self, key: f"{self.name}{tuple(key)!r}")


@mutant("M4", on=MEMORY)
def added_column_breaks_old_seals(patch: Patches) -> None:
    """A row from before a column existed is held to a seal that covers the column."""
    patch.method(RowCodec, "_canonical", lambda self, values: msgspec.msgpack.encode(list(values)))


@mutant("M4", on=MEMORY)
def added_column_is_not_sealed(patch: Patches) -> None:
    """A seal leaves out the columns that were added later, whatever they hold."""

    def forgetful(self: Any, values: Any) -> bytes:
        return msgspec.msgpack.encode(list(values)[: len(self._columns) - len(self._defaults)])

    patch.method(RowCodec, "_canonical", forgetful)
