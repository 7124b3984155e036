"""Single calls: each one request, or two where a condition is on what only a read tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strongroom.engine import Committer, Engine, Guard, QueuedCalls, Rivals, Work
from strongroom.engines.etcd.commits import Commits
from strongroom.engines.etcd.guards import absent, present, unchanged
from strongroom.engines.etcd.layout import value
from strongroom.engines.etcd.messages import Compare, KeyValue, RangeRequest, RequestOp
from strongroom.engines.etcd.recent import Recent
from strongroom.engines.etcd.session import delete, put
from strongroom.engines.etcd.snapshots import Snapshot, Store
from strongroom.records import AnyTable, Key, KeyRange, Row


class EtcdCalls(QueuedCalls):
    """Single calls of one engine; `clock` is the engine's."""

    def __init__(
        self, engine: Engine, committer: Committer[Work], store: Store, commits: Commits, clock: Callable[[], int]
    ) -> None:
        super().__init__(engine, committer)
        self._store = store
        self._layout = store.layout
        self._commits = commits
        self._now = clock
        self._recent = Recent()

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        self._engine._check_outside("call")
        place = self._layout.key(table, key)
        pair = self._look(table, place)
        if pair is None:
            return None
        self._recent.keep(place, pair)
        return self._layout.row(table, pair)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._snapshot().fetch_many(table, keys)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._snapshot().fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._snapshot().tally(table, prefix, limit)

    def clock(self) -> int:
        self._engine._check_outside("call")
        return self._now()

    def _insert_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        place = self._layout.key(table, key)
        return self._send(table, [absent(place)], [put(place, value(row))])

    def _put_alone(self, table: AnyTable, key: Key, row: Row) -> None:
        self._send(table, [], [put(self._layout.key(table, key), value(row))])

    def _replace_alone(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        place = self._layout.key(table, key)
        return self._change(table, place, guard, [put(place, value(row))])

    def _remove_alone(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        place = self._layout.key(table, key)
        changes = [delete(place), put(self._layout.deletions(table.name), b"")]
        if guard is None:
            return self._send(table, [present(place)], changes)
        return self._change(table, place, guard, changes)

    def _change(self, table: AnyTable, place: bytes, guard: Guard, changes: Sequence[RequestOp]) -> bool:
        """Make changes if what stands at a place is as the guard describes it."""
        known = self._recent.take(place)
        as_expected = known is not None and self._layout.row(table, known)[guard.column] == guard.value
        if known is not None and as_expected and self._send(table, [unchanged(place, known.mod_revision)], changes):
            return True
        pair = self._look(table, place)
        if pair is None or self._layout.row(table, pair)[guard.column] != guard.value:
            return False
        if not self._send(table, [unchanged(place, pair.mod_revision)], changes):
            raise Rivals(f"{table.name}: the row was changed meanwhile")
        return True

    def _send(self, table: AnyTable, compares: Sequence[Compare], changes: Sequence[RequestOp]) -> bool:
        self._store.known(table)
        return self._commits.send(compares, changes, _Unwatched())

    def _look(self, table: AnyTable, place: bytes) -> KeyValue | None:
        self._store.known(table)
        pairs = self._store.members.range(RangeRequest(key=place)).kvs
        return pairs[0] if pairs else None

    def _snapshot(self) -> Snapshot:
        self._engine._check_outside("call")
        return Snapshot(self._store)


class _Unwatched:
    """The outcome of a commit that nobody else watches."""

    kept = False
