"""Snapshots: rows read from one revision of the store (R2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strongroom.engine import Rows
from strongroom.engines.etcd.layout import Layout
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import KeyValue
from strongroom.engines.etcd.tails import Tails
from strongroom.engines.etcd.view import View
from strongroom.errors import StrongroomError
from strongroom.records import AnyTable, Key, KeyRange, Row


@dataclass(frozen=True, slots=True)
class Store:
    """What all transactions and snapshots of one engine have in common."""

    members: Members
    layout: Layout
    tails: Tails
    known: Callable[[AnyTable], None]
    """Raises `InvalidArgument` for a table that the store does not have."""


class Snapshot(Rows):
    """The rows at one revision."""

    def __init__(self, store: Store) -> None:
        self.view = View(store.members, self._note)
        self.fault: StrongroomError | None = None
        """The first fault that a read met: what came of it is of no worth, also if its function went on."""
        self._store = store
        self._layout = store.layout

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        self._check(table)
        pair = self.view.get(self._layout.key(table, key))
        return None if pair is None else self._layout.row(table, pair)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        self._check(table)
        pairs = self.view.get_many([self._layout.key(table, key) for key in keys])
        return [None if pair is None else self._layout.row(table, pair) for pair in pairs]

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        self._check(table)
        return [self._layout.row(table, pair) for pair in self._walk(table, wanted)]

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        self._check(table)
        everything = KeyRange(prefix=prefix, limit=limit)
        return min(limit, self.view.count(self._layout.span(table, everything)))

    def _walk(self, table: AnyTable, wanted: KeyRange, *, keys_only: bool = False) -> list[KeyValue]:
        """What stands in a range, in its direction."""
        span = self._layout.span(table, wanted)
        if span[0] >= span[1]:
            return []
        if wanted.reverse:
            return self._store.tails.last(self.view, span, wanted.limit)
        return self.view.walk(span, wanted.limit, keys_only=keys_only).pairs

    def _check(self, table: AnyTable) -> None:
        self._store.known(table)

    def _note(self, fault: StrongroomError) -> None:
        self.fault = self.fault or fault
