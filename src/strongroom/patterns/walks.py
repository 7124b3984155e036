"""A walk over rows that gets past what can't be read: a check that ends at the first bad row helps nobody (R4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from strongroom.engine import Reader
from strongroom.errors import Corrupt
from strongroom.records import Record, Table

R = TypeVar("R", bound=Record)


def pages_with_faults(reader: Reader, table: Table[R], *prefix: Any, page: int) -> Iterator[list[R] | Corrupt]:
    """The rows whose keys begin with `prefix`, in key order, at most `page` at once; a bad row's fault in its place.

    The key's last column must be the only one behind the prefix. Where a bad row does not say where it stands, the
    walk goes on at the next integer, and ends if the key is a text. Raises as `scan`, but for `Corrupt`.
    """
    after: Any = None
    size = page
    while True:
        try:
            rows = reader.scan(table, *prefix, after=None if after is None else (after,), limit=size)
        except Corrupt as fault:
            if size > 1:
                size = (size + 1) // 2  # one bad row fails the whole page: close in on it
                continue
            yield fault
            after = _behind(fault, after)
            if after is None:
                return
            size = page
            continue
        yield rows
        if len(rows) < size:
            return
        after, size = table.key_in(rows[-1])[-1], min(page, size * 2)


def _behind(fault: Corrupt, after: Any) -> Any:
    """The last value of the bad row's key; where that can't be, a guess, or None for no guess."""
    place = fault.key[-1] if fault.key else None
    if after is None:
        return place
    if isinstance(after, int):
        return place if isinstance(place, int) and place > after else after + 1
    return place if isinstance(place, str) and place > after else None
