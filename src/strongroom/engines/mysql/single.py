"""Single calls, each in as little as it takes: one statement to read, and one trip for a write that is alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from strongroom.engine import Backoff, Guard, Rivals, SingleCalls, Stale, Work
from strongroom.engines.mysql.commits import BEGIN, COMMIT
from strongroom.engines.mysql.connections import Link
from strongroom.engines.mysql.faults import FAULTS, Duplicate
from strongroom.engines.mysql.rows import MANY, LinkRows
from strongroom.errors import Conflict, StrongroomError, Unavailable
from strongroom.records import AnyTable, Key, KeyRange, Row

if TYPE_CHECKING:
    from strongroom.engines.mysql.engine import MysqlEngine

T = TypeVar("T")


class QuickCalls(SingleCalls):
    """The single calls of one engine."""

    def __init__(self, engine: MysqlEngine) -> None:
        super().__init__(engine)
        self._quick = engine

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._reading(lambda rows: rows.fetch(table, key))

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        if len(keys) > MANY:
            return super().fetch_many(table, keys)  # several statements are one snapshot only in a transaction
        return self._reading(lambda rows: rows.fetch_many(table, keys))

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._reading(lambda rows: rows.fetch_range(table, wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._reading(lambda rows: rows.tally(table, prefix, limit))

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        def alone() -> bool:
            try:
                return self._alone(table, key, self._quick.statements[table].insert([row]))
            except Duplicate:
                return False

        return self._writing(Work(lambda rows: rows.insert(table, key, row), alone=alone))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._writing(
            Work(
                lambda rows: rows.replace(table, key, row, guard),
                touches=(table, key),
                alone=lambda: self._alone(table, key, self._quick.statements[table].replace(key, row, guard)),
            )
        )

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._writing(
            Work(
                lambda rows: rows.put(table, key, row),
                alone=lambda: self._alone(table, key, self._quick.statements[table].put([row])),
            )
        )

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._writing(
            Work(
                lambda rows: rows.remove(table, key, guard),
                touches=(table, key),
                alone=lambda: self._alone(table, key, self._quick.statements[table].remove(key, guard)),
            )
        )

    def clock(self) -> int:
        self._quick._check_outside("call")
        return self._quick.links.now()

    def _reading(self, read: Callable[[LinkRows], T]) -> T:
        engine = self._quick
        engine._check_outside("call")
        return engine.links.reading(lambda link: read(LinkRows(link, engine.statements)))

    def _writing(self, work: Work) -> bool:
        self._quick._check_outside("call")
        return bool(self._quick.committer.submit(work))

    def _alone(self, table: AnyTable, key: Key, statement: str) -> bool:
        """Whether the one statement changed anything, once that is kept."""
        return again(lambda: self._once(table, key, statement))

    def _once(self, table: AnyTable, key: Key, statement: str) -> bool:
        engine = self._quick
        token = engine.marks.token()
        with engine.links.lent() as link:
            # The mark stands for a change: where none was made, none is left, and there is nothing to flush.
            before = [BEGIN, *engine.guards.bump([(table, key)], link)]
            sent = [*before, statement, engine.marks.leave(token, if_changed=True), COMMIT]
            try:
                answers = engine.commits.send(link, token, sent)
            except StrongroomError:
                roll_back(link)
                raise
            changed = answers is None or answers[len(before)].count > 0
            if changed:
                engine.commits.acknowledge(link, token)
            return changed


def roll_back(link: Link) -> None:
    """End the transaction; a connection that can't do it is closed, which does it just as well."""
    if link.fit:
        try:
            link.trip(["ROLLBACK"])
        except FAULTS:
            link.fit = False


def again(call: Callable[[], T], backoff: Backoff | None = None) -> T:
    """What `call` returns, made again where rivals won or the connection broke, as often as a group is."""
    backoff = backoff or Backoff()
    last: StrongroomError | None = None
    for attempt in range(backoff.attempts):
        try:
            return call()
        except (Rivals, Stale) as fault:
            last = fault
            time.sleep(backoff.pause(attempt))
    if isinstance(last, Stale):
        raise Unavailable(f"no connection held for as long as one call, {backoff.attempts} times in a row") from last
    raise Conflict(f"others won {backoff.attempts} times in a row: {last}") from last
