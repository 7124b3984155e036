"""Single calls: each one request, or for a walk as few as prove that it saw one moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from strongroom.engine import Backoff, Guard, Rivals, SingleCalls, Work
from strongroom.engines.dynamodb.changes import ABSENT, ANY, PRESENT, Condition, Request, has
from strongroom.engines.dynamodb.items import write_value
from strongroom.engines.dynamodb.places import place_of
from strongroom.engines.dynamodb.transactions import Refused
from strongroom.errors import Conflict
from strongroom.records import AnyTable, Key, Row

if TYPE_CHECKING:
    from strongroom.engines.dynamodb.engine import DynamoEngine

RETRIES: Final = Backoff(attempts=16, first_ms=5, cap_ms=250)
"""How often a write is tried that lost to rivals; a try is some milliseconds."""

Part = Callable[[Request], int]
"""Adds the one change of a call to its request; answers the part's number."""


class InFlight:
    """Counts the calls under way, so that whoever closes can wait for them (C3)."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1

    def __exit__(self, *_fault: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait until none is under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count)


class QuickCalls(SingleCalls):
    """Single calls of an engine."""

    def __init__(self, engine: DynamoEngine) -> None:
        super().__init__(engine)
        self._quick = engine
        self.in_flight = InFlight()

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        engine = self._quick
        engine._check_outside("call")
        engine._store.tables.know(table)
        item = engine._store.service.get(place_of(table, key))
        return None if item is None else engine._store.items[table].row(item, key)

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        return self._read(lambda rows: rows.fetch_many(table, keys))

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._in_group(
            table,
            lambda rows: rows.insert(table, key, row),
            lambda request: request.write(table, key, row, ABSENT, in_place=False),
        )

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        # In place: no guard counts it, and so nothing is gained by making it in a group with others.
        condition = has(guard.name, write_value(guard.value))
        self._quick._check_outside("call")
        with self.in_flight:
            self._quick._check_open()  # a closer sees the one above, or this sees the closer
            return self._alone(table, lambda request: request.write(table, key, row, condition, in_place=True))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._in_group(
            table,
            lambda rows: rows.put(table, key, row),
            lambda request: request.write(table, key, row, ANY, in_place=False),
        )

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        condition: Condition = PRESENT if guard is None else has(guard.name, write_value(guard.value))
        return self._in_group(
            table,
            lambda rows: rows.remove(table, key, guard),
            lambda request: request.remove(table, key, condition),
            touches=(table, key),
        )

    def clock(self) -> int:
        self._quick._check_outside("call")
        return self._quick._store.service.clock.now()

    def _in_group(
        self,
        table: AnyTable,
        change: Callable[..., object],
        part: Part,
        touches: tuple[AnyTable, Key] | None = None,
    ) -> bool:
        """Make a change that a guard counts: engines of one process would only be in one another's way at it."""
        self._quick._check_outside("call")
        work = Work(change, touches=touches, alone=lambda: self._alone(table, part))
        return bool(self._quick._committer.submit(work))

    def _alone(self, table: AnyTable, part: Part) -> bool:
        """Make one change with one request; False where its own condition did not hold."""
        engine = self._quick
        engine._store.tables.know(table)
        last: Exception | None = None
        for attempt in range(RETRIES.attempts):
            request = Request(engine._store)
            number = part(request)
            try:
                request.send()
            except Refused as refused:
                if number in refused.parts:
                    return False
                last = refused  # the guard was another than known
            except Rivals as rivals:
                last = rivals
                time.sleep(RETRIES.pause(attempt))
            else:
                return True
        raise Conflict(f"{table.name}: others won {RETRIES.attempts} times in a row") from last
