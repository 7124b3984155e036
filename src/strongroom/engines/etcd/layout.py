"""Where a store's rows stand in etcd, and how a row is written there.

All keys of the store ``team/prod`` begin with ``team/prod:``, which no other store's keys do. Rows of a table stand
under ``team/prod:TABLE/`` and their key bytes. What the engine keeps for itself stands under names that no table has:
``_tables/`` has a key for each table that there is, ``_marks/`` one for each transaction whose outcome somebody may
still ask for, and ``_deletions/TABLE`` is written by each transaction that deletes rows of the table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import GenericAlias, NoneType
from typing import Any, Final

import msgspec

from strongroom.engines.etcd.messages import KeyValue
from strongroom.records import AnyTable, Key, KeyRange, Row, Stored, after_all, decode_key, encode_key, placed

Span = tuple[bytes, bytes]
"""A run of etcd's keys: from the first, included, to the second, excluded."""

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(tuple[Any, ...]).decode
_STORED: Final = frozenset({str, int, float, bytes, NoneType})
_TYPES: Final[dict[str, Any]] = {"text": str, "integer": int, "bytes": bytes}
"""What is decoded as it stands; an integer would be taken for a real, and is not one."""


class Layout:
    """The keys of the store that has this prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.root = prefix.encode() + b":"
        self.tables = self._area(b"_tables/")
        self.marks = self._area(b"_marks/")
        self._forms: dict[AnyTable, _Form] = {}

    def key(self, table: AnyTable, key: Key) -> bytes:
        """Where the row under a full key stands."""
        return self._form(table).span[0] + encode_key(table, key)

    def rows(self, table: AnyTable) -> Span:
        """Where all rows of a table stand."""
        return self._form(table).span

    def span(self, table: AnyTable, wanted: KeyRange) -> Span:
        """Where the rows of a range stand."""
        first, end = self.rows(table)
        low, high = wanted.bounds(table)
        return first + low, end if high is None else first + high

    def deletions(self, table: str) -> bytes:
        """What each transaction writes that deletes rows of a table."""
        return self.root + b"_deletions/" + table.encode()

    def table(self, name: str) -> bytes:
        """What stands there if there is a table of that name."""
        return self.tables[0] + name.encode()

    def row(self, table: AnyTable, pair: KeyValue) -> Row:
        """The row that stands at a key, with the defaults of columns that it was written without (M4).

        What is no row is handed out as one that reads as corrupt. Raises `Corrupt` for bytes that are no key.
        """
        return self._form(table).row(pair)

    def _form(self, table: AnyTable) -> _Form:
        form = self._forms.get(table)
        if form is None:
            form = self._forms[table] = _Form(table, self._area(table.name.encode() + b"/"))
        return form

    def _area(self, name: bytes) -> Span:
        first = self.root + name
        end = after_all(first)
        assert end is not None  # it begins with text
        return first, end


class _Form:
    """How one table's rows are written."""

    def __init__(self, table: AnyTable, span: Span) -> None:
        self.table = table
        self.span = span
        self._skip = len(span[0])
        # Nearly every row is whole and of its columns' types, and most keys are texts: that is seen at a glance.
        self._decode_whole: Callable[[bytes], Row] | None = None
        if all(column.storage in _TYPES for column in table.columns):
            types = [_TYPES[c.storage] | None if c.nullable else _TYPES[c.storage] for c in table.columns]
            self._decode_whole = msgspec.msgpack.Decoder(GenericAlias(tuple, (*types, bytes))).decode
        self._of_texts = all(part.column.storage == "text" and not part.descending for part in table.key)

    def row(self, pair: KeyValue) -> Row:
        data = pair.key[self._skip :]
        if self._decode_whole is not None:
            try:
                row = self._decode_whole(pair.value)
                if self._of_texts:
                    texts: Any = self.table.key_of(row)
                    if ("\0".join(texts) + "\0").encode() == data:
                        return row
            except (msgspec.MsgspecError, UnicodeError):
                row = self._decoded(pair.value)
        else:
            row = self._decoded(pair.value)
        try:
            return placed(self.table, data, row)
        except (TypeError, UnicodeError, struct.error):  # its key columns hold what no key does
            return self._unreadable(data)

    def _decoded(self, data: bytes) -> Row:
        """The row of a value, of whatever types; one of nothing at all where it is no row of the table."""
        columns = self.table.columns
        try:
            row: Row = _decode(data)
        except (msgspec.MsgspecError, UnicodeError):
            row = ()
        if not _STORED.issuperset(map(type, row)):
            row = ()
        if 0 < len(row) <= len(columns):
            later = [column.stored_default() for column in columns[len(row) - 1 :] if column.since > self.table.since]
            row = (*row[:-1], *later, row[-1])
        return row if len(row) == len(columns) + 1 else (None,) * (len(columns) + 1)

    def _unreadable(self, data: bytes) -> Row:
        """The row of a key whose value is none: it has nothing but its key."""
        values: list[Stored] = [None] * len(self.table.columns)
        for part, value in zip(self.table.key, decode_key(self.table, data), strict=True):
            values[part.index] = value
        return (*values, b"")


def value(row: Row) -> bytes:
    """How a row is written."""
    return _encode(row)
