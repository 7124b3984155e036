"""Key ranges: what a scan asks for, checked and in the one form that engines get (R5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from strongroom.errors import InvalidArgument
from strongroom.records.keys import after_all, encode_key
from strongroom.records.table import AnyTable, Key

MAX_LIMIT: Final = 10_000
"""The most rows that one scan or count may ask for; walk in pages beyond that."""


class KeyRange(NamedTuple):
    """A bounded run of keys, in declared key order, that begin with `prefix`.

    `lower` and `upper` are values of the key columns that follow the prefix. The rows in range are those whose
    leading such columns are >= `lower` (> where `lower_open`; then `lower` is a rest of a full key) and < `upper`.
    `reverse` walks from the end; at most `limit` rows are wanted.
    """

    prefix: Key = ()
    lower: Key | None = None
    lower_open: bool = False
    upper: Key | None = None
    reverse: bool = False
    limit: int = MAX_LIMIT

    def bounds(self, table: AnyTable) -> tuple[bytes, bytes | None]:
        """The range as key bytes: from the first, included, to the second, excluded (None: to the end)."""
        prefix = encode_key(table, self.prefix)
        low = prefix
        if self.lower is not None:
            low = encode_key(table, self.prefix + self.lower) + (b"\0" if self.lower_open else b"")
        high = after_all(prefix) if self.upper is None else encode_key(table, self.prefix + self.upper)
        return low, high


def key_range(
    table: AnyTable,
    prefix: Sequence[Any],
    *,
    start: Sequence[Any] | None = None,
    stop: Sequence[Any] | None = None,
    after: Sequence[Any] | None = None,
    limit: int,
    reverse: bool = False,
) -> KeyRange:
    """The range for a scan's arguments.

    `start` (included) and `stop` (excluded) bound it in key order, and may be leading values. `after` is the rest of
    a full key, excluded, from which the walk goes on in its own direction; no such row need exist.

    Raises `InvalidArgument` for values that the key can't hold, a half `after`, or a limit outside 1..`MAX_LIMIT`.
    """
    check_limit(table, limit)
    leading = table.store_key(prefix, partial=True)
    rest = len(table.key) - len(leading)
    lower = None if start is None else _bound(table, "start", start, len(leading), rest)
    upper = None if stop is None else _bound(table, "stop", stop, len(leading), rest)
    lower_open = False
    if after is not None:
        if len(after) != rest or not rest:
            raise InvalidArgument(
                f"{table.name}: a cursor after {len(leading)} fixed values has {rest}, not {len(after)}"
            )
        at = table.store_key_part(after, len(leading))
        if reverse:
            if upper is None or encode_key(table, leading + at) < encode_key(table, leading + upper):
                upper = at
        elif lower is None or encode_key(table, leading + at) >= encode_key(table, leading + lower):
            lower, lower_open = at, True
    return KeyRange(leading, lower, lower_open, upper, reverse, limit)


def check_limit(table: AnyTable, limit: int) -> None:
    """Raises `InvalidArgument` unless `limit` is from 1 to `MAX_LIMIT`."""
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument(f"{table.name}: a limit is an integer from 1 to {MAX_LIMIT}")


def _bound(table: AnyTable, name: str, values: Sequence[Any], offset: int, rest: int) -> Key:
    if isinstance(values, str | bytes) or not 1 <= len(values) <= rest:
        raise InvalidArgument(f"{table.name}: {name} is a tuple of 1 to {rest} values for the columns after the prefix")
    return table.store_key_part(values, offset)
