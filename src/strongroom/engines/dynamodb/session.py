"""A group's transaction: what it reads is noted, and checked again by the one request that writes its changes (T2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from strongroom.engine import BufferedRows, Refuted, Rivals, Session, TableChanges
from strongroom.engines.dynamodb.changes import ABSENT, ANY, Condition, Request, written_by
from strongroom.engines.dynamodb.guards import is_guard
from strongroom.engines.dynamodb.observations import Observations
from strongroom.engines.dynamodb.places import Place, place_of
from strongroom.engines.dynamodb.reading import Reading, Store
from strongroom.engines.dynamodb.transactions import Refused
from strongroom.errors import StrongroomError
from strongroom.records import AnyTable, Key, KeyRange, Row

T = TypeVar("T")


class WriteSession(Reading, Session):
    """One transaction of the store, see `strongroom.engine.Session`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Observations(), together=False)
        self.fault: StrongroomError | None = None
        self.kept = False

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._noting(lambda: super(WriteSession, self).fetch(table, key))

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._noting(lambda: super(WriteSession, self).fetch_many(table, keys))

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._noting(lambda: super(WriteSession, self).fetch_range(table, wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._noting(lambda: super(WriteSession, self).tally(table, prefix, limit))

    def clock(self) -> int:
        return self._service.clock.now()

    def commit(self, rows: BufferedRows) -> None:
        """Write the net changes of `rows`, if all that was read is still so; where there are none, find that out."""
        net = rows.changes()
        if self._seen.torn or (not net and not self.holds()):
            raise Rivals("DynamoDB: rows changed while they were read")
        if not net:
            return
        request = Request(self._store, self.relied)
        unchecked = {place: token for place, token in self._seen.changeable.items() if not is_guard(place)}
        assumed: dict[int, AnyTable] = {}
        for changes in net:
            self._add(request, changes, unchecked, assumed)
        for place, token in unchecked.items():
            request.check(place, written_by(token))
        try:
            request.send(self._keep)
        except Refused as refused:
            for part in refused.parts:
                if part in assumed:
                    raise Refuted(assumed[part]) from refused
            raise Rivals("DynamoDB: rows changed before they were written") from refused
        self.kept = True

    def _add(
        self, request: Request, changes: TableChanges, unchecked: dict[Place, str], assumed: dict[int, AnyTable]
    ) -> None:
        table = changes.table
        self._store.tables.know(table)
        for row in changes.inserts:
            key = table.key_of(row)
            place = place_of(table, key)
            part = request.write(table, key, row, ABSENT, in_place=False)
            if unchecked.pop(place, None) is None and place[0] not in self.relied:
                assumed[part] = table
        for row in changes.updates:
            key = table.key_of(row)
            condition = self._as_seen(table, key, unchecked)
            request.write(table, key, row, condition, in_place=table.changes.update)
        for row in changes.puts:
            key = table.key_of(row)
            request.write(table, key, row, self._as_seen(table, key, unchecked), in_place=False)
        for key in changes.removes:
            request.remove(table, key, self._as_seen(table, key, unchecked))

    def _as_seen(self, table: AnyTable, key: Key, unchecked: dict[Place, str]) -> Condition:
        """The condition that a row is as it was read; none where a guard says so for all of its partition."""
        token = unchecked.pop(place_of(table, key), None)
        return ANY if token is None else written_by(token)

    def _keep(self) -> None:
        self.kept = True

    def _noting(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except StrongroomError as fault:
            self.fault = self.fault or fault
            raise
