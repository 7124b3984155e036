"""The quick check of stored values: what is true of nearly every row, looked at all at once.

It accepts only what the column-by-column check would accept too; the types are left to the decoding that follows it.
What it does not accept is not wrong, only not obvious.
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
        self.applies = all(c.plain and not c.nullable and not isinstance(c.kind, Json) for c in columns)
        # A row whose encoding is no longer than its shortest limit has no value over a limit.
        self._short = min([_limit(c) for c in columns], default=0) if self.applies else -1
        self._texts = [i for i, c in enumerate(columns) if isinstance(c.kind, Identifier | Text)]
        self._filled = [i for i, c in enumerate(columns) if isinstance(c.kind, Identifier) and not c.kind.empty]
        self._enums = [i for i, c in enumerate(columns) if isinstance(c.kind, OneOf)]
        self._reals = [i for i, c in enumerate(columns) if isinstance(c.kind, Real)]
        # Of other types, such as a bytearray or an IntEnum, the decoding would see what they are encoded as.
        self._types = [c.kind.enum if isinstance(c.kind, OneOf) else _TYPES[c.storage] for c in columns]
        # Decoding lets integers of 64 bits through: each integer is held to its range, also to the widest.
        self._ranges: list[tuple[int, Any, Any]] = [
            (i, c.kind.minimum, c.kind.maximum)
            for i, c in enumerate(columns)
            if isinstance(c.kind, Integer | Real) and (c.kind.minimum, c.kind.maximum) != _REAL
        ]
        self.accepts = self._row_check()

    def stored(self, fields: tuple[Any, ...]) -> Sequence[Stored] | None:
        """The stored values of a record's fields; None where a field needs more than a look."""
        if [*map(type, fields)] != self._types:
            return None
        for i in self._reals:
            if not fields[i]:
                return None  # a zero that may be negative
        if not self._enums:
            return fields
        values = [*fields]
        for i in self._enums:
            values[i] = str.__str__(values[i])
        return values

    def _row_check(self) -> Callable[[Sequence[Any], int], bool]:
        """Whether values, whose encoding has so many bytes, are within all limits; a wrong type is a TypeError."""
        short, texts, ranges = self._short, _getter(self._texts), self._ranges
        reals = _getter(self._reals) if self._reals else None
        filled = None if self._filled == self._texts else _getter(self._filled)

        def accepts(values: Sequence[Any], size: int) -> bool:
            words = texts(values)
            if size > short or "\0" in "".join(words) or "" in (words if filled is None else filled(values)):
                return False
            for i, low, high in ranges:
                if not low <= values[i] <= high:
                    return False
            return reals is None or all(map(isfinite, reals(values)))

        return accepts

    def accepts_all(self, rows: Sequence[Sequence[Stored]], encodings: Sequence[bytes]) -> bool:
        """Whether all of many rows are within all limits, looked at column by column; raises as `accepts`."""
        if max(map(len, encodings)) > self._short:
            return False
        columns: list[tuple[Any, ...]] = [*zip(*rows, strict=True)]
        if any("\0" in "".join(columns[i]) for i in self._texts):
            return False
        if not all(map(all, [columns[i] for i in self._filled])):
            return False
        if not all(all(map(isfinite, columns[i])) for i in self._reals):
            return False
        return all(low <= min(columns[i]) and max(columns[i]) <= high for i, low, high in self._ranges)


def _limit(column: Column) -> int:
    kind = column.kind  # an enumeration's text is held to its members by decoding
    return kind.max_bytes if isinstance(kind, Identifier | Text | Blob) else MAX_INTEGER


def _getter(indexes: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    if len(indexes) > 1:
        return itemgetter(*indexes)
    return itemgetter(slice(indexes[0], indexes[0] + 1) if indexes else slice(0, 0))
