"""diskcache: a persistent dictionary.

Its ``set(key, value)`` is our ``put`` into a replaceable table, its ``get(key)`` our ``get``; both go round through
the same thousand names, so that nearly every write replaces a value. It keeps the value as text, raw, which is its
quickest way, and answers it as it is; ours is a record with two fields, sealed and re-validated. ``sqlite_synchronous``
is set to 2 (its default is 1), and eviction, which is no part of the job, is off.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from bench.measure import Line
from bench.peers.common import GROUP, LOCK_TIMEOUT, Case, Workshop, against, check_flush, peer
from bench.tables import ITEMS, PAYLOAD, Item, insert_all
from strongroom.engine import Engine

_NAMES: Final = tuple(f"item-{n:06d}" for n in range(1_000))


@dataclass(frozen=True, slots=True)
class _Pair:
    room: Engine
    cache: Any
    flush: str
    serial: Iterator[int] = field(default_factory=itertools.count)

    def value(self) -> str:
        """Another value each time: SQLite writes nothing, and flushes nothing, where a row stays what it was."""
        return f"{PAYLOAD}{next(self.serial)}"

    def set_ours(self, caller: int, n: int) -> None:
        for name in _names(caller, n):
            self.room.put(ITEMS, Item(name, self.value()))

    def set_theirs(self, caller: int, n: int) -> None:
        for name in _names(caller, n):
            self.cache.set(name, self.value(), retry=True)

    def get_ours(self, caller: int, n: int) -> None:
        for name in _names(caller, n):
            self.room.get(ITEMS, name)

    def get_theirs(self, caller: int, n: int) -> None:
        for name in _names(caller, n):
            self.cache.get(name)


def _names(caller: int, n: int) -> Iterator[str]:
    for i in range(n):
        yield _NAMES[(caller * 131 + i) % len(_NAMES)]


def _pair(shop: Workshop) -> _Pair:
    cache = peer("diskcache").Cache(
        str(shop.folder()), timeout=LOCK_TIMEOUT, eviction_policy="none", cull_limit=0, sqlite_synchronous=2
    )
    shop.closing(cache.close)
    flush = check_flush("diskcache", lambda sql: cache._sql(sql).fetchone()[0])
    return _Pair(shop.room(), cache, flush)


def set_item(shop: Workshop) -> Iterator[Line]:
    pair = _pair(shop)
    yield from against(shop, "diskcache", "diskcache set", pair.set_ours, pair.set_theirs, pair.flush)


def get_item(shop: Workshop) -> Iterator[Line]:
    pair = _pair(shop)
    insert_all(pair.room, ITEMS, [Item(name, PAYLOAD) for name in _NAMES])
    with pair.cache.transact():
        for name in _NAMES:
            pair.cache.set(name, PAYLOAD)
    yield from against(shop, "diskcache", "diskcache get", pair.get_ours, pair.get_theirs, pair.flush)


CASES: Final = (
    Case(GROUP, "diskcache set", set_item, "put a value under a name"),
    Case(GROUP, "diskcache get", get_item, "get a value by its name"),
)
