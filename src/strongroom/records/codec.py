"""The way of a row: record -> checked, stored and sealed; stored row -> seal checked, re-validated, record (R4).

A stored row is the tuple of a record's stored values, in column order, and then its seal. Every engine keeps exactly
that, and nothing reaches a caller but through a `RowCodec`.

Both ways are on the path of every call, so each has a quick check for what nearly every row is, and a slow one,
column by column, that decides whatever the quick one does not accept, and finds the words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from types import GenericAlias
from typing import Any, Final, Generic, TypeVar

import msgspec

from strongroom.errors import Corrupt, InvalidArgument, clip
from strongroom.records.kinds import Stored, Unfit
from strongroom.records.quick import QuickCheck
from strongroom.records.record import Column, Record
from strongroom.records.seal import Sealer
from strongroom.records.table import SEAL, Key, Table

R = TypeVar("R", bound=Record)

Row = tuple[Stored, ...]
"""A record's stored values in column order, and then its seal."""

_encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
_values_of: Final = itemgetter(slice(0, -1))
_seal_of: Final = itemgetter(-1)
_PROBLEMS: Final = (TypeError, ValueError, OverflowError, msgspec.MsgspecError)


class RowCodec(Generic[R]):
    """Encodes and decodes the rows of one table under one sealer."""

    def __init__(self, table: Table[R], sealer: Sealer) -> None:
        self.table = table
        self._seal = sealer.for_table(table.name)
        self._columns = table.columns
        self._defaults = tuple(
            (i, column.stored_default()) for i, column in enumerate(table.columns) if column.since > table.since
        )
        self._quick = QuickCheck(table.columns)
        self._accepts = self._quick.accepts
        self._load: Callable[[bytes], R] = msgspec.msgpack.Decoder(table.record).decode
        self._many: Any = GenericAlias(list, (table.record,))

    def encode(self, record: R) -> Row:
        """The stored row of a record.

        Raises `InvalidArgument` naming the column for a value that it can't hold (K2, K4), for a record of another
        type, or for one that breaks the table's rule.
        """
        table = self.table
        table.check_type(record)
        quick = self._quickly_stored(record) if self._quick.applies else None
        if quick is None:
            values = [table.check_value(column.name, getattr(record, column.name)) for column in self._columns]
            quick = values, self._canonical(values)
        if table.rule is not None and (wrong := table.rule(record)) is not None:
            raise InvalidArgument(f"{table.name}: {wrong}")
        return (*quick[0], self._seal(quick[1]))

    def decode(self, row: Row) -> R:
        """The record of a stored row, checked: seal, types, limits, rule. `Corrupt` says what is wrong."""
        values = row[:-1]
        try:
            canonical = whole = _encode(values)
            if self._defaults:
                canonical = self._canonical(values)
            if self._seal(canonical) != row[-1]:
                raise self._broken_seal(values)
            if not self._accepts(values, len(whole)):
                return self._decode_each(values)
            record = self._load(whole)
        except _PROBLEMS:
            raise self._corrupt(values) from None
        if self.table.rule is not None:
            self._check_rule(record, values)
        return record

    def decode_all(self, rows: Sequence[Row]) -> list[R]:
        """The records of many rows; one bad row fails them all (R4)."""
        records = self._quickly_decoded(rows) if len(rows) > 1 and self._quick.applies and not self._defaults else None
        if records is None:
            return [*map(self.decode, rows)]
        if self.table.rule is not None:
            for record, row in zip(records, rows, strict=True):
                self._check_rule(record, row[:-1])
        return records

    def _quickly_decoded(self, rows: Sequence[Row]) -> list[R] | None:
        """The records of rows that all pass the quick check; None where each is to be looked at."""
        try:
            values = [*map(_values_of, rows)]
            wholes = [*map(_encode, values)]
            if [*map(self._seal, wholes)] != [*map(_seal_of, rows)] or not self._quick.accepts_all(values, wholes):
                return None
            records: list[R] = msgspec.convert(values, self._many)
        except _PROBLEMS:
            return None
        return records

    def _quickly_stored(self, record: R) -> tuple[Sequence[Stored], bytes] | None:
        """The stored values and canonical form of a record that passes the quick check; None for another."""
        try:
            values = self._quick.stored(msgspec.structs.astuple(record))
            if values is None:
                return None
            whole = _encode(values)
            if not self._accepts(values, len(whole)):
                return None
        except _PROBLEMS:
            return None
        return values, self._canonical(values) if self._defaults else whole

    def _canonical(self, values: Iterable[Stored]) -> bytes:
        kept = list(values)
        for i, default in reversed(self._defaults):
            if i != len(kept) - 1 or kept[i] != default or type(kept[i]) is not type(default):
                break
            kept.pop()
        return _encode(kept)

    def _decode_each(self, values: Row) -> R:
        fields = []
        for column, stored in zip(self._columns, values, strict=False):
            try:
                fields.append(column.load(stored))
            except Unfit as problem:
                raise self._bad(values, column, stored, str(problem)) from None
        if len(fields) != len(self._columns):
            raise self._broken_seal(values)
        record = self.table.record(*fields)
        if self.table.rule is not None:
            self._check_rule(record, values)
        return record

    def _check_rule(self, record: R, values: Row) -> None:
        assert self.table.rule is not None
        wrong = self.table.rule(record)
        if wrong is not None:
            key = self._key(values)
            raise Corrupt(f"{self.table.show(key)}: {wrong}", table=self.table.name, key=key)

    def _corrupt(self, values: Row) -> Corrupt:
        """What is wrong with values that could not be decoded."""
        try:
            self._decode_each(values)
        except Corrupt as found:
            return found
        return self._broken_seal(values)

    def _broken_seal(self, values: Row) -> Corrupt:
        # A value of another type than its column's says more than the seal that it breaks.
        key = self._key(values)
        for column, stored in zip(self._columns, values, strict=False):
            try:
                column.load(stored)
            except Unfit as problem:
                return self._bad(values, column, stored, str(problem))
        return Corrupt(
            f"{self.table.show(key)}: the row is not what was written: its seal does not match",
            table=self.table.name,
            key=key,
            column=SEAL,
        )

    def _bad(self, values: Row, column: Column, stored: Stored, expected: str) -> Corrupt:
        key = self._key(values)
        found = "" if column.sensitive else f", found {clip(stored)}"
        return Corrupt(
            f"{self.table.show(key)}: column {column.name}: expected {expected}{found}",
            table=self.table.name,
            key=key,
            column=column.name,
        )

    def _key(self, values: Row) -> Key:
        return self.table.key_of(values) if len(values) == len(self._columns) else ()
