"""Walks over all rooms, for what crosses scopes: a scope that was moved counts in the room that owns it, and only so.

A page is one snapshot of each room that it reads, and no snapshot of all of them together. It is made under one state
of the home room's routes, so that a scope which moves meanwhile is met once, in one of its rooms. A row in a room where
no move has ever brought it is met too: nothing that is there is passed over in silence.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import struct
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from strongroom.engine import retry
from strongroom.errors import VersionMismatch
from strongroom.records import AnyTable, Key, KeyRange, Row, encode_key
from strongroom.routing.founding import Rooms
from strongroom.routing.routes import Routes
from strongroom.routing.scopes import named

T = TypeVar("T")

_LEAST: Final = 16
"""The fewest rows that are asked of a room at once: a short page is not worth many trips."""


def fetch_range(rooms: Rooms, routes: Routes, table: AnyTable, wanted: KeyRange) -> list[Row]:
    """As `Rows.fetch_range`, of all rooms, for a range without a prefix."""
    size = min(wanted.limit, max(_LEAST, wanted.limit // len(rooms) + 1))

    def page(owners: dict[str, str]) -> list[Row]:
        walks = [_walk(rooms, name, table, wanted._replace(limit=size), owners) for name in sorted(rooms)]
        merged = heapq.merge(*walks, key=lambda placed: placed[0], reverse=wanted.reverse)
        return [row for _place, row in itertools.islice(merged, wanted.limit)]

    return _steadily(routes, page)


def tally(rooms: Rooms, routes: Routes, table: AnyTable, limit: int) -> int:
    """As `Rows.tally`, of all rooms, for no prefix."""

    def count(owners: dict[str, str]) -> int:
        if not owners:
            return min(limit, sum(room._rows.tally(table, (), limit) for room in rooms.values()))
        # Rooms may hold rows of scopes that left them, or have not come yet: only a walk can tell.
        walks = (_walk(rooms, name, table, KeyRange(limit=limit), owners) for name in rooms)
        return sum(1 for _row in itertools.islice(itertools.chain.from_iterable(walks), limit))

    return _steadily(routes, count)


def _steadily(routes: Routes, look: Callable[[dict[str, str]], T]) -> T:
    """What `look` answers while nothing moves; it is given the owner of each scope that was ever moved."""

    def attempt() -> T:
        before = _owners(routes)
        found = look(before)
        if _owners(routes) != before:
            raise VersionMismatch("a scope moved to another room meanwhile")
        return found

    return retry(attempt)


def _owners(routes: Routes) -> dict[str, str]:
    return {scope: route.room for scope, route in routes.all_moved().items()}


def _walk(
    rooms: Rooms, name: str, table: AnyTable, wanted: KeyRange, owners: dict[str, str]
) -> Iterator[tuple[bytes, Row]]:
    """The rows of a range that count in a room, page by page, each with its key bytes."""
    place = b""
    while True:
        page = rooms[name]._rows.fetch_range(table, wanted)
        for row in page:
            key = table.key_of(row)
            # A damaged key stands behind its neighbour: whoever checks the row will name it.
            with contextlib.suppress(TypeError, ValueError, struct.error):
                place = encode_key(table, key)
            if owners.get(named(key[0]), name) == name:
                yield place, row
        if len(page) < wanted.limit:
            return
        last: Key = table.key_of(page[-1])
        wanted = wanted._replace(upper=last) if wanted.reverse else wanted._replace(lower=last, lower_open=True)
