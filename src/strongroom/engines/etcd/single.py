"""Single calls: each one request, or two where a condition is on what only a read tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strongroom.engine import Guard, Rivals, SingleCalls, Work, WritableRows, retry
from strongroom.engines.etcd.commits import PATIENCE
from strongroom.engines.etcd.guards import absent, present, unchanged
from strongroom.engines.etcd.layout import value
from strongroom.engines.etcd.messages import Compare, KeyValue, RangeRequest, RequestOp
from strongroom.engines.etcd.reads import Snapshot
from strongroom.engines.etcd.session import delete, put
from strongroom.records import AnyTable, Key, KeyRange, Row

if TYPE_CHECKING:
    from strongroom.engines.etcd.engine import EtcdEngine


class QuickCalls(SingleCalls):
    """Single calls of one engine."""

    def __init__(self, engine: EtcdEngine) -> None:
        super().__init__(engine)
        self._quick = engine
        self._layout = engine._layout

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        pair = self._look(table, self._layout.key(table, key))
        return None if pair is None else self._layout.row(table, pair)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._snapshot().fetch_many(table, keys)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._snapshot().fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._snapshot().tally(table, prefix, limit)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        place = self._layout.key(table, key)

        def alone() -> bool:
            return self._send(table, [absent(place)], [put(place, value(row))])

        return bool(self._quick._submit(Work(lambda rows: rows.insert(table, key, row), alone=_tried(alone))))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        place = self._layout.key(table, key)

        def alone() -> bool:
            return self._send(table, [], [put(place, value(row))])

        self._quick._submit(Work(lambda rows: rows.put(table, key, row), alone=_tried(alone)))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        place = self._layout.key(table, key)

        def alone() -> bool:
            return self._change(table, place, guard, [put(place, value(row))])

        return self._guarded(lambda rows: rows.replace(table, key, row, guard), alone, (table, key))

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        place = self._layout.key(table, key)
        changes = [delete(place), put(self._layout.deletions(table.name), b"")]

        def alone() -> bool:
            if guard is None:
                return self._send(table, [present(place)], changes)
            return self._change(table, place, guard, changes)

        return self._guarded(lambda rows: rows.remove(table, key, guard), alone, (table, key))

    def clock(self) -> int:
        self._quick._check_outside("call")
        return self._quick._clock.now()

    def _guarded(
        self, change: Callable[[WritableRows], bool], alone: Callable[[], bool], touches: tuple[AnyTable, Key]
    ) -> bool:
        return bool(self._quick._submit(Work(change, touches=touches, alone=_tried(alone))))

    def _change(self, table: AnyTable, place: bytes, guard: Guard, changes: Sequence[RequestOp]) -> bool:
        """Make changes if what stands at a place is as the guard describes it."""
        pair = self._look(table, place)
        if pair is None or self._layout.row(table, pair)[guard.column] != guard.value:
            return False
        if not self._send(table, [unchanged(place, pair.mod_revision)], changes):
            raise Rivals(f"{table.name}: the row was changed meanwhile")
        return True

    def _send(self, table: AnyTable, compares: Sequence[Compare], changes: Sequence[RequestOp]) -> bool:
        self._quick._check_table(table)
        return self._quick._commits.send(compares, changes, _Unwatched())

    def _look(self, table: AnyTable, place: bytes) -> KeyValue | None:
        engine = self._quick
        if engine._closed or engine._inside.kind is not None:
            engine._check_outside("call")
        if table.name not in engine._known:
            engine._check_table(table)
        pairs = engine._members.range(RangeRequest(key=place)).kvs
        return pairs[0] if pairs else None

    def _snapshot(self) -> Snapshot:
        self._quick._check_outside("call")
        return Snapshot(self._quick._store)


class _Unwatched:
    """The outcome of a commit that nobody else watches."""

    kept = False


def _tried(alone: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: retry(alone, on=Rivals, backoff=PATIENCE)
