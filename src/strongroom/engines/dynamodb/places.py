"""Where things stand: which partition and which sort key a row has, and what is kept beside the rows.

A partition holds the rows of one table that have the same scope. Its key is the table's name and the scope's key
bytes; a row's sort key is the rest of its key bytes, behind one byte that tells rows from what is kept beside them.
DynamoDB's sort keys end at 1,024 bytes. What is longer is cut, ends in a digest, and is kept whole beside it: such
rows stand in order of what was kept of their keys, and those that share all of that are sorted when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from strongroom.records import AnyTable, Key, KeyRange, after_all, encode_key

PARTITION: Final = "_p"
SORT: Final = "_k"
REST: Final = "_r"
"""The attribute with the whole rest of a row's key bytes, where the sort key is cut. No column's name starts so."""

Place = tuple[bytes, bytes]
"""A partition key and a sort key."""

GUARD_SORT: Final = b"\x00"
"""The sort key of a partition's guard."""
_ROW: Final = b"\x01"
"""What every row's sort key begins with: a sort key can't be empty, as the rest of a key may be."""
_BEHIND_ROWS: Final = b"\x02"

_MOST_PARTITION: Final = 2048
_MOST_SORT: Final = 1024
_DIGEST: Final = 32
_MOST_REST: Final = _MOST_SORT - _DIGEST - len(_ROW)
"""The longest rest of a key that a sort key holds whole."""

TABLES: Final = b"\0tables"
"""The partition in which each table has an item. Tables' own partitions begin with a letter."""
_PARTITIONS: Final = b"\0partitions\0"
_MARKS: Final = b"\0mark\0"


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def partition_of(table: AnyTable, scope: bytes) -> bytes:
    """The partition key for a scope's key bytes."""
    whole = table.name.encode() + b"\0" + scope
    return whole if len(whole) <= _MOST_PARTITION else table.name.encode() + b"\0\0" + _digest(scope)


def is_digest(scope: bytes) -> bool:
    """Whether what stands for the scope in a partition key is its digest."""
    return len(scope) == _DIGEST + 1 and scope.startswith(b"\0")


def directory_of(table: AnyTable) -> bytes:
    """The partition that lists the table's partitions, by their scopes."""
    return _PARTITIONS + table.name.encode()


def mark_place(token: str) -> Place:
    """Where a transaction leaves its mark: each in a partition of its own, so that none is crowded."""
    return _MARKS + token.encode(), GUARD_SORT


def sort_key(rest: bytes) -> bytes:
    """The sort key for the rest of a row's key bytes."""
    if len(rest) <= _MOST_REST:
        return _ROW + rest
    return _ROW + rest[:_MOST_REST] + _digest(rest)


def is_cut(sort: bytes) -> bool:
    """Whether a sort key holds only the beginning of the rest of its key."""
    return len(sort) == _MOST_SORT


def crowd(sort: bytes) -> bytes:
    """What the sort keys share whose order only the whole rests of their keys tell."""
    return sort[:-_DIGEST] if is_cut(sort) else sort


def place_of(table: AnyTable, key: Key) -> Place:
    """Where the row of a full key stands."""
    scope = encode_key(table, key[: table.scope])
    return partition_of(table, scope), sort_key(encode_key(table, key)[len(scope) :])


def encoded_rest(table: AnyTable, key: Key) -> bytes:
    """The key bytes of a full key behind its scope's."""
    return encode_key(table, key)[len(encode_key(table, key[: table.scope])) :]


@dataclass(frozen=True, slots=True)
class Span:
    """A run of rests of keys in a partition: from `low`, included, to `high`, excluded (None: to the end)."""

    low: bytes = b""
    high: bytes | None = None

    def sorts(self) -> tuple[bytes, bytes]:
        """Sort keys between which, both included, all of the span's rows stand, and hardly any other."""
        high = _BEHIND_ROWS
        if self.high is not None:
            high = (
                _ROW + self.high if len(self.high) <= _MOST_REST else _ROW + self.high[:_MOST_REST] + b"\xff" * _DIGEST
            )
        return _ROW + self.low[:_MOST_REST], high

    def holds(self, rest: bytes) -> bool:
        """Whether a rest of a key is in the span."""
        return self.low <= rest and (self.high is None or rest < self.high)

    @classmethod
    def of_prefix(cls, prefix: bytes) -> Span:
        """The span of everything that begins with `prefix`."""
        return cls(prefix, after_all(prefix))


def span_within(scope: bytes, low: bytes, high: bytes | None) -> Span | None:
    """The part of a table's keys from `low` to `high` that has this scope, as a span of its partition, or None."""
    if low.startswith(scope):
        start = low[len(scope) :]
    elif low < scope:
        start = b""
    else:
        return None
    if high is None:
        return Span(start, None)
    if high.startswith(scope):
        stop = high[len(scope) :]
        return Span(start, stop) if start < stop else None
    return Span(start, None) if scope < high else None


def scopes_within(table: AnyTable, wanted: KeyRange) -> Span:
    """The scopes, as key bytes, whose partitions a range of the table's keys may reach into."""
    low, high = wanted.bounds(table)
    first = wanted.prefix + (wanted.lower or ())
    if len(first) >= table.scope:  # the scope that the range begins in begins its lower bound, and so stands before it
        low = encode_key(table, first[: table.scope])
    return Span(low, high)


def key_of(place: Place) -> dict[str, Any]:
    """A place as DynamoDB wants it."""
    return {PARTITION: {"B": place[0]}, SORT: {"B": place[1]}}


def place_in(item: dict[str, Any]) -> Place:
    """The place of an item."""
    return item[PARTITION]["B"], item[SORT]["B"]


def rest_of(item: dict[str, Any]) -> bytes:
    """The rest of a row's key bytes, from where its item stands."""
    sort: bytes = item[SORT]["B"]
    whole: bytes = item.get(REST, {}).get("B", sort[1:])
    return whole if is_cut(sort) else sort[1:]
