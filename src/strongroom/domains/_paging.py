"""Walking a whole range in bounded pages, for listings that a domain promises complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from strongroom.patterns import ScopedTable
from strongroom.records import Record

R = TypeVar("R", bound=Record)

PAGE: Final = 200
"""Rows of one page: few round trips, and no answer that an engine or a small machine would choke on."""


def walk(table: ScopedTable[R], *prefix: Any, page: int = PAGE) -> Iterator[R]:
    """Every record whose key begins with `prefix`, in key order; the next page is asked for when it is needed.

    The pages are not one snapshot (R2): a row that is written meanwhile may or may not be met. Raises as `scan`.
    """
    after: tuple[Any, ...] | None = None
    while True:
        records = table.scan(*prefix, after=after, limit=page)
        yield from records
        if len(records) < page:
            return
        after = table.key_of(records[-1])[len(prefix) :]
