"""The quick check of stored values: what is true of nearly every row, looked at all at once.

It accepts only what the column-by-column check would accept too; the types of what was stored are left to the decoding
that follows it. What it does not accept is not wrong, only not obvious.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite
from operator import itemgetter
from typing import Any, Final

from strongroom.records.kinds import MAX_INTEGER, Blob, Identifier, Integer, Json, OneOf, Real, Stored, Text
from strongroom.records.record import Column

_REAL: Final = (-inf, inf)
_TYPES: Final = {"text": str, "integer": int, "real": float, "bytes": bytes}


class QuickCheck:
    """The quick check for a table's columns; `applies` is False where their kinds leave nothing obvious."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.applies = all(c.plain and not isinstance(c.kind, Json) for c in columns)
        self._limits = [
            (i, c.kind.max_bytes) for i, c in enumerate(columns) if isinstance(c.kind, Identifier | Text | Blob)
        ]
        # A row whose encoding is no longer than its shortest limit has no value over a limit.
        self._short = min([limit for _, limit in self._limits], default=MAX_INTEGER) if self.applies else -1
        self._texts = [i for i, c in enumerate(columns) if isinstance(c.kind, Identifier | Text)]
        self._filled = [i for i, c in enumerate(columns) if isinstance(c.kind, Identifier) and not c.kind.empty]
        self._enums = [i for i, c in enumerate(columns) if isinstance(c.kind, OneOf)]
        self._reals = [i for i, c in enumerate(columns) if isinstance(c.kind, Real)]
        self._types = [c.kind.enum if isinstance(c.kind, OneOf) else _TYPES[c.storage] for c in columns]
        # Decoding lets integers of 64 bits through: each integer is held to its range, also to the widest.
        self._ranges: list[tuple[int, Any, Any]] = [
            (i, c.kind.minimum, c.kind.maximum)
            for i, c in enumerate(columns)
            if isinstance(c.kind, Integer | Real) and (c.kind.minimum, c.kind.maximum) != _REAL
        ]
        self._nullable = any(c.nullable for c in columns)
        self._harmless = [_harmless(c) if c.nullable else None for c in columns]
        self.accepts = self._row_check() if self.applies else _nothing

    def stored(self, fields: tuple[Any, ...]) -> Sequence[Stored] | None:
        """The stored values of a record's fields; None where a field needs more than a look."""
        looked_at = self._without_nothing(fields) if self._nullable else fields
        # Of other types, such as an IntEnum or a bytearray, only the slow check knows what is to be kept.
        if [*map(type, looked_at)] != self._types:
            return None
        for i in self._reals:
            if not looked_at[i]:
                return None  # a zero that may be negative
        if not self._enums:
            return fields
        values = [*fields]
        for i in self._enums:
            if values[i] is not None:
                values[i] = str.__str__(values[i])
        return values

    def accepts_all(self, rows: Sequence[Sequence[Stored]], encodings: Sequence[bytes]) -> bool:
        """Whether all of many rows are within all limits, looked at column by column; raises as `accepts`."""
        if self._nullable:
            rows = [*map(self._without_nothing, rows)]
        columns: list[tuple[Any, ...]] = [*zip(*rows, strict=True)]
        if "\0" in "".join(["".join(columns[i]) for i in self._texts]):
            return False
        if max(map(len, encodings)) > self._short and not all(map(self._is_within_limits, rows)):
            return False
        if not all(map(all, [columns[i] for i in self._filled])):
            return False
        if not all(all(map(isfinite, columns[i])) for i in self._reals):
            return False
        return all(low <= min(columns[i]) and max(columns[i]) <= high for i, low, high in self._ranges)

    def _row_check(self) -> Callable[[Sequence[Any], int], bool]:
        """Whether values, whose encoding has so many bytes, are within all limits; a wrong type is a TypeError."""
        short, texts, ranges, nullable = self._short, _getter(self._texts), self._ranges, self._nullable
        reals = _getter(self._reals) if self._reals else None
        filled = None if self._filled == self._texts else _getter(self._filled)

        def accepts(values: Sequence[Any], size: int) -> bool:
            if nullable and None in values:
                values = self._without_nothing(values)
            words = texts(values)
            if "\0" in "".join(words) or "" in (words if filled is None else filled(values)):
                return False
            for i, low, high in ranges:
                if not low <= values[i] <= high:
                    return False
            if size > short and not self._is_within_limits(values):
                return False
            return reals is None or all(map(isfinite, reals(values)))

        return accepts

    def _is_within_limits(self, values: Sequence[Any]) -> bool:
        """Whether no text or bytes are too long; a wrong type is a TypeError."""
        for i, limit in self._limits:
            value = values[i]
            if len(value) > limit or not (value.isascii() or isinstance(value, bytes) or len(value.encode()) <= limit):
                return False
        return True

    def _without_nothing(self, values: Sequence[Any]) -> list[Any]:
        """The values with something harmless in the place of what may be nothing, and is."""
        return [harmless if value is None else value for value, harmless in zip(values, self._harmless, strict=True)]


def _harmless(column: Column) -> Any:
    """A value that is within the column's limits."""
    kind = column.kind
    match kind:
        case Integer() | Real():
            return kind.minimum if kind.minimum != -inf else min(kind.maximum, 1.0)
        case Blob():
            return b""
        case OneOf():
            return next(iter(kind.enum))
        case _:
            return "-"


def _nothing(_values: Sequence[Any], _size: int) -> bool:
    return False


def _getter(indexes: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    if len(indexes) > 1:
        return itemgetter(*indexes)
    return itemgetter(slice(indexes[0], indexes[0] + 1) if indexes else slice(0, 0))
