"""The way of a row: record -> checked, stored and sealed; stored row -> seal checked, re-validated, record (R4).

A stored row is the tuple of a record's stored values, in column order, and then its seal. Every engine keeps exactly
that, and nothing reaches a caller but through `RowCodec.decode`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

import msgspec

from strongroom.errors import Corrupt, InvalidArgument, clip
from strongroom.records.kinds import MAX_INTEGER, Blob, Identifier, Integer, Json, OneOf, Real, Stored, Text, Unfit
from strongroom.records.record import Column, Record
from strongroom.records.seal import Sealer
from strongroom.records.table import Key, Table

R = TypeVar("R", bound=Record)

Row = tuple[Stored, ...]
"""A record's stored values in column order, and then its seal."""

_encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
_PROBLEMS = (TypeError, ValueError, OverflowError, msgspec.MsgspecError)
_WHOLE: Final = (-MAX_INTEGER, MAX_INTEGER)


class RowCodec(Generic[R]):
    """Encodes and decodes the rows of one table under one sealer."""

    def __init__(self, table: Table[R], sealer: Sealer) -> None:
        self.table = table
        self._seal = sealer.for_table(table.name)
        self._columns = table.columns
        self._defaults = tuple(
            (i, column.stored_default()) for i, column in enumerate(table.columns) if column.since > table.since
        )
        self._load = msgspec.msgpack.Decoder(table.record).decode
        # The quick way in: a row whose canonical form is shorter than its shortest limit has no value over a limit,
        # MessagePack decoding checks the types, and what is left is looked at for all text columns in one go.
        columns = self._columns
        self._quick = all(c.plain and not c.nullable and not isinstance(c.kind, Json) for c in columns)
        self._texts = _getter([i for i, c in enumerate(columns) if isinstance(c.kind, Identifier | Text)])
        self._may_be_empty = all(not isinstance(c.kind, Identifier) or c.kind.empty for c in columns)
        self._short = min([_limit(c) for c in columns], default=0)
        self._ranges = tuple(
            (i, c.kind.minimum, c.kind.maximum)
            for i, c in enumerate(columns)
            if isinstance(c.kind, Real) or (isinstance(c.kind, Integer) and (c.kind.minimum, c.kind.maximum) != _WHOLE)
        )

    def encode(self, record: R) -> Row:
        """The stored row of a record.

        Raises `InvalidArgument` naming the column for a value that it can't hold (K2, K4), for a record of another
        type, or for one that breaks the table's rule.
        """
        table = self.table
        if type(record) is not table.record:
            raise InvalidArgument(f"{table.name}: expected a {table.record.__name__}, not {type(record).__name__}")
        values: list[Stored] = []
        for column in self._columns:
            try:
                values.append(column.store(getattr(record, column.name)))
            except Unfit as problem:
                raise table.unfit(column, problem) from None
        if table.rule is not None and (wrong := table.rule(record)) is not None:
            raise InvalidArgument(f"{table.name}: {wrong}")
        return (*values, self._seal(self._canonical(values)))

    def seal_of(self, record: R) -> bytes:
        """The seal that the row of `record` carries; raises as `encode`."""
        seal = self.encode(record)[-1]
        assert isinstance(seal, bytes)
        return seal

    def decode(self, row: Row) -> R:
        """The record of a stored row, checked: seal, types, limits, rule. `Corrupt` names what is wrong."""
        values = row[:-1]
        try:
            canonical = self._canonical(values) if self._defaults else _encode(values)
        except _PROBLEMS:
            raise self._corrupt(values) from None
        if self._seal(canonical) != row[-1]:
            raise self._broken_seal(values)
        if not self._quick or len(canonical) > self._short:
            return self._decode_each(values)
        try:
            for i, low, high in self._ranges:
                if not low <= values[i] <= high:  # type: ignore[operator]
                    raise self._corrupt(values)
            if "\0" in "".join(self._texts(values)) or not (self._may_be_empty or "" not in values):
                return self._decode_each(values)
            record = self._load(canonical if not self._defaults else _encode(values))
        except _PROBLEMS:
            raise self._corrupt(values) from None
        if self.table.rule is not None:
            self._check_rule(record, values)
        return record

    def decode_all(self, rows: Iterable[Row]) -> list[R]:
        """The records of many rows; one bad row fails them all (R4)."""
        decode = self.decode
        return [decode(row) for row in rows]

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
        """What is wrong with values that the quick way refused."""
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
            column="seal",
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


def _limit(column: Column) -> int:
    kind = column.kind
    return kind.max_bytes if isinstance(kind, Identifier | Text | Blob | OneOf) else MAX_INTEGER


def _getter(indexes: list[int]) -> Callable[[Row], Iterable[str]]:
    if len(indexes) > 1:
        return itemgetter(*indexes)
    return itemgetter(slice(indexes[0], indexes[0] + 1) if indexes else slice(0, 0))
