"""Single calls: each one request, or for a walk as few as prove that it saw one moment."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Final

from strongroom.engine import Committer, Engine, Guard, QueuedCalls, Rivals, Work, retried
from strongroom.engines.dynamodb.changes import ABSENT, ANY, PRESENT, Request, has
from strongroom.engines.dynamodb.items import write_value
from strongroom.engines.dynamodb.places import place_of
from strongroom.engines.dynamodb.reading import Store
from strongroom.engines.dynamodb.transactions import Refused
from strongroom.records import AnyTable, Key, Row

_LOOK: Final = 0.002
"""Seconds between two looks at whether calls are still under way; one takes several times as long."""


class UnderWay:
    """The calls that are under way, so that whoever closes can wait for them (C3).

    Ctrl-C may strike between any two steps of a call: its ticket is gone with it all the same.
    """

    def __init__(self) -> None:
        self._tickets: weakref.WeakSet[_Ticket] = weakref.WeakSet()
        self._lock = threading.Lock()

    def begin(self) -> _Ticket:
        """A ticket for a call that begins."""
        ticket = _Ticket()
        with self._lock:
            self._tickets.add(ticket)
        return ticket

    def end(self, ticket: _Ticket) -> None:
        """Say that the call has ended."""
        with self._lock:
            self._tickets.discard(ticket)

    def wait(self) -> None:
        """Wait until none is under way."""
        while True:
            with self._lock:
                if not self._tickets:
                    return
            time.sleep(_LOOK)


class _Ticket:
    """What a call holds while it is under way."""


class DynamoCalls(QueuedCalls):
    """Single calls of one engine.

    What a guard counts waits for its turn: the engine's callers would only be in one another's way at the guard, and
    share a request instead. A row that is updated in place has no such thing, and is written at once.
    """

    def __init__(self, engine: Engine, committer: Committer[Work], store: Store) -> None:
        super().__init__(engine, committer)
        self._store = store
        self.updates = UnderWay()
        """The updates in place, which no queue holds."""

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        self._engine._check_outside("call")
        self._store.tables.know(table)
        item = self._store.service.get(place_of(table, key))
        return None if item is None else self._store.items[table].row(item, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._read(lambda rows: rows.fetch_many(table, keys))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        self._engine._check_outside("call")
        ticket = self.updates.begin()
        try:
            self._engine._check_open()  # whoever closes sees the ticket, or this sees that it is closed
            return retried(lambda: self._replace_alone(table, key, row, guard))
        finally:
            self.updates.end(ticket)

    def clock(self) -> int:
        self._engine._check_outside("call")
        return self._store.service.clock.now()

    def _insert_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._alone(table, lambda request: request.write(table, key, row, ABSENT, in_place=False))

    def _replace_alone(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        condition = has(guard.name, write_value(guard.value))
        return self._alone(table, lambda request: request.write(table, key, row, condition, in_place=True))

    def _put_alone(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._alone(table, lambda request: request.write(table, key, row, ANY, in_place=False))

    def _remove_alone(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        condition = PRESENT if guard is None else has(guard.name, write_value(guard.value))
        return self._alone(table, lambda request: request.remove(table, key, condition))

    def _alone(self, table: AnyTable, add: Callable[[Request], int]) -> bool:
        """Make the one change that `add` adds with one request; False where its own condition did not hold."""
        self._store.tables.know(table)
        request = Request(self._store)
        change = add(request)
        try:
            request.send()
        except Refused as refused:
            if change in refused.parts:
                return False
            raise Rivals(f"{table.name}: a guard was changed meanwhile") from refused
        return True
