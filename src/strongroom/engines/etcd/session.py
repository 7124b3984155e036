"""Write transactions: reads from one revision, and a commit that holds only if what was read is still so (T2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from strongroom.engine import BufferedRows, Refuted, Rivals, Session, TableChanges
from strongroom.engines.etcd.commits import Commits
from strongroom.engines.etcd.guards import Guards, absent
from strongroom.engines.etcd.layout import value
from strongroom.engines.etcd.messages import DeleteRangeRequest, KeyValue, PutRequest, RequestOp
from strongroom.engines.etcd.snapshots import Snapshot, Store
from strongroom.engines.etcd.view import View
from strongroom.records import AnyTable, Key, KeyRange, Row

CATALOGUE: Final = "_tables"
"""What the catalogue of tables is called where tables are told apart; no table has the name."""
MOST: Final = 100_000
"""More tables than there are."""


class WriteSession(Snapshot, Session):
    """One transaction. It holds nothing on the servers: one that is not committed is forgotten."""

    def __init__(self, store: Store, commits: Commits, clock: Callable[[], int]) -> None:
        super().__init__(store)
        self.kept = False
        self._commits = commits
        self._clock = clock
        self._guards = Guards(store.layout)
        self._there: set[str] | None = None
        self._created: list[str] = []

    def clock(self) -> int:
        return self._clock()

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self.fetch_many(table, [key])[0]

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        self._check(table)
        places = [self._layout.key(table, key) for key in keys]
        pairs = [self.view.get(places[0])] if len(places) == 1 else self.view.get_many(places)
        for place, pair in zip(places, pairs, strict=True):
            self._guards.saw(table.name, place, pair)
        return [None if pair is None else self._layout.row(table, pair) for pair in pairs]

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        self._check(table)
        return len(self._walk(table, KeyRange(prefix=prefix, limit=limit), keys_only=True))

    def commit(self, rows: BufferedRows) -> None:
        net = rows.changes()
        if not net and not self._created:
            return  # what was read was so at one revision: nothing need hold any longer
        for changes in net:
            self._check(changes.table)
        created = [put(self._layout.table(name), b"") for name in self._created]
        operations = [*created, *chain.from_iterable(map(self._operations, net))]
        assumed = [
            (changes.table, key)
            for changes in net
            for key in (self._layout.key(changes.table, changes.table.key_of(row)) for row in changes.inserts)
            if not self._guards.has(changes.table.name, key)
        ]
        most = self._commits.limits.operations
        room = (most if len(operations) + 2 <= most else most // 2) - 2
        if len(assumed) > room // 2:
            self._look_for(assumed)
            assumed = []
        compares = [absent(key) for _, key in assumed]
        compares += self._guards.compares(self.view.revision, room - len(compares))
        if not self._commits.send(compares, operations, self):
            self._blame(assumed)
            raise Rivals("what was read has changed since")

    def tables(self) -> set[str]:
        """The names of the tables that there are, or that this transaction creates."""
        if self._there is None:
            span = self._layout.tables
            pairs = self.view.walk(span, MOST, keys_only=True).pairs
            self._guards.walked(CATALOGUE, span, pairs)
            self._there = {pair.key[len(span[0]) :].decode() for pair in pairs}
        return self._there.union(self._created)

    def create(self, table: AnyTable) -> None:
        """Create a table when this commits."""
        self._created.append(table.name)

    def _walk(self, table: AnyTable, wanted: KeyRange, *, keys_only: bool = False) -> list[KeyValue]:
        pairs = super()._walk(table, wanted, keys_only=keys_only)
        low, high = self._layout.span(table, wanted)
        if len(pairs) >= wanted.limit:  # it goes on behind the last one, where nothing was seen
            last = pairs[-1].key
            low, high = (last, high) if wanted.reverse else (low, last + b"\0")
        if low < high:
            self._guards.walked(table.name, (low, high), pairs)
        return pairs

    def _check(self, table: AnyTable) -> None:
        if table.name not in self._created:
            super()._check(table)

    def _operations(self, changes: TableChanges) -> list[RequestOp]:
        table = changes.table
        made = [
            put(self._layout.key(table, table.key_of(row)), value(row))
            for row in chain(changes.inserts, changes.updates, changes.puts)
        ]
        if changes.removes:
            made += [delete(self._layout.key(table, key)) for key in changes.removes]
            made.append(put(self._layout.deletions(table.name), b""))
        return made

    def _look_for(self, assumed: Sequence[tuple[AnyTable, bytes]]) -> None:
        """Read the keys that were taken for new: what was read can be guarded with fewer comparisons."""
        pairs = self.view.get_many([key for _, key in assumed], keys_only=True)
        for (table, key), pair in zip(assumed, pairs, strict=True):
            if pair is not None:
                raise Refuted(table)
            self._guards.saw(table.name, key, pair)

    def _blame(self, assumed: Sequence[tuple[AnyTable, bytes]]) -> None:
        """Raises `Refuted` where it was a row taken for new that kept the commit from holding."""
        if assumed:
            newest = View(self._store.members)
            pairs = newest.get_many([key for _, key in assumed], keys_only=True)
            for (table, _), pair in zip(assumed, pairs, strict=True):
                if pair is not None:
                    raise Refuted(table)


def put(key: bytes, data: bytes) -> RequestOp:
    """Have `data` stand under the key."""
    return RequestOp(request_put=PutRequest(key=key, value=data))


def delete(key: bytes) -> RequestOp:
    """Have nothing stand under the key."""
    return RequestOp(request_delete_range=DeleteRangeRequest(key=key))
